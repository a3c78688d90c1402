// Bars: scores by plugin, for the node that was chosen and those that were not; latencies by step.
import { h } from "./dom.js";
import { meter } from "./parts.js";
import { millis, number } from "./words.js";

const SHOWN = 3;

/** Scores by plugin; the first node is the chosen one, beside it the next best. `scores` is {node: {plugin: points}}. */
export function scoreBars(scores) {
  const nodes = Object.keys(scores).slice(0, SHOWN);
  const plugins = [...new Set(nodes.flatMap((node) => Object.keys(scores[node])))];
  const points = (node, plugin) => scores[node][plugin] ?? 0;
  const most = Math.max(1, ...nodes.flatMap((node) => plugins.map((plugin) => points(node, plugin))));
  plugins.sort((a, b) => gap(scores, nodes, b) - gap(scores, nodes, a) || points(nodes[0], b) - points(nodes[0], a));
  const rows = plugins.flatMap((plugin) => [
    h("span.label", {}, plugin),
    h("span.pair", {}, nodes.map((node, index) => meter(points(node, plugin) / most, { other: index > 0, label: `${plugin}: ${points(node, plugin)} for ${node}` }))),
    h("span.value", {}, nodes.map((node) => number(points(node, plugin))).join(" / ")),
  ]);
  const totals = nodes.map((node) => plugins.reduce((sum, plugin) => sum + points(node, plugin), 0));
  const keys = nodes.map((node, index) => h(index ? "span.key.other" : "span.key", {}, h("span.mono", {}, node)));
  return h("div", {}, h("div.chips", {}, keys), h("div.bars", {}, rows, h("span.total", {}, "total"), h("span.total", {}, "\u00a0"), h("span.value.total", {}, totals.map(number).join(" / "))));
}

/** How far a plugin sets the chosen node apart from the next. */
function gap(scores, nodes, plugin) {
  return nodes.length < 2 ? 0 : Math.abs((scores[nodes[0]][plugin] ?? 0) - (scores[nodes[1]][plugin] ?? 0));
}

/** Milliseconds by step, longest bar for the longest. */
export function stepBars(steps) {
  const most = Math.max(1e-9, ...Object.values(steps));
  return h("div.bars", {}, Object.entries(steps).flatMap(([step, ms]) => [h("span.label", {}, step), meter(ms / most, { label: `${step}: ${millis(ms)}` }), h("span.value", {}, millis(ms))]));
}
