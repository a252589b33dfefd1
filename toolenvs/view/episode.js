// One episode: its outcome, its transcript with authorship or tokens with their mask, its calls and what they left.

const AUTHORS = ["prompt", "policy", "tool", "harness", "unscored", "forgotten"];
const MASKS = ["environment", "policy", "unscored"];
const UNSURE = -2.3; // log of about 1/10
const show = { tokens: false, prompt: false };

// Elements of an episode in full.
function detail(episode) {
  const kind = outcome(episode);
  const terms = Object.entries(episode.terms).map(([name, value]) => `${name} ${signed(value)}`);
  const metrics = Object.entries(episode.metrics).map(([name, value]) => `${name} ${number(value)}`);
  const used = Object.entries(episode.usage).filter(([name, value]) => value && name !== "seconds");
  const holder = make("article", {});
  holder.append(...[
    make("h2", {}, episode.question.trim() || episode.task),
    facts("",
      ["outcome", make("span", { class: kind }, `${MARKS[kind]} ${NAMES[kind]}`)], ["ending", episode.ending],
      ["gold", episode.golds.join(" or ") || "–"], ["reward", episode.failed ? "none" : signed(episode.reward)],
      ["terms", terms.join(", ") || "none"], ...(metrics.length ? [["metrics", metrics.join(", ")]] : []),
      ["took", seconds(episode.seconds)]),
    facts("minor", ["used", used.map(([name, value]) => `${name.replaceAll("_", " ")} ${number(value, 2)}`).join(", ") || "nothing"]),
    facts("minor", ["environment", episode.env], ["task", episode.task], ["group", episode.group], ["episode", episode.key],
      ["seed", episode.seed], ...(episode.step === null ? [] : [["step", String(episode.step)]]),
      ...(data.runs.length > 1 ? [["run", data.runs[episode.run].label]] : [])),
    episode.fault ? make("p", { class: "fault" }, episode.fault) : null,
    bar(holder, episode), beside(body(holder, episode), pages(episode)), calls(episode),
  ].filter(part => part !== null));
  return holder;
}

function beside(transcript, browsed) {
  return browsed ? make("div", { class: "beside" }, make("div", {}, transcript), browsed) : transcript;
}

function calls(episode) {
  if (!episode.calls.length) return null;
  const lines = episode.calls.map(call => {
    const given = Object.entries(call.arguments).flatMap(([name, value]) => [make("div", {}, name), make("pre", {}, value)]);
    const details = make("details", {}, make("summary", {}, "show"), ...given, make("div", {}, "result"), make("pre", {}, call.result || "(empty)"),
      ...call.files.flatMap(file));
    if (call.files.some(({ image }) => image)) details.open = true;
    return make("tr", {},
      make("td", { class: "number" }, String(call.turn)), make("td", {}, call.tool),
      make("td", { class: call.status === "ok" ? "solved" : "wrong" }, call.status),
      make("td", { class: "number" }, seconds(call.seconds)), make("td", {}, details));
  });
  const head = make("tr", {}, ...["turn", "tool", "status", "took", "call"].map(name => make("th", {}, name)));
  return make("section", {}, make("h3", {}, "Calls"), make("table", {}, head, ...lines));
}

function file({ name, bytes, image, text }) {
  const caption = make("div", {}, `${name}, ${plural(bytes, "byte")}`);
  if (image) return [caption, make("img", { src: `data:${image}`, alt: name })];
  return text ? [caption, make("pre", {}, text)] : [caption];
}

function bar(holder, episode) {
  const asTokens = show.tokens && episode.tokens;
  const names = asTokens ? MASKS : AUTHORS.filter(name => name !== "forgotten" || episode.segments.some(({ kept }) => kept !== null));
  const legend = names.map(name => make("span", { class: name }, asTokens ? `${MASKS.indexOf(name)} ${name}` : name));
  if (asTokens) legend.push(make("span", { class: "unsure-key" }, "underlined: p < 0.1"));
  return make("div", { class: "bar" },
    make("h3", {}, "Transcript"),
    toggle(holder, episode, "tokens", tokenLabel(episode), !episode.tokens),
    asTokens ? null : toggle(holder, episode, "prompt", "prompt", false),
    make("span", { class: "legend" }, ...legend));
}

function tokenLabel(episode) {
  if (!episode.tokens) return "tokens (none recorded)";
  return data.decoded ? "tokens" : "tokens (as ids; --tokenizer decodes them)";
}

function toggle(holder, episode, name, label, disabled) {
  const box = make("input", { type: "checkbox" });
  box.checked = show[name] && !disabled;
  box.disabled = disabled;
  box.addEventListener("change", () => {
    show[name] = box.checked;
    holder.querySelector(".bar").replaceWith(bar(holder, episode));
    holder.querySelector(".transcript, .tokens").replaceWith(body(holder, episode));
  });
  return make("label", {}, box, label);
}

function body(holder, episode) {
  return show.tokens && episode.tokens ? tokens(episode.tokens) : transcript(holder, episode);
}

function transcript(holder, episode) {
  const element = make("div", { class: show.prompt ? "transcript" : "transcript without-prompt" });
  let turn = 0;
  for (const segment of episode.segments) {
    if (segment.turn !== turn) element.append(heading(holder, episode, (turn = segment.turn)));
    element.append(piece(segment));
  }
  return element;
}

function piece({ author, text, turn, scored, kept }) {
  const names = [author, ...(scored ? [] : ["unscored"]), ...(kept === null ? [] : ["forgotten"])];
  const notes = [`${author}, turn ${turn}`];
  if (kept !== null) notes.push(kept ? `later read as: ${kept}` : `forgotten behind turn ${turn + 1}`);
  return make("span", { class: names.join(" "), title: notes.join("\n") }, text);
}

function heading(holder, episode, turn) {
  const made = episode.calls.filter(call => call.turn === turn);
  const notes = [`turn ${turn}`, ...made.map(call => `${call.tool} ${call.status}, ${seconds(call.seconds)}`)];
  if (episode.rewards[turn - 1]) notes.push(`reward ${signed(episode.rewards[turn - 1])}`);
  const element = make("b", { class: "turn" }, notes.join(" · "));
  if (made.some(call => call.page)) {
    const button = make("button", { type: "button", class: "to-page" }, "page");
    button.addEventListener("click", () => showTurn(holder, turn));
    element.append(" ", button);
  }
  return element;
}

function tokens({ ids, text, mask, logprobs }) {
  const pieces = ids.map((id, index) => {
    const kind = Number(mask[index]);
    const notes = [`id ${id}`, `mask ${kind} (${MASKS[kind]})`];
    if (kind) notes.push(`log-probability ${logprobs[index]}`, `probability ${number(Math.exp(logprobs[index]), 4)}`);
    const unsure = kind && logprobs[index] < UNSURE ? " unsure" : "";
    const told = text ? (text[index] || "·").replaceAll("\n", "↵\n") : String(id);
    return make("i", { class: MASKS[kind] + unsure, title: notes.join("\n") }, told);
  });
  return make("div", { class: text ? "tokens" : "tokens as-ids" }, ...pieces);
}
