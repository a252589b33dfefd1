// Pages that a policy browsed, line by line as it read them. What stands on a page is only ever set as text.

const LINE = /^L(\d+): /;
const MARK = /\[\d+[†‡]/g;
const HITS_SHOWN = 40;

// The calls of an episode that a browser answered, with what each showed.
function browsed(episode) {
  return episode.calls.filter(call => call.page);
}

function pages(episode) {
  const made = browsed(episode);
  if (!made.length) return null;
  return make("section", { class: "pages" }, make("h3", {}, "Pages"), coverage(made), ...made.map(pageOf));
}

// Of each page, by its cursor: which of its lines were shown in the episode.
function coverage(made) {
  const seen = new Map();
  for (const { page, result } of made) {
    const total = /^lines \d+-\d+ of (\d+)/.exec(result.split("\n")[1] ?? "");
    if (page.cursor === null || !total) continue;
    const one = seen.get(page.cursor) ?? { title: titleOf(result), total: Number(total[1]), parts: [] };
    one.parts.push(page.lines);
    seen.set(page.cursor, one);
  }
  const rows = [...seen].sort(([a], [b]) => a - b).map(([cursor, { title, total, parts }]) => {
    const lines = new Set(parts.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, place) => first + place)));
    const told = `${ranges(parts)} of ${plural(total, "line")} (${number((100 * lines.size) / Math.max(total, 1), 0)} %)`;
    return make("li", {}, make("b", {}, `[${cursor}]`), " ", make("span", { class: "title" }, title), " ", make("span", { class: "about" }, told));
  });
  return rows.length ? make("ul", { class: "coverage" }, ...rows) : null;
}

function ranges(parts) {
  const joined = [];
  for (const [first, last] of [...parts].sort((a, b) => a[0] - b[0])) {
    const before = joined.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(", ");
}

const titleOf = result => result.split("\n", 1)[0].replace(/^\[\d+\] /, "");

function pageOf(call) {
  const { page } = call;
  const asked = Object.entries(call.arguments).filter(([name]) => name !== "action");
  const did = [call.arguments.action ?? call.tool, ...asked.map(([name, value]) => `${name} ${value}`)].join(" · ");
  const where = page.cursor === null ? call.result.split("\n", 1)[0] : titleOf(call.result);
  const shown = page.cursor === null ? "" : page.hits.length ? plural(page.total_hits, "line") + " found" : `lines ${page.lines.join("-")}`;
  const summary = make("summary", {},
    make("span", { class: "about" }, `turn ${call.turn}`),
    page.cursor === null ? null : make("b", { class: "cursor" }, `[${page.cursor}]`),
    make("span", { class: call.status === "ok" ? "solved" : "wrong" }, call.status),
    make("span", { class: "did" }, did), make("span", { class: "title" }, where), make("span", { class: "about" }, shown));
  const details = make("details", { class: "page", "data-turn": String(call.turn) }, summary);
  details.addEventListener("toggle", () => { // laid out when it is looked at
    if (details.open && details.children.length === 1) details.append(...contentOf(call));
  });
  return details;
}

function contentOf(call) {
  const { page } = call;
  const kinds = [page.url || "no address", page.http_status === null ? null : `status ${page.http_status}`, page.truncated ? "the page itself was cut" : null];
  const text = make("pre", { class: "page-text", tabindex: "0" });
  const hits = new Set(page.hits);
  const wanted = page.hits.length ? (call.arguments.text ?? "").trim().toLowerCase() : "";
  call.result.split("\n").forEach((line, place) => {
    if (place) text.append("\n");
    const named = LINE.exec(line);
    if (!named) return text.append(make("span", { class: "head" }, line));
    const row = make("span", { class: hits.has(Number(named[1])) ? "line hit" : "line" }, make("span", { class: "gutter" }, named[0]));
    row.append(...marked(line.slice(named[0].length), wanted));
    text.append(row);
  });
  const others = page.hits.length && page.total_hits > HITS_SHOWN ? `${plural(page.total_hits, "line")} hold it` : null;
  return [make("p", { class: "about" }, [...kinds, others].filter(one => one).join(" · ")), text];
}

// A line in pieces: marks of links and fields, and what was looked for.
function marked(text, wanted) {
  const ends = closings(text);
  const pieces = [];
  let place = 0;
  for (const match of text.matchAll(MARK)) {
    const end = ends.get(match.index);
    if (match.index < place || end === undefined) continue;
    const kind = match[0].endsWith("†") ? "link" : "field";
    const inner = match.index + match[0].length;
    pieces.push(...found(text.slice(place, match.index), wanted));
    pieces.push(make("span", { class: kind, title: `${kind} ${match[0].slice(1, -1)}` },
      make("span", { class: "number" }, match[0]), ...found(text.slice(inner, end), wanted), "]"));
    place = end + 1;
  }
  pieces.push(...found(text.slice(place), wanted));
  return pieces;
}

// Where each mark opens -> where the bracket stands that closes it.
function closings(text) {
  const ends = new Map();
  const open = [];
  for (const { 0: token, index } of text.matchAll(/\[\d+[†‡]|[[\]]/g)) {
    if (token !== "]") open.push(token === "[" ? null : index);
    else if (open.length) {
      const start = open.pop();
      if (start !== null) ends.set(start, index);
    }
  }
  return ends;
}

function found(text, wanted) {
  const lower = text.toLowerCase();
  if (!wanted || lower.length !== text.length) return text ? [text] : [];
  const pieces = [];
  let place = 0;
  for (let hit = lower.indexOf(wanted); hit >= 0; hit = lower.indexOf(wanted, place)) {
    pieces.push(text.slice(place, hit), make("mark", {}, text.slice(hit, hit + wanted.length)));
    place = hit + wanted.length;
  }
  return [...pieces, text.slice(place)].filter(piece => piece !== "");
}

// Open the pages of a turn, and show them.
function showTurn(holder, turn) {
  const made = [...holder.querySelectorAll(".page")].filter(details => details.dataset.turn === String(turn));
  for (const details of made) details.open = true;
  made[0]?.scrollIntoView({ block: "nearest" });
}
