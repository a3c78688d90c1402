// The timeline: how many pods were placed and refused in each slice of time, and how late, where that is known; a click goes back there.
import { absolute, hour } from "./clock.js";
import { h, svg } from "./dom.js";
import { count, millis } from "./words.js";

const WIDTH = 1000;
const HEIGHT = 84;

/** `at` is the moment that is looked at, or none; `went(at)` when another is chosen. Slices in which nothing was attempted are not told. */
export function timeline(buckets, at, went) {
  const most = Math.max(1, ...buckets.map((each) => each.placed + each.refused));
  const late = Math.max(0, ...buckets.map((each) => each.p99_ms ?? 0));
  const first = buckets[0].at;
  const length = Math.min(...buckets.slice(1).map((each, index) => each.at - buckets[index].at), buckets.length > 1 ? Number.POSITIVE_INFINITY : 1);
  const whole = buckets.at(-1).at + length - first;
  const place = (moment) => (WIDTH * (moment - first)) / whole;
  const wide = place(first + length);
  const bars = buckets.flatMap((each) => stacked(each, place(each.at), wide, most));
  const points = buckets.map((each) => (!late || each.p99_ms === null || each.p99_ms === undefined ? null : `${place(each.at) + wide / 2},${HEIGHT - (each.p99_ms / late) * (HEIGHT - 6)}`));
  const here = at ? buckets.findIndex((each) => at <= each.at + length) : -1;
  const reach = buckets.map((each, index) => {
    const until = buckets[index + 1]?.at ?? each.at + length;
    const text = `${absolute(each.at)}: ${count(each.placed)} placed, ${count(each.refused)} refused${late ? `, p99 ${millis(each.p99_ms)}` : ""}`;
    return svg("rect.reach", { x: place(each.at), y: 0, width: place(until) - place(each.at), height: HEIGHT, on: { click: () => went(each.at + length) } }, svg("title", {}, text));
  });
  const chart = svg("svg.chart.time", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `Attempts over time, from ${absolute(first)} to ${absolute(buckets.at(-1).at)}` },
    bars, svg("polyline.late", { points: points.filter(Boolean).join(" ") }), here >= 0 ? svg("rect.here", { x: 0, y: 0, width: place(buckets[here].at) + wide, height: HEIGHT }) : null, reach);
  return h("div", {}, chart, scrubber(buckets, length, here, went), feet(buckets, most, late));
}

function stacked(each, x, wide, most) {
  const tall = (number) => (number / most) * (HEIGHT - 6);
  const low = tall(each.placed);
  const high = tall(each.refused);
  return [
    low ? svg("rect.placed", { x, y: HEIGHT - low, width: wide * 0.86, height: low }) : null,
    high ? svg("rect.refused", { x, y: HEIGHT - low - high, width: wide * 0.86, height: high }) : null,
  ];
}

/** The same for the keyboard: the last place is now. */
function scrubber(buckets, length, here, went) {
  const range = h("input.scrub", { type: "range", min: 0, max: buckets.length, step: 1, "aria-label": "Go back in time", data: { key: "scrub" } });
  range.value = here < 0 ? buckets.length : here;
  const told = () => (Number(range.value) >= buckets.length ? "now" : absolute(buckets[range.value].at));
  range.setAttribute("aria-valuetext", told());
  range.addEventListener("input", () => range.setAttribute("aria-valuetext", told()));
  range.addEventListener("change", () => went(Number(range.value) >= buckets.length ? "" : buckets[range.value].at + length));
  return range;
}

function feet(buckets, most, late) {
  return h("div.title.soft", {}, h("span", {}, hour(buckets[0].at)), h("span.key.placed", {}, "placed"), h("span.key.refused", {}, "refused"), late ? h("span.key.late", {}, `p99, at most ${millis(late)}`) : null, h("span", {}, `at most ${count(most)} in a slice`), h("span.push", {}, hour(buckets.at(-1).at)));
}
