// The list of episodes: filters, search, order, and which of them is open.

let current = null; // a row
let asked = 0; // counts what was opened or searched, so that a late answer is dropped
let everywhere = null; // { words, places }: episodes in which somebody wrote them

const ORDERS = {
  best: (a, b) => b.reward - a.reward,
  worst: (a, b) => a.reward - b.reward,
  turns: (a, b) => b.turns - a.turns,
  seconds: (a, b) => b.seconds - a.seconds,
};
const holds = (row, words) => (row.text ??= `${row.task}\n${row.question}`.toLowerCase()).includes(words);

let selected = [];
const list = new LongList(at("list"), row => {
  const kind = outcome(row);
  const about = [row.ending, plural(row.turns, "turn"), plural(row.calls, "call"), row.task];
  if (row.step !== null) about.splice(1, 0, `step ${row.step}`);
  const button = make("button", { type: "button" },
    make("span", { class: kind, title: NAMES[kind] }, MARKS[kind]),
    make("span", { class: "question" }, row.question || row.task),
    make("span", { class: "reward" }, row.failed ? "–" : signed(row.reward)),
    make("span", { class: "about" }, about.join(" · ")));
  button.addEventListener("click", () => open(row));
  if (row === current) button.setAttribute("aria-current", "true");
  return button;
});

function select() {
  const value = id => at(id).value;
  const words = value("search").trim().toLowerCase();
  const places = everywhere?.words === words ? everywhere.places : null;
  selected = rows.filter(row =>
    (!value("run") || row.run === Number(value("run"))) &&
    (!value("env") || row.env === value("env")) &&
    (!value("step") || row.step === Number(value("step"))) &&
    (!value("success") || outcome(row) === value("success")) &&
    (!value("ending") || row.ending === value("ending")) &&
    (!words || holds(row, words) || places?.has(row.place)));
  const order = ORDERS[value("sort")];
  if (order) selected.sort(order);
  at("shown").textContent = selected.length === rows.length ? "" : `${number(selected.length)} of ${number(rows.length)} match`;
  at("list").scrollTop = 0;
  list.show(selected);
  if (!selected.includes(current)) open(selected[0] ?? null);
}

async function search() {
  const words = at("search").value.trim().toLowerCase();
  select();
  if (!words || !at("everywhere").checked || everywhere?.words === words) return;
  const stale = () => words !== at("search").value.trim().toLowerCase() || !at("everywhere").checked;
  const progress = (done, all) => { at("shown").textContent = `searching: ${number((100 * done) / all, 0)} %`; };
  const places = await written(words, stale, progress);
  if (places === null) return;
  everywhere = { words, places };
  select();
}

async function open(row) {
  const mine = ++asked;
  current = row;
  list.draw();
  if (row === null) {
    const nothing = rows.length ? "No episode matches." : "There are no episodes in this file.";
    return at("episode").replaceChildren(make("p", { class: "empty" }, nothing));
  }
  const episode = await whole(row);
  if (mine !== asked) return;
  at("episode").replaceChildren(detail(episode));
  at("episode").scrollTop = 0;
}

function step(by) {
  const place = selected.indexOf(current) + by;
  if (!selected[place]) return;
  open(selected[place]);
  list.reveal(place);
}

const different = name => [...new Set(data.columns[name] ?? [])];
for (const [id, values, label] of [
  ["run", data.runs.map((_, index) => index), index => data.runs[index].label],
  ["env", different("env").sort(), value => value],
  ["step", different("step").filter(value => value !== null).sort((a, b) => a - b), value => `step ${value}`],
]) {
  choices(at(id), values, label);
  at(id).hidden = values.length < 2;
}
choices(at("ending"), different("ending").sort());
at("filters").addEventListener("input", search);
at("filters").addEventListener("submit", event => event.preventDefault());
