"use strict";
// Elements and figures. Everything that a policy or a program wrote is set as text, never as markup.

const at = id => document.getElementById(id);

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  const { class: name, ...attributes } = options;
  if (name) element.className = name;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter(child => child !== null));
  return element;
}

const number = (value, digits = 3) =>
  value === null || value === undefined ? "–" : Number(value.toFixed(digits)).toLocaleString("en", { maximumFractionDigits: digits });
const signed = (value, digits = 3) => (value > 0 ? "+" : "") + number(value, digits);
const seconds = value => (value === null ? "–" : value < 0.1 ? `${number(value * 1000, 1)} ms` : `${number(value, 2)} s`);
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

const MARKS = { solved: "✓", wrong: "✗", failed: "⚠" };
const NAMES = { solved: "solved", wrong: "not solved", failed: "infrastructure failure" };
const outcome = episode => (episode.failed ? "failed" : episode.success >= 1 ? "solved" : "wrong");

function choices(select, values, label = value => value) {
  for (const value of values) select.append(make("option", { value: String(value) }, label(value)));
  return values.length;
}

function facts(name, ...pairs) {
  const divisions = pairs.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value)));
  return make("dl", { class: `facts ${name}` }, ...divisions);
}

// A list of any length of which only the rows in sight are elements, each as high as the style sheet's --row.
class LongList {
  constructor(holder, row) {
    this.holder = holder;
    this.row = row; // item -> a button
    this.inner = make("ol", {});
    this.items = [];
    this.height = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
    holder.replaceChildren(this.inner);
    holder.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(holder);
  }

  show(items) {
    this.items = items;
    this.inner.style.height = `${items.length * this.height}px`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.holder.scrollTop / this.height) - 5);
    const last = Math.min(this.items.length, Math.ceil((this.holder.scrollTop + this.holder.clientHeight) / this.height) + 5);
    const focused = this.inner.contains(document.activeElement) ? document.activeElement.dataset.place : null;
    this.inner.replaceChildren(...this.items.slice(first, last).map((item, offset) => {
      const button = this.row(item);
      button.dataset.place = String(first + offset);
      const line = make("li", { "aria-setsize": String(this.items.length), "aria-posinset": String(first + offset + 1) }, button);
      line.style.top = `${(first + offset) * this.height}px`;
      return line;
    }));
    if (focused !== null) this.inner.querySelector(`[data-place="${focused}"]`)?.focus({ preventScroll: true });
  }

  reveal(place) {
    const { scrollTop, clientHeight } = this.holder;
    const top = place * this.height;
    if (top < scrollTop) this.holder.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight) this.holder.scrollTop = top + this.height - clientHeight;
    this.draw();
  }
}
