// The parts of the page, and what happens first.

const TABS = {
  episodes: { there: true, first: select, step },
  curves: { there: data.runs.some(({ metrics }) => metrics.length), first: drawCurves, step: () => {} },
  compare: { there: data.runs.length > 1, first: pairUp, step: stepPair },
};
const begun = new Set();
let tab = "episodes";

function go(name) {
  tab = name;
  for (const part of document.querySelectorAll("[data-tab]")) part.hidden = part.dataset.tab !== name;
  for (const button of at("tabs").children) button.setAttribute("aria-selected", String(button.dataset.name === name));
  document.body.dataset.shown = name;
  if (!begun.has(name)) TABS[name].first();
  begun.add(name);
}

function totals() {
  const sums = data.runs.map(({ label, totals: { episodes, failed, success, reward } }) => {
    const parts = [plural(episodes, "episode")];
    if (success !== null) parts.push(`success ${number(success)}`, `mean reward ${number(reward)}`);
    if (failed) parts.push(plural(failed, "infrastructure failure") + ", in no mean");
    return (data.runs.length > 1 ? `${label}: ` : "") + parts.join(" · ");
  });
  const left = data.runs.reduce((sum, run) => sum + run.totals.episodes, 0) - rows.length;
  if (left) sums.push(`${rows.length.toLocaleString("en")} are in this file (--limit embeds more)`);
  at("totals").textContent = sums.join(data.runs.length > 1 ? " | " : " · ");
}

for (const [name, { there }] of Object.entries(TABS)) {
  if (!there) continue;
  const button = make("button", { type: "button", role: "tab", "data-name": name }, name);
  button.addEventListener("click", () => go(name));
  at("tabs").append(button);
}
at("tabs").hidden = at("tabs").children.length < 2;
document.addEventListener("keydown", event => {
  const by = { j: 1, k: -1 }[event.key];
  if (!by || event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  TABS[tab].step(by);
});
totals();
go(rows.length || !TABS.curves.there ? "episodes" : "curves");
