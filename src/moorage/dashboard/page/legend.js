// What colours mean: a ramp under the distribution of its values, or kinds to pick one of.
import { h, refill, svg } from "./dom.js";
import { count } from "./words.js";

const WIDTH = 320;
const HEIGHT = 22;

/** Fill the legend; `picked(code)` when one kind or band alone is to be seen, "" for all again. */
export function legend(element, { palette, legend: found }, band, picked) {
  refill(element, found.type === "ramp" ? rampOf(palette, found, band, picked) : kindsOf(palette, found, band, picked));
}

function rampOf(palette, { low, high, counts, about }, band, picked) {
  const most = Math.max(1, ...counts);
  const wide = WIDTH / counts.length;
  const bars = counts.map((number, code) => {
    const tall = number ? Math.max(2, (number / most) * HEIGHT) : 0;
    const bar = svg("rect", { x: code * wide, y: HEIGHT - tall, width: wide - 1, height: tall, fill: palette[code] });
    const foot = svg("rect", { x: code * wide, y: HEIGHT + 2, width: wide, height: 5, fill: palette[code] });
    const reach = svg("rect", { x: code * wide, y: 0, width: wide, height: HEIGHT + 8, fill: "transparent" }, svg("title", {}, `${count(number)} nodes: show these alone`));
    reach.addEventListener("click", () => picked(String(band) === String(code) ? "" : code));
    return svg("g", { opacity: band !== undefined && band !== "" && Number(band) !== code ? 0.3 : 1 }, bar, foot, reach);
  });
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + 8}`, width: WIDTH, height: HEIGHT + 8, role: "img", "aria-label": `How many nodes have how much, from ${low} to ${high}` }, bars);
  return [h("div", {}, chart, h("div.ends", {}, h("span", {}, low), h("span", {}, high))), about ? h("span", {}, about) : null, band ? clear(picked) : null];
}

function kindsOf(palette, { entries, about }, band, picked) {
  const some = band !== undefined && band !== "";
  const buttons = entries.map(({ code, text, nodes }) => {
    const patch = h("i");
    patch.style.background = palette[code];
    const pressed = some && Number(band) === code;
    return h("button", { type: "button", title: text, "aria-pressed": String(pressed), data: { key: `band${code}` }, on: { click: () => picked(pressed ? "" : code) } }, patch, h("span", {}, text), h("span.soft", {}, count(nodes)));
  });
  if (!entries.length) return [h("span", {}, "Name a pod, namespace/name, to see what each node says to it.")];
  return [...buttons, about ? h("span", {}, about) : null];
}

const clear = (picked) => h("button", { type: "button", on: { click: () => picked("") } }, "all again");
