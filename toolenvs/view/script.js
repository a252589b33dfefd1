// Everything that a policy or a program wrote is set as text; only the transcript, escaped before, is set as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const MASKS = ["environment", "policy", "unscored"];
const UNSURE = -2.3; // log of about 1/10
const show = { tokens: false, prompt: false };
let current = null;

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  const { class: name, ...attributes } = options;
  if (name) element.className = name;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter(child => child !== null));
  return element;
}

const number = (value, digits = 3) =>
  value === null ? "–" : Number(value.toFixed(digits)).toLocaleString("en", { maximumFractionDigits: digits });
const signed = value => (value > 0 ? "+" : "") + number(value);
const seconds = value => (value === null ? "–" : value < 0.1 ? `${number(value * 1000, 1)} ms` : `${number(value, 2)} s`);
const outcome = episode => (episode.failed ? "failed" : episode.success >= 1 ? "solved" : "wrong");
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const MARKS = { solved: "✓", wrong: "✗", failed: "⚠" };
const NAMES = { solved: "solved", wrong: "not solved", failed: "infrastructure failure" };

const ORDERS = {
  best: (a, b) => b.reward - a.reward,
  worst: (a, b) => a.reward - b.reward,
  turns: (a, b) => b.rewards.length - a.rewards.length,
  seconds: (a, b) => b.seconds - a.seconds,
};

function totals() {
  const { episodes, failed, success, reward } = data.totals;
  const parts = [plural(episodes, "episode")];
  if (success !== null) parts.push(`success ${number(success)}`, `mean reward ${number(reward)}`);
  if (failed) parts.push(plural(failed, "infrastructure failure") + ", in no mean");
  const left = episodes - data.episodes.length;
  if (left) parts.push(`the first ${data.episodes.length.toLocaleString("en")} are in this file (--limit embeds more)`);
  at("totals").textContent = parts.join(" · ");
}

function selection() {
  const words = at("search").value.toLowerCase();
  const found = data.episodes.filter(
    episode =>
      (!at("success").value || outcome(episode) === at("success").value) &&
      (!at("ending").value || episode.ending === at("ending").value) &&
      (!words || `${episode.task}\n${episode.question}`.toLowerCase().includes(words)),
  );
  const order = ORDERS[at("sort").value];
  return order ? found.sort(order) : found;
}

function list() {
  const found = selection();
  at("shown").textContent = found.length === data.episodes.length ? "" : `${found.length} of ${data.episodes.length} match`;
  at("list").replaceChildren(...found.map(item));
  if (!found.includes(current)) open(found[0] ?? null);
}

function item(episode) {
  const kind = outcome(episode);
  const about = [episode.ending, plural(episode.rewards.length, "turn"), plural(episode.calls.length, "call"), episode.task];
  const button = make("button", { type: "button" },
    make("span", { class: kind, title: NAMES[kind] }, MARKS[kind]),
    make("span", { class: "question" }, episode.question.trim() || episode.task),
    make("span", { class: "reward" }, episode.failed ? "–" : signed(episode.reward)),
    make("span", { class: "about" }, about.join(" · ")),
  );
  button.addEventListener("click", () => open(episode));
  if (episode === current) button.setAttribute("aria-current", "true");
  episode.button = button;
  return make("li", {}, button);
}

function open(episode) {
  current?.button?.removeAttribute("aria-current");
  current = episode;
  current?.button?.setAttribute("aria-current", "true");
  const nothing = data.episodes.length ? "No episode matches." : "There are no episodes in this file.";
  at("episode").replaceChildren(...(episode ? detail(episode) : [make("p", { class: "empty" }, nothing)]));
  at("episode").scrollTop = 0;
}

function detail(episode) {
  const kind = outcome(episode);
  const terms = Object.entries(episode.terms).map(([name, value]) => `${name} ${signed(value)}`);
  const used = Object.entries(episode.usage).filter(([name, value]) => value && name !== "seconds");
  return [
    make("h2", {}, episode.question.trim() || episode.task),
    facts("",
      ["outcome", make("span", { class: kind }, `${MARKS[kind]} ${NAMES[kind]}`)], ["ending", episode.ending],
      ["gold", episode.golds.join(" or ") || "–"], ["reward", episode.failed ? "none" : signed(episode.reward)],
      ["terms", terms.join(", ") || "none"], ["took", seconds(episode.seconds)]),
    facts("minor", ["used", used.map(([name, value]) => `${name.replaceAll("_", " ")} ${number(value, 2)}`).join(", ") || "nothing"]),
    facts("minor", ["environment", episode.env], ["task", episode.task], ["group", episode.group],
      ["episode", episode.key], ["seed", episode.seed]),
    episode.fault ? make("p", { class: "fault" }, episode.fault) : null,
    bar(episode), beside(body(episode), pages(episode)), calls(episode),
  ].filter(part => part !== null);
}

function beside(transcript, browsed) {
  return browsed ? make("div", { class: "beside" }, make("div", {}, transcript), browsed) : transcript;
}

function facts(name, ...pairs) {
  const divisions = pairs.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value)));
  return make("dl", { class: `facts ${name}` }, ...divisions);
}

function calls(episode) {
  if (!episode.calls.length) return null;
  const rows = episode.calls.map(call => {
    const written = Object.entries(call.arguments).flatMap(([name, value]) => [make("div", {}, name), make("pre", {}, value)]);
    const details = make("details", {}, make("summary", {}, "show"), ...written, make("div", {}, "result"), make("pre", {}, call.result || "(empty)"),
      ...call.files.flatMap(file));
    if (call.files.some(({ image }) => image)) details.open = true;
    return make("tr", {},
      make("td", { class: "number" }, String(call.turn)), make("td", {}, call.tool),
      make("td", { class: call.status === "ok" ? "solved" : "wrong" }, call.status),
      make("td", { class: "number" }, seconds(call.seconds)), make("td", {}, details));
  });
  const head = make("tr", {}, ...["turn", "tool", "status", "took", "call"].map(name => make("th", {}, name)));
  return make("section", {}, make("h3", {}, "Calls"), make("table", {}, head, ...rows));
}

function file({ name, bytes, image, text }) {
  const caption = make("div", {}, `${name}, ${plural(bytes, "byte")}`);
  if (image) return [caption, make("img", { src: `data:${image}`, alt: name })];
  return text ? [caption, make("pre", {}, text)] : [caption];
}

function bar(episode) {
  const asTokens = show.tokens && episode.tokens;
  const names = asTokens ? MASKS : ["prompt", "policy", "tool", "harness", "unscored"];
  const legend = names.map(name => make("span", { class: name }, asTokens ? `${MASKS.indexOf(name)} ${name}` : name));
  if (asTokens) legend.push(make("span", { class: "unsure-key" }, "underlined: p < 0.1"));
  return make("div", { class: "bar" },
    make("h3", {}, "Transcript"),
    toggle("tokens", tokenLabel(episode), !episode.tokens),
    asTokens ? null : toggle("prompt", "prompt", false),
    make("span", { class: "legend" }, ...legend));
}

function tokenLabel(episode) {
  if (!episode.tokens) return "tokens (none recorded)";
  return data.decoded ? "tokens" : "tokens (as ids; --tokenizer decodes them)";
}

function toggle(name, label, disabled) {
  const box = make("input", { type: "checkbox" });
  box.checked = show[name] && !disabled;
  box.disabled = disabled;
  box.addEventListener("change", () => {
    show[name] = box.checked;
    document.querySelector(".bar").replaceWith(bar(current));
    document.querySelector(".transcript, .tokens").replaceWith(body(current));
  });
  return make("label", {}, box, label);
}

function body(episode) {
  return show.tokens && episode.tokens ? tokens(episode.tokens) : transcript(episode);
}

function transcript(episode) {
  const holder = make("div");
  holder.innerHTML = episode.transcript; // escaped when the file was written
  const element = holder.firstElementChild;
  if (!show.prompt) element.classList.add("without-prompt");
  let turn = 0;
  [...element.children].forEach((span, index) => {
    if (episode.turns[index] === turn) return;
    turn = episode.turns[index];
    const made = episode.calls.filter(call => call.turn === turn);
    const notes = [`turn ${turn}`, ...made.map(call => `${call.tool} ${call.status}, ${seconds(call.seconds)}`)];
    if (episode.rewards[turn - 1]) notes.push(`reward ${signed(episode.rewards[turn - 1])}`);
    const heading = make("b", { class: "turn" }, notes.join(" · "));
    if (made.some(call => call.page)) {
      const at_turn = turn;
      const button = make("button", { type: "button", class: "to-page" }, "page");
      button.addEventListener("click", () => showTurn(at_turn));
      heading.append(" ", button);
    }
    span.before(heading);
  });
  return element;
}

function tokens({ ids, text, mask, logprobs }) {
  const pieces = ids.map((id, index) => {
    const kind = Number(mask[index]);
    const notes = [`id ${id}`, `mask ${kind} (${MASKS[kind]})`];
    if (kind) notes.push(`log-probability ${logprobs[index]}`, `probability ${number(Math.exp(logprobs[index]), 4)}`);
    const unsure = kind && logprobs[index] < UNSURE ? " unsure" : "";
    const written = text ? (text[index] || "·").replaceAll("\n", "↵\n") : String(id);
    return make("i", { class: MASKS[kind] + unsure, title: notes.join("\n") }, written);
  });
  return make("div", { class: text ? "tokens" : "tokens as-ids" }, ...pieces);
}

for (const ending of [...new Set(data.episodes.map(episode => episode.ending))].sort())
  at("ending").append(make("option", { value: ending }, ending));
at("filters").addEventListener("input", list);
at("filters").addEventListener("submit", event => event.preventDefault());
document.addEventListener("keydown", event => {
  const step = { j: 1, k: -1 }[event.key];
  if (!step || event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const found = selection();
  const next = found[found.indexOf(current) + step];
  if (!next) return;
  open(next);
  next.button.scrollIntoView({ block: "nearest" });
});
totals();
list();
