// What a tile's colour says: each way to colour the cluster as a palette, a colour number per node, and a legend.
import { KIND_COUNT, STEP_COUNT, fits, kind, ramp, rest, unknown } from "./colours.js";
import { number, percent } from "./words.js";

/** The ways there are; `column` of the nodes, and how a value is written. */
export const WAYS = {
  allocation: { label: "allocation", column: "allocation", write: percent, about: "the most asked of any resource" },
  cpu: { label: "cpu requested", column: "cpu", write: percent, about: "of what is allocatable" },
  memory: { label: "memory requested", column: "memory", write: percent, about: "of what is allocatable" },
  usage: { label: "usage", column: "usage", write: percent, about: "what is truly used, where it is measured" },
  gpu: { label: "GPU requested", column: "gpu", write: percent, about: "of the node's GPUs" },
  gpu_fragmentation: { label: "GPU fragmentation", column: "gpu_fragmentation", write: percent, about: "of what is idle, the part on GPUs that are partly used" },
  cost: { label: "cost", column: "price", write: number, about: "price per hour", stretch: true },
  pods: { label: "pods", column: "pods", write: number, about: "pods on the node", stretch: true },
  zone: { label: "zone", column: "zone", kinds: true },
  pool: { label: "pool", column: "pool", kinds: true },
  tenant: { label: "tenant", column: "tenant", kinds: true, about: "the namespace that asks most" },
  verdict: { label: "verdict for a pod", column: "verdict", kinds: true },
};

/** Does the cluster know anything of it? */
export function known(way, nodes) {
  const column = nodes[WAYS[way].column];
  return way === "verdict" || (column ?? []).some((value) => value !== null && value !== "");
}

/** {palette, codes, legend}: a colour per code, a code per node, and what the codes mean. */
export function coloured(way, cluster) {
  if (way === "verdict") return verdicts(cluster);
  return WAYS[way].kinds ? kinds(WAYS[way], cluster.nodes) : quantities(WAYS[way], cluster.nodes);
}

function quantities(way, nodes) {
  const column = nodes[way.column];
  const most = way.stretch ? column.reduce((high, value) => Math.max(high, value ?? 0), 0) || 1 : 1;
  const counts = new Array(STEP_COUNT).fill(0);
  const codes = new Uint8Array(column.length);
  for (let row = 0; row < column.length; row++) {
    const value = column[row];
    codes[row] = value === null || value === undefined ? STEP_COUNT : step(value / most);
    if (codes[row] < STEP_COUNT) counts[codes[row]]++;
  }
  const legend = { type: "ramp", low: way.write(0), high: way.write(most), counts, about: way.about };
  return { palette: [...ramp(), unknown()], codes, legend };
}

const step = (part) => Math.max(0, Math.min(STEP_COUNT - 1, Math.floor(part * STEP_COUNT)));

function kinds(way, nodes) {
  const column = nodes[way.column];
  const found = tallied(column);
  const named = found.slice(0, found.length > KIND_COUNT ? KIND_COUNT - 1 : KIND_COUNT);
  const codeOf = new Map(named.map(([value], index) => [value, index]));
  const codes = Uint8Array.from(column, (value) => (value === "" ? named.length + 1 : (codeOf.get(value) ?? named.length)));
  const palette = [...named.map((_, index) => kind(index)), rest(), unknown()];
  const entries = named.map(([text, nodes_], code) => ({ code, text, nodes: nodes_ }));
  const others = found.length - named.length;
  if (others) entries.push({ code: named.length, text: `${others} others`, nodes: codes.filter((code) => code === named.length).length });
  return { palette, codes, legend: { type: "kinds", entries, about: way.about } };
}

/** The values of a column with how often they are there, the most frequent first. */
export function tallied(column) {
  const counts = new Map();
  for (const value of column) if (value !== "" && value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || String(a[0]).localeCompare(String(b[0])));
}

function verdicts(cluster) {
  const found = cluster.verdicts ?? [];
  const codes = Uint8Array.from(cluster.nodes.verdict ?? cluster.nodes.name.map(() => 255), (code) => Math.min(code, found.length));
  const palette = [...found.map((_, index) => (index === 0 ? fits() : kind([5, 1, 3, 6, 8, 2, 7][index - 1] ?? 99))), unknown()];
  const entries = found.map((each, code) => ({ code, text: each.plugin ? `${each.text} (${each.plugin})` : each.text, nodes: each.nodes }));
  return { palette, codes, legend: { type: "kinds", entries } };
}
