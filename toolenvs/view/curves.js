// Learning curves: a panel for each metric, a line for each run.

const FIRST = ["success", "test_success", "reward", "tool_use", "response_tokens", "turns", "entropy", "kl", "clipped", "gradient_norm"];
const SIZE = { width: 420, height: 200, left: 52, right: 12, top: 12, bottom: 24 };

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(at("drawing").namespaceURI, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

function metricNames() {
  const names = new Set();
  for (const { metrics } of data.runs)
    for (const line of metrics) for (const name of Object.keys(line)) if (name !== "step" && typeof line[name] === "number") names.add(name);
  return [...FIRST.filter(name => names.has(name)), ...[...names].filter(name => !FIRST.includes(name)).sort()];
}

function linesOf(name) {
  return data.runs.flatMap(({ label, metrics }, run) => {
    const points = metrics.filter(line => typeof line[name] === "number").map(line => [line.step, line[name]]);
    return points.length ? [{ run, label, points }] : [];
  });
}

// The least and the greatest; a call takes only so many arguments.
const bounds = values => values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);

// Three or so round numbers between two bounds.
function ticks(low, high) {
  const span = high - low || Math.abs(high) || 1;
  const size = 10 ** Math.floor(Math.log10(span / 3));
  const step = [1, 2, 5, 10].map(times => times * size).find(one => span / one <= 4);
  const found = new Set(); // counted, since a step may be too small to change a large value
  for (let place = 0, first = Math.ceil(low / step); place <= 8; place++) {
    const value = (first + place) * step;
    if (value <= high + step / 1e6) found.add(value);
  }
  return [...found];
}

const short = value => (value !== 0 && (Math.abs(value) < 0.001 || Math.abs(value) >= 1e5) ? value.toExponential(1) : number(value, 4));

function panel(name) {
  const lines = linesOf(name);
  const all = lines.flatMap(({ points }) => points);
  const [[left, right], [low, high]] = [0, 1].map(axis => bounds(all.map(point => point[axis])));
  const x = value => SIZE.left + ((value - left) / (right - left || 1)) * (SIZE.width - SIZE.left - SIZE.right);
  const y = value => SIZE.height - SIZE.bottom - ((value - low) / (high - low || 1)) * (SIZE.height - SIZE.top - SIZE.bottom);
  const drawing = svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": `${name} over steps` });
  for (const value of ticks(low, high))
    drawing.append(svg("line", { class: "rule", x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: SIZE.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  for (const value of ticks(left, right).filter(Number.isInteger))
    drawing.append(svg("text", { class: "tick", x: x(value), y: SIZE.height - 6, "text-anchor": "middle" }, String(value)));
  for (const { run, points } of lines) {
    drawing.append(svg("polyline", { class: `curve run-${run % 6}`, points: points.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }));
    if (points.length === 1) drawing.append(svg("circle", { class: `dot run-${run % 6}`, cx: x(points[0][0]), cy: y(points[0][1]), r: 3 }));
  }
  const told = make("figcaption", {}, make("b", {}, name), " ", make("span", { class: "about" }));
  const cursor = svg("line", { class: "cursor", y1: SIZE.top, y2: SIZE.height - SIZE.bottom, visibility: "hidden" });
  drawing.append(cursor);
  const tell = wanted => {
    const parts = lines.map(({ label, points }) => {
      const [step, value] = points.reduce((best, point) => (Math.abs(point[0] - wanted) < Math.abs(best[0] - wanted) ? point : best));
      return `${lines.length > 1 ? `${label} ` : ""}${short(value)} at ${step}`;
    });
    told.lastChild.textContent = parts.join(" · ");
  };
  drawing.addEventListener("pointermove", event => {
    const { left: edge, width } = drawing.getBoundingClientRect();
    const inside = ((event.clientX - edge) / width) * SIZE.width;
    const wanted = left + ((inside - SIZE.left) / (SIZE.width - SIZE.left - SIZE.right)) * (right - left);
    const at_x = x(Math.min(right, Math.max(left, wanted)));
    for (const [key, value] of [["x1", at_x], ["x2", at_x], ["visibility", "visible"]]) cursor.setAttribute(key, value);
    tell(wanted);
  });
  drawing.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); tell(right); });
  tell(right);
  return make("figure", {}, told, drawing);
}

function drawCurves() {
  const names = metricNames();
  const legend = data.runs.map(({ label, metrics }, run) => (metrics.length ? make("span", { class: `run-${run % 6}` }, label) : null));
  const shown = names.slice(0, FIRST.length);
  const more = names.slice(FIRST.length);
  const parts = [make("p", { class: "legend" }, ...legend), make("div", { class: "panels" }, ...shown.map(panel))];
  if (more.length) {
    const details = make("details", {}, make("summary", {}, `${plural(more.length, "further metric")}`));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(make("div", { class: "panels" }, ...more.map(panel)));
    });
    parts.push(details);
  }
  at("curves").replaceChildren(...parts);
}
