// What colours mean: a ramp under the distribution of its values, or kinds to pick one of; kept, so that clicks are never lost.
import { h, svg } from "./dom.js";
import { count } from "./words.js";

const WIDTH = 320;
const HEIGHT = 22;

export class Legend {
  #shape = "";
  #counts = [];
  /** @type {(legend: any) => void} */
  #update = () => {};

  /** `picked(code)` when one kind or band alone is to be seen, "" for all again. */
  constructor(picked) {
    this.picked = picked;
    this.element = h("div.legend");
  }

  show({ palette, legend }, band = "") {
    const entries = (legend.entries ?? []).map(({ code, text }) => [code, text]);
    const shape = JSON.stringify([legend.type, palette, entries, legend.low, legend.high, band]);
    if (shape !== this.#shape) {
      this.#shape = shape;
      const [children, update] = legend.type === "ramp" ? this.#ramp(palette, legend, band) : this.#kinds(palette, legend, band);
      const focused = this.element.querySelector("svg") === document.activeElement;
      this.element.replaceChildren(...children.filter(Boolean));
      if (focused) this.element.querySelector("svg")?.focus();
      this.#update = update;
    }
    this.#counts = legend.counts ?? [];
    this.#update(legend);
  }

  /** @returns {[any[], (legend: any) => void]} what is shown, and what brings its numbers up to date */
  #ramp(palette, { low, high, counts, about }, band) {
    const wide = WIDTH / counts.length;
    const bars = counts.map((_, code) => svg("rect", { x: code * wide, width: wide - 1, fill: palette[code] }));
    const titles = counts.map(() => svg("title"));
    const groups = counts.map((_, code) => {
      const foot = svg("rect", { x: code * wide, y: HEIGHT + 2, width: wide, height: 5, fill: palette[code] });
      const reach = svg("rect", { x: code * wide, y: 0, width: wide, height: HEIGHT + 8, fill: "transparent", on: { click: () => this.picked(band === String(code) ? "" : code) } }, titles[code]);
      return svg("g", { opacity: band !== "" && band !== String(code) ? 0.3 : 1 }, bars[code], foot, reach);
    });
    const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + 8}`, width: WIDTH, height: HEIGHT + 8, tabindex: 0, role: "slider", "aria-label": `Nodes by how much they have, from ${low} to ${high}: one band alone`, "aria-valuemin": 0, "aria-valuemax": counts.length - 1, "aria-valuenow": band || 0, "aria-valuetext": band === "" ? "all" : `band ${Number(band) + 1} of ${counts.length}`, on: { keydown: (event) => this.#walk(event, counts, band) } }, groups);
    const all = band === "" ? null : h("button", { type: "button", on: { click: () => this.picked("") } }, "all again");
    const update = (legend) => rise(bars, titles, legend.counts);
    return [[h("div", {}, chart, h("div.ends", {}, h("span", {}, low), h("span", {}, high))), about ? h("span", {}, about) : null, all], update];
  }

  /** To the next band that has nodes; Escape shows all. */
  #walk(event, counts, band) {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!way && event.key !== "Escape") return;
    event.preventDefault();
    let to = band === "" ? (way > 0 ? -1 : counts.length) : Number(band);
    do to += way ?? 0;
    while (way && to >= 0 && to < counts.length && !this.#counts[to]);
    this.picked(way && to >= 0 && to < counts.length ? to : "");
  }

  /** @returns {[any[], (legend: any) => void]} the same for kinds */
  #kinds(palette, { entries, about }, band) {
    if (!entries.length) return [[h("span", {}, "Name a pod, namespace/name, to see what each node says to it.")], () => {}];
    const counts = entries.map(() => h("span.soft.count"));
    const buttons = entries.map(({ code, text }, index) => {
      const patch = h("i");
      patch.style.background = palette[code];
      const pressed = band === String(code);
      return h("button", { type: "button", title: text, "aria-pressed": String(pressed), on: { click: () => this.picked(pressed ? "" : code) } }, patch, h("span", {}, text), counts[index]);
    });
    const update = (legend) => {
      for (const [index, entry] of legend.entries.entries()) counts[index].textContent = count(entry.nodes);
    };
    return [[...buttons, about ? h("span", {}, about) : null], update];
  }
}

function rise(bars, titles, counts) {
  const most = Math.max(1, ...counts);
  counts.forEach((number, code) => {
    const tall = number ? Math.max(2, (number / most) * HEIGHT) : 0;
    bars[code].setAttribute("y", HEIGHT - tall);
    bars[code].setAttribute("height", tall);
    titles[code].textContent = `${count(number)} nodes: show these alone`;
  });
}
