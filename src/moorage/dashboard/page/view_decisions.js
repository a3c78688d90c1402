// Decisions: the stream of attempts, filtered; how many, how late, by step; and back in time.
import { ask, repeated, throttled } from "./api.js";
import { absolute, ago, isStopped } from "./clock.js";
import { copyJson } from "./copy.js";
import { h, region } from "./dom.js";
import { Stats, chip, choice, failure, field, folded, inside, meter, nodeAnchor, podAnchor } from "./parts.js";
import { change } from "./route.js";
import { Table } from "./table.js";
import { timeline } from "./timeline.js";
import { count, millis, number, parts, took } from "./words.js";

const KEPT = 200;
const FILTERS = ["namespace", "pod", "node", "result"];
const RESULTS = [["", "any"], ["scheduled", "scheduled"], ["unschedulable", "unschedulable"], ["error", "error"]];

export class DecisionsView {
  follows = ["decisions"];
  #query = {};
  #items = [];
  #skipped = 0;
  #paused = false;
  #held = false;
  #data = null;

  constructor(root) {
    this.rates = new Stats();
    this.steps = region(h("section.sheet", { "aria-label": "Latency by step" }), steps);
    this.time = region(h("section.sheet", { "aria-label": "Timeline" }), (data) => this.#timeline(data));
    this.problem = h("div");
    this.state = h("span.soft");
    this.pause = h("button", { type: "button", on: { click: () => this.#pause() } }, "Pause");
    this.fields = Object.fromEntries(["namespace", "pod", "node"].map((name) => [name, field(name, "", (text) => change({ [name]: text }, true), name === "pod" ? "namespace/pod" : name)]));
    this.result = choice("Result", RESULTS, "", (result) => change({ result }));
    this.table = new Table({ caption: "Decisions", columns: COLUMNS, key: (item) => item.number, empty: "No attempt matches.", stacks: true });
    this.older = h("button", { type: "button", hidden: true, on: { click: () => change({ at: this.#items.at(-1).time }) } }, "Earlier");
    this.#hold(this.table.element);
    const bar = h("div.toolbar", {}, this.result, Object.values(this.fields), h("span.push"), this.state, this.pause, copyJson(() => ({ ...this.#data, items: this.#items })));
    const list = h("section.sheet", { "aria-label": "Decisions" }, this.table.element, h("div.more", {}, this.older));
    root.append(h("h1.skip", {}, "Decisions"), h("div.columns.even", {}, h("div.stack", {}, this.rates.element, this.time.element), this.steps.element), bar, this.problem, list);
    this.asked = repeated((signal) => ask("decisions", { ...this.#query, limit: KEPT }, signal), (data) => this.#answered(data), (error) => this.problem.replaceChildren(failure(error)));
    this.draw = throttled(250, () => this.#draw());
    this.timer = setInterval(() => !document.hidden && !this.#paused && this.#summary(), 5000);
    this.summed = repeated((signal) => ask("decisions", { limit: 1 }, signal), (data) => this.#about(data));
  }

  show({ query }) {
    this.#query = Object.fromEntries([...FILTERS, "at"].map((name) => [name, query[name] ?? ""]));
    for (const [name, input] of Object.entries(this.fields)) if (document.activeElement !== input) input.value = query[name] ?? "";
    this.result.querySelector("select").value = query.result ?? "";
    this.#skipped = 0;
    this.#hint();
    this.asked.anew();
  }

  fetch() {
    this.asked.run();
  }

  stop() {
    clearInterval(this.timer);
    this.asked.stop();
    this.summed.stop();
    this.draw.stop();
  }

  heard(kind, data) {
    if (kind !== "decisions") return;
    if (data.rates) this.rates.show(rates(data.rates));
    if (this.#query.at || this.#paused) return;
    if (data.snapshot || !data.items) {
      this.asked.run();
      return;
    }
    this.#skipped += data.skipped ?? 0;
    this.#join(data.items.filter((item) => this.#takes(item)));
    if (this.#held) this.#hint();
    else this.draw();
  }

  /** Rows stand still while somebody points at them, or has the focus in them. */
  #hold(element) {
    const held = (on) => () => {
      this.#held = on;
      if (!on) this.#draw();
    };
    element.addEventListener("pointerenter", held(true));
    element.addEventListener("pointerleave", held(false));
    element.addEventListener("focusin", held(true));
    element.addEventListener("focusout", held(false));
  }

  #takes(item) {
    const { namespace, pod, node, result } = this.#query;
    return (!pod || item.pod === pod) && (!namespace || parts(item.pod)[0] === namespace) && (!node || item.node === node) && (!result || item.result === result);
  }

  /** New ones before old ones, each once, and no more than are shown. */
  #join(items) {
    const known = new Set(this.#items.map((item) => item.number));
    const added = items.filter((item) => !known.has(item.number));
    if (added.length) this.#items = [...added, ...this.#items].sort((a, b) => b.number - a.number).slice(0, KEPT);
  }

  #answered(data) {
    this.#items = data.items.toSorted((a, b) => b.number - a.number);
    this.problem.replaceChildren();
    this.older.hidden = !data.continue;
    this.#about(data);
    this.#draw();
  }

  #about(data) {
    this.#data = data;
    if (data.rates) this.rates.show(rates(data.rates));
    this.steps.show(data.steps ?? []);
    this.time.show({ buckets: data.timeline ?? [], at: Number(this.#query.at) || 0 });
  }

  #summary() {
    this.summed.run();
  }

  #timeline({ buckets, at }) {
    if (buckets.length < 2) return null;
    const back = at ? [h("span", {}, `as it was at ${absolute(at)}`), h("button", { type: "button", on: { click: () => change({ at: "" }) } }, "Back to now")] : [];
    return [h("header", {}, h("h2", {}, "Timeline"), h("span.push"), back), inside(timeline(buckets, at, (moment) => change({ at: moment })))];
  }

  #draw() {
    this.table.show(this.#items.map(({ time, ...item }) => ({ ...item, time: Math.round(time * 10) / 10 })));
    this.#hint();
  }

  #hint() {
    const told = this.#query.at ? `until ${absolute(Number(this.#query.at))}` : this.#paused ? "paused" : this.#held ? "live; the list stands still while you point at it" : this.#skipped ? `live; ${count(this.#skipped)} came too fast to be shown` : "live";
    if (this.state.textContent !== told) this.state.textContent = told;
    this.pause.hidden = Boolean(this.#query.at) || isStopped();
    this.state.hidden = isStopped() && !this.#query.at;
  }

  #pause() {
    this.#paused = !this.#paused;
    this.pause.textContent = this.#paused ? "Go on" : "Pause";
    if (!this.#paused) this.asked.run();
    this.#hint();
  }
}

const COLUMNS = [
  { title: "When", class: "number", cell: (item) => ago(item.time) },
  { title: "Pod", class: "name", cell: (item) => podAnchor(item.pod) },
  { title: "Result", class: "short", cell: (item) => chip(item.result, item.result === "scheduled" ? "good" : "bad") },
  { title: "Node, or why not", class: "fold", cell: (item) => (item.node ? nodeAnchor(item.node) : folded(item.message, String(item.number))) },
  { title: "Score", class: "number", cell: (item) => (item.score ? number(item.score) : "") },
  { title: "Feasible", class: "number", cell: (item) => (item.evaluated ? `${count(item.feasible ?? 0)} of ${count(item.evaluated)}` : "") },
  { title: "Took", class: "number", cell: (item) => millis(took(item) || null) },
  { title: "Profile", class: "short", cell: (item) => item.profile },
];

function rates(found) {
  return [
    { label: "attempts a second", value: number(found.per_s) },
    { label: "p50 of an attempt", value: millis(found.p50_ms || null) },
    { label: "p99 of an attempt", value: millis(found.p99_ms || null) },
  ];
}

/** How long each point takes; what its plugins take of it, the dearest first, unfolds. */
function steps(list) {
  if (!list.length) return null;
  const [points, plugins] = [list.filter((each) => !each.plugin), list.filter((each) => each.plugin)];
  const most = Math.max(1e-9, ...list.map((each) => each.p99_ms ?? 0));
  const groups = [...new Set(plugins.map((each) => each.step))].flatMap((step) => [h("b.head", {}, step), ...plugins.filter((each) => each.step === step).sort((a, b) => (b.p99_ms ?? 0) - (a.p99_ms ?? 0)).flatMap((each) => stepRow(each, most))]);
  const folded_ = groups.length ? h("details", { data: { key: "plugins" } }, h("summary.soft", {}, "by plugin"), h("div.bars", {}, groups)) : null;
  return [h("header", {}, h("h2", {}, "Latency by step"), h("span.soft", {}, "p50 as a bar, p99 as a line")), inside(h("div.bars", {}, points.flatMap((each) => stepRow(each, most))), folded_)];
}

function stepRow(each, most) {
  const name = each.plugin || each.step;
  return [
    h(each.plugin ? "span.label.below" : "span.label", { title: `${count(each.calls ?? 0)} calls` }, name),
    meter((each.p50_ms ?? 0) / most, { mark: (each.p99_ms ?? 0) / most, label: `${name}: p50 ${millis(each.p50_ms)}, p99 ${millis(each.p99_ms)}` }),
    h("span.value", {}, `${millis(each.p50_ms)} · ${millis(each.p99_ms)}`),
  ];
}
