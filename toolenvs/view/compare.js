// Two runs side by side: the tasks that both had, and on each the episodes of both.

let pairs = [];
let currentPair = null;
let pairAsked = 0;

const meanOf = (episodes, name) => {
  const counted = episodes.filter(episode => !episode.failed);
  return counted.length ? counted.reduce((sum, episode) => sum + (episode[name] ?? 0), 0) / counted.length : null;
};

// The latest episodes of a run on each task: of a training run, those of the last step that had it.
function latest(run) {
  const tasks = new Map();
  for (const row of rows) {
    if (row.run !== run) continue;
    const key = `${row.env}\n${row.task}`;
    const known = tasks.get(key);
    if (!known || (row.step ?? 0) > (known[0].step ?? 0)) tasks.set(key, [row]);
    else if ((row.step ?? 0) === (known[0].step ?? 0)) known.push(row);
  }
  return tasks;
}

function pairUp() {
  const [left, right] = [latest(Number(at("left").value)), latest(Number(at("right").value))];
  pairs = [];
  for (const [key, mine] of left) {
    const other = right.get(key);
    if (!other) continue;
    const [before, after] = [meanOf(mine, "success"), meanOf(other, "success")];
    pairs.push({ key, left: mine, right: other, before, after, gain: before === null || after === null ? null : after - before });
  }
  pairs.sort((a, b) => Math.abs(b.gain ?? 0) - Math.abs(a.gain ?? 0));
  const both = pairs.filter(({ gain }) => gain !== null);
  const count = test => number(both.filter(test).length);
  const mean = both.length ? signed(both.reduce((sum, { gain }) => sum + gain, 0) / both.length) : "–";
  at("compare-totals").textContent =
    `${plural(both.length, "task")} of both · right better on ${count(({ gain }) => gain > 0)}, left on ${count(({ gain }) => gain < 0)} · mean difference ${mean}`;
  selectPairs();
}

let chosenPairs = [];
const pairList = new LongList(at("compare-list"), pair => {
  const [first] = pair.left;
  const kind = pair.gain === null ? "failed" : pair.gain > 0 ? "solved" : pair.gain < 0 ? "wrong" : "";
  const button = make("button", { type: "button" },
    make("span", { class: kind }, pair.gain === null ? "⚠" : pair.gain > 0 ? "▲" : pair.gain < 0 ? "▼" : "="),
    make("span", { class: "question" }, first.question || first.task),
    make("span", { class: "reward" }, pair.gain === null ? "–" : signed(pair.gain, 2)),
    make("span", { class: "about" }, `${number(pair.before, 2)} → ${number(pair.after, 2)} · ${first.task}`));
  button.addEventListener("click", () => openPair(pair));
  if (pair === currentPair) button.setAttribute("aria-current", "true");
  return button;
});

const KINDS = { better: gain => gain > 0, worse: gain => gain < 0, same: gain => gain === 0 };

function selectPairs() {
  const words = at("compare-search").value.trim().toLowerCase();
  const kind = KINDS[at("compare-show").value];
  chosenPairs = pairs.filter(pair => (!kind || (pair.gain !== null && kind(pair.gain))) && (!words || holds(pair.left[0], words)));
  pairList.show(chosenPairs);
  if (!chosenPairs.includes(currentPair)) openPair(chosenPairs[0] ?? null);
}

async function openPair(pair, places = [0, 0]) {
  const mine = ++pairAsked;
  currentPair = pair;
  pairList.draw();
  if (!pair) return at("pair").replaceChildren(make("p", { class: "empty" }, "The two runs have no such task in common."));
  const episodes = await Promise.all([whole(pair.left[places[0]]), whole(pair.right[places[1]])]);
  if (mine !== pairAsked) return;
  const columns = episodes.map((episode, side) => {
    const all = side ? pair.right : pair.left;
    const previous = make("button", { type: "button", "aria-label": "previous episode" }, "‹");
    const next = make("button", { type: "button", "aria-label": "next episode" }, "›");
    previous.disabled = places[side] === 0;
    next.disabled = places[side] === all.length - 1;
    const move = by => openPair(pair, places.map((place, other) => (other === side ? place + by : place)));
    previous.addEventListener("click", () => move(-1));
    next.addEventListener("click", () => move(1));
    const told = `${data.runs[episode.run].label} · episode ${places[side] + 1} of ${all.length}`;
    return make("section", {}, make("p", { class: "side" }, previous, " ", next, " ", told), detail(episode));
  });
  at("pair").replaceChildren(make("div", { class: "beside" }, ...columns));
}

function stepPair(by) {
  const place = chosenPairs.indexOf(currentPair) + by;
  if (!chosenPairs[place]) return;
  openPair(chosenPairs[place]);
  pairList.reveal(place);
}

for (const [id, first] of [["left", 0], ["right", 1]]) {
  choices(at(id), data.runs.map((_, index) => index), index => data.runs[index].label);
  at(id).value = String(Math.min(first, data.runs.length - 1));
  at(id).addEventListener("change", pairUp);
}
at("compare-search").addEventListener("input", selectPairs);
at("compare-show").addEventListener("change", selectPairs);
at("compared").addEventListener("submit", event => event.preventDefault());
