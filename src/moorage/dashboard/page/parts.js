// Parts that several views show: sheets, chips, meters, folded reasons, choices.
import { h } from "./dom.js";
import { nodeLink, podLink } from "./route.js";
import { count, many } from "./words.js";

/** A sheet with a heading, what stands beside it, and what it holds. */
export function sheet(title, inside, beside = []) {
  return h("section.sheet", { "aria-label": title }, h("header", {}, h("h2", {}, title), h("span.push"), beside), inside);
}

export const inside = (...children) => h("div.inside", {}, ...children);
export const chip = (text, tone = "") => h(tone ? `span.chip.${tone}` : "span.chip", {}, text);
export const podAnchor = (pod) => h("a.mono", { href: podLink(pod) }, pod);
export const nodeAnchor = (node) => h("a.mono", { href: nodeLink(node) }, node);

/** A bar for a part of a whole; `mark` is a line across it. */
export function meter(part, { other = false, over = false, mark = null, label = "" } = {}) {
  const bar = h(over ? "i.over" : "i");
  bar.style.width = `${Math.max(0, Math.min(1, part)) * 100}%`;
  const line = mark === null ? null : h("u");
  if (line) line.style.left = `${Math.min(1, mark) * 100}%`;
  return h(other ? "span.meter.other" : "span.meter", label ? { role: "img", "aria-label": label, title: label } : { "aria-hidden": "true" }, bar, line);
}

/** A reason on one line, without what all of them say; it unfolds to all that was said. */
export function folded(text, key) {
  if (!text) return "";
  const gist = text.replace(/^0\/\d+ nodes are available: /, "").replace(/ preemption: .*$/, "");
  if (gist === text && text.length < 44) return h("span", {}, text);
  return h("details.reason", { data: { key } }, h("summary", { title: text, data: { key: `s${key}` } }, gist), gist === text ? null : h("p", {}, text));
}

/** Reasons folded with their number of nodes, as `moorage explain` shows them. */
export function refusals(list, what = "nodes", one = "node") {
  const most = Math.max(1, ...list.map((each) => each[what] ?? 0));
  return h("div.bars", {}, list.flatMap((each) => [
    h("span.label", {}, many(each[what] ?? 0, one)),
    h("span", {}, h("span", {}, each.reason), each.plugin ? h("span.soft", {}, ` (${each.plugin})`) : null),
    meter((each[what] ?? 0) / most, { other: true }),
  ]));
}

/** A choice among some; `options` are [value, text]. */
export function choice(label, options, value, chosen) {
  const select = h("select", { on: { change: () => chosen(select.value) } }, options.map(([each, text]) => h("option", { value: each }, text)));
  select.value = value;
  return h("label", {}, label, select);
}

/** A field to type in; told after a pause. */
export function field(label, value, typed, placeholder = "") {
  let pause = 0;
  const input = h("input", { type: "search", placeholder, "aria-label": label, spellcheck: "false", autocomplete: "off" });
  input.value = value;
  input.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => typed(input.value.trim()), 250);
  });
  return input;
}

/** Some numbers at a glance; those with `press` are filters. They are kept and only their texts change. */
export class Stats {
  #kept = new Map();

  constructor() {
    this.element = h("div.stats");
  }

  /** [{label, value, press, pressed}]; `press` is taken from the first time. */
  show(list) {
    for (const each of list) {
      const { box, value } = this.#stat(each);
      const text = typeof each.value === "number" ? count(each.value) : each.value;
      if (value.textContent !== text) value.textContent = text;
      if (each.press) box.setAttribute("aria-pressed", String(Boolean(each.pressed)));
    }
  }

  #stat({ label, press }) {
    if (!this.#kept.has(label)) {
      const value = h("b");
      const box = press ? h("button.stat", { type: "button", on: { click: press } }, value, h("span", {}, label)) : h("div.stat", {}, value, h("span", {}, label));
      this.#kept.set(label, { box, value });
      this.element.append(box);
    }
    return this.#kept.get(label);
  }
}

/** The same, built once. */
export function stats(list) {
  const shown = new Stats();
  shown.show(list);
  return shown.element;
}

export const failure = (error) => h("p.error", { role: "alert" }, error.message);
