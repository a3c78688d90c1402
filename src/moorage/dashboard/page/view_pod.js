// Pod: the story of its attempts, why here and why not there, the smallest change that helps, who makes room for whom.
import { ask, repeated, throttled } from "./api.js";
import { scoreBars, stepBars } from "./bars.js";
import { aged, ago } from "./clock.js";
import { changeCommand, copyCommand, copyJson, describePod, explainPod } from "./copy.js";
import { h, region } from "./dom.js";
import { chip, failure, inside, nodeAnchor, refusals, sheet } from "./parts.js";
import { preemption } from "./preemption.js";
import { link } from "./route.js";
import { count, many, millis, number, took } from "./words.js";

const EACH = 4000;
const TONES = { bound: "good", placed: "good", scheduled: "good", unschedulable: "bad", backoff: "warn", gated: "warn", pending: "warn" };

export class PodView {
  follows = ["decisions"];
  #pod = "";
  #data = null;

  constructor(root) {
    this.body = region(h("div.stack"), (data) => (data.error ? failed(this.#pod, data.error) : this.#build(data)));
    root.append(this.body.element);
    const path = () => `pod/${this.#pod.split("/").map(encodeURIComponent).join("/")}`;
    const failing = (error) => this.body.show({ error: error.message });
    this.asked = repeated((signal) => ask(path(), {}, signal), (data) => this.#answered(data), failing);
    this.explained = repeated((signal) => ask(path(), { explain: 1 }, signal), (data) => this.#told(data), failing);
    this.soon = throttled(1500, () => this.asked.run());
    this.timer = setInterval(() => !document.hidden && this.#data?.state !== "bound" && this.asked.run(), EACH);
  }

  show({ parts }) {
    const pod = parts.join("/");
    if (pod !== this.#pod) this.#data = null;
    this.#pod = pod;
    this.explained.stop();
    this.asked.anew();
  }

  fetch() {
    this.asked.run();
  }

  heard(kind, data) {
    if (kind === "decisions" && data.items?.some((each) => each.pod === this.#pod)) this.soon();
  }

  stop() {
    clearInterval(this.timer);
    this.asked.stop();
    this.explained.stop();
    this.soon.stop();
  }

  /** First what is known at once; then, as it takes longer, the explanation. */
  #answered(data) {
    if (!this.#data) this.body.show({ ...data, asking: asks(data) });
    this.#data ??= data;
    if (asks(data)) this.explained.run();
    else this.#told(data);
  }

  #told(data) {
    this.#data = data;
    this.body.show(data);
  }

  #build(data) {
    const told = data.explanation;
    const left = [data.state === "gone" ? gone(data) : words(data, told), told?.changes?.length ? helps(data.pod, told.changes) : null, scores(data, told), told?.refusals?.length ? refused(data.pod, told.refusals) : null];
    const right = [story(data.attempts ?? []), data.state === "gone" ? null : preemption(data), events(data.events ?? [])];
    return [
      h("div.title", {}, h("h1.mono", {}, data.pod), chip(data.state, TONES[data.state]), data.node ? h("span", {}, "on ", nodeAnchor(data.node)) : null,
        h("span.push", {}, copyCommand(explainPod(data.pod), "Copy explain"), copyCommand(describePod(data.pod)), copyJson(() => this.#data))),
      h("div.columns", {}, h("div.stack", {}, left), h("div.stack", {}, right)),
    ];
  }
}

function failed(pod, error) {
  return [h("h1.mono", {}, pod), failure(new Error(error)), h("p", {}, h("a", { href: link("decisions", [], { pod }) }, "What was decided for it"))];
}

/** Nothing is explained of a pod that is no more. */
const asks = (data) => !data.explain_off && data.state !== "gone";

/** Why it is no more, where that is known: it had to leave. */
function gone(data) {
  return preemption(data) ?? sheet("Why", inside(h("p.soft", {}, "It is gone, and was not made to leave as far as is remembered.")));
}

/** Why it is where it is, or why it waits: as `moorage explain` says it. */
function words(data, told) {
  if (!told) return sheet("Why", inside(h("p.soft", {}, data.asking ? "Trying every node …" : data.explain_off || "There is no explanation here.")));
  const placed = told.state === "placed";
  const lines = placed
    ? [told.runner_up ? h("p", {}, `${lead(told.margin)} `, nodeAnchor(told.runner_up), ", the next best") : h("p", {}, "no other node takes it"), told.decided_by.length ? h("p", {}, `decided by ${told.decided_by.join(", ")}: without it, another would win`) : null]
    : [h("p", {}, told.message), ...told.in_words.map((each) => h("p.soft", {}, `It ${each}.`)), ...told.waits_for.map((each) => h("p", {}, `It waits for ${each}.`.replace("..", "."))), told.queue_place ? h("p.soft", {}, `Place ${count(told.queue_place[0])} of ${count(told.queue_place[1])} in the queue.`) : null];
  return sheet(placed ? "Why here" : "Why it waits", inside(...lines));
}

function lead(margin) {
  if (margin === 0) return "no better than";
  return margin > 0 ? `${many(margin, "point")} ahead of` : `${many(-margin, "point")} behind`;
}

function helps(pod, changes) {
  const rows = changes.map((change) => {
    const command = changeCommand(pod, change);
    return h("li", {}, h("span", {}, change.summary), change.node ? h("span.soft", {}, "  → ", h("span.mono", {}, change.node)) : null, h("span.acts", {}, command ? copyCommand(command, "kubectl") : null, copyJson(change.patch, "patch")));
  });
  return sheet("What would help, the smallest first", inside(h("ol.helps", {}, rows), h("p.soft", {}, "Each was tried on the cluster as it is.")));
}

function scores(data, told) {
  const last = (data.attempts ?? []).findLast((each) => each.scores && Object.keys(each.scores).length);
  const found = told && Object.keys(told.scores ?? {}).length ? ordered(told) : last ? { [last.node]: last.scores, ...(last.runners_up ?? {}) } : null;
  if (!found) return null;
  return sheet("Scores by plugin", inside(scoreBars(found)), [h("span.soft", {}, "weighted; what sets nodes apart first")]);
}

const ordered = (told) => Object.fromEntries([told.node, ...Object.keys(told.scores).filter((node) => node !== told.node)].filter((node) => told.scores[node]).map((node) => [node, told.scores[node]]));

function refused(pod, list) {
  return sheet("Why not there", inside(refusals(list)), [h("a", { href: link("cluster", [], { colour: "verdict", pod }) }, "on the map")]);
}

/** Its attempts, the last first. */
function story(attempts) {
  if (!attempts.length) return sheet("Attempts", h("p.empty", {}, "Not tried yet, or no longer remembered."));
  const rows = attempts.toReversed().map((each) => h(each.result === "scheduled" ? "li.placed" : "li", {},
    h("div.title", {}, h("b", {}, each.result), each.node ? nodeAnchor(each.node) : null, h("span.push.soft", {}, ago(each.time))),
    h("p.soft", {}, facts(each)),
    each.message ? h("p", {}, each.message) : null,
    each.nominated ? h("p", {}, "nominated ", nodeAnchor(each.nominated), `, ${many(each.victims ?? 0, "victim")}`) : null,
    Object.keys(each.steps ?? {}).length ? h("details", { data: { key: `steps${each.attempt}` } }, h("summary.soft", {}, `${millis(took(each))} by step`), stepBars(each.steps)) : null));
  return sheet("Attempts", inside(h("ol.story", {}, rows)));
}

function facts(each) {
  const told = [`attempt ${count(each.attempts ?? 1)}`, each.profile, each.score ? `score ${number(each.score)}` : "", each.evaluated ? `${count(each.feasible ?? 0)} of ${count(each.evaluated)} nodes feasible` : "", each.bound_ms ? `bound after ${millis(each.bound_ms)}` : ""];
  return told.filter(Boolean).join(" · ");
}

function events(list) {
  if (!list.length) return null;
  return sheet("Events", h("div.cards", {}, list.map((event) => (typeof event === "string" ? inside(h("p", {}, event)) : inside(h("div.title", {}, chip(event.reason ?? event.type, event.type === "Warning" ? "warn" : ""), event.age_s === undefined ? null : h("span.push.soft", {}, aged(event.age_s))), h("p", {}, event.message ?? ""))))));
}
