// One node: its room, its pods, its taints and labels, and what it refuses.
import { ask, repeated, throttled } from "./api.js";
import { aged } from "./clock.js";
import { h, region } from "./dom.js";
import { copyCommand, copyJson, describeNode } from "./copy.js";
import { chip, failure, inside, meter, podAnchor, refusals } from "./parts.js";
import { link } from "./route.js";
import { plainTable } from "./table.js";
import { count, many } from "./words.js";

const SHOWN = 60;

export class NodePanel {
  #name = "";
  #data = null;

  constructor(close) {
    this.close = close;
    this.body = region(h("div"), (data) => this.#build(data));
    this.element = h("aside.sheet.panel", { "aria-label": "Node" }, this.body.element);
    this.asked = repeated((signal) => ask(`node/${encodeURIComponent(this.#name)}`, {}, signal), (data) => this.#answered(data), (error) => this.body.show({ name: this.#name, error: error.message }));
    this.soon = throttled(2000, () => this.#name && this.asked.run());
    this.element.addEventListener("keydown", (event) => event.key === "Escape" && close());
  }

  /** Show this node, or nothing. */
  show(name) {
    if (name === this.#name) return;
    this.#name = name;
    this.asked.stop();
    if (name) {
      this.body.show({ name });
      this.asked.run();
    }
  }

  fetch() {
    if (this.#name) this.asked.run();
  }

  /** The cluster changed: was it this node? */
  changed(rows, rowOf) {
    if (this.#name && (!rows || rows.includes(rowOf.get(this.#name)))) this.soon();
  }

  stop() {
    this.asked.stop();
    this.soon.stop();
  }

  #answered(data) {
    this.#data = data;
    this.body.show(data);
  }

  #build(data) {
    const head = h("div.title", {}, h("h2.mono", {}, data.name), h("span.push", {}, h("button.quiet", { type: "button", "aria-label": "Close", data: { key: "close" }, on: { click: this.close } }, "✕")));
    if (data.error) return [head, failure(new Error(data.error))];
    if (!data.room) return [head, h("p.empty", {}, "…")];
    return [
      head,
      inside(h("div.chips", {}, state(data)), h("div.toolbar.gap", {}, copyCommand(describeNode(data.name)), copyJson(() => this.#data), h("a", { href: link("decisions", [], { node: data.name }) }, "decisions for it"))),
      part("Room", room(data.room)),
      data.gpus?.length ? part("GPUs", gpus(data.gpus)) : null,
      data.taints?.length ? part("Taints", h("div.chips", {}, data.taints.map((taint) => chip(taint)))) : null,
      data.refuses?.length ? part("What it refuses", h("p.soft", {}, "of the pods that wait"), refusals(data.refuses, "pods", "pod")) : null,
      part(many(data.pods.length, "pod"), pods(data.pods)),
      h("div.inside", {}, h("details", { data: { key: "labels" } }, h("summary", {}, h("span.soft", {}, `${many(Object.keys(data.labels ?? {}).length, "label")}`)), h("dl.facts", {}, Object.entries(data.labels ?? {}).flatMap(([key, value]) => [h("dt.mono", {}, key), h("dd.mono", {}, value)])))),
    ].filter(Boolean);
  }
}

const part = (title, ...children) => h("div.inside", {}, h("h3", {}, title), ...children);

function state(data) {
  const conditions = (data.conditions ?? []).map((each) => (typeof each === "string" ? each : `${each.type}=${each.status}`));
  return [data.unschedulable ? chip("cordoned", "bad") : null, ...conditions.map((text) => chip(text))];
}

function room(resources) {
  return h("div.bars", {}, Object.entries(resources).filter(([, each]) => amount(each.allocatable) > 0).flatMap(([resource, each]) => {
    const part_ = amount(each.requested) / amount(each.allocatable);
    return [h("span.label", {}, resource), meter(part_, { label: `${resource}: ${each.requested} of ${each.allocatable} requested` }), h("span.value", {}, `${each.free} free of ${each.allocatable}`)];
  }));
}

const UNITS = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };

/** A quantity as a number, for the length of a bar. */
function amount(quantity) {
  if (typeof quantity === "number") return quantity;
  const [, digits, unit] = /^([\d.eE+-]+?)([a-zA-Z]*)$/.exec(quantity ?? "") ?? [];
  return Number(digits ?? 0) * (UNITS[unit] ?? 1);
}

function gpus(list) {
  return h("div.gpus", {}, list.map((gpu) => meter(gpu.milli_used / 1000, { label: `GPU ${gpu.index}: ${gpu.milli_used / 10}% used${gpu.pods?.length ? ` by ${gpu.pods.join(", ")}` : ""}` })));
}

function pods(list) {
  if (!list.length) return h("p.soft", {}, "None.");
  const rows = list.slice(0, SHOWN).map((pod) => [podAnchor(pod.pod), Object.entries(pod.requests ?? {}).map(([resource, asked]) => `${resource} ${asked}`).join(", "), pod.age_s === null || pod.age_s === undefined ? "" : aged(pod.age_s)]);
  return h("div", {}, plainTable("Pods on this node", ["Pod", "Requests", "#Age"], rows), list.length > SHOWN ? h("p.soft", {}, `and ${count(list.length - SHOWN)} more`) : null);
}
