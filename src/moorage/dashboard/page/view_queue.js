// Queue: who waits, where, for how long and why; gangs and tenants.
import { ask, repeated, throttled } from "./api.js";
import { ago, now } from "./clock.js";
import { h, region } from "./dom.js";
import { Stats, chip, failure, field, folded, meter, podAnchor } from "./parts.js";
import { copyJson } from "./copy.js";
import { change } from "./route.js";
import { Table } from "./table.js";
import { count, many, number, percent, span } from "./words.js";

const STATES = [["active", "active"], ["backoff", "back-off"], ["unschedulable", "unschedulable"], ["gated", "gated"], ["in_flight", "in flight"], ["waiting_on_permit", "waiting on permit"]];
const NAMES = Object.fromEntries(STATES);
const PAGE = 200;
const MOST = 1000;

export class QueueView {
  follows = ["queue"];
  #query = {};
  #limit = PAGE;
  #data = null;

  constructor(root) {
    this.states = new Stats();
    this.reasons = region(h("section.sheet", { "aria-label": "Why they wait" }), (data) => this.#reasons(data));
    this.gangs = region(h("section.sheet", { "aria-label": "Gangs" }), gangs);
    this.tenants = region(h("section.sheet", { "aria-label": "Tenants" }), tenants);
    this.more = region(h("div.more"), (data) => this.#more(data));
    this.problem = h("div");
    this.table = new Table({ caption: "Pods that wait", columns: COLUMNS, key: (item) => item.pod, empty: "No pod waits here.", stacks: true });
    this.namespace = field("Namespace", "", (namespace) => change({ namespace }, true), "namespace");
    this.q = field("Part of a pod's name", "", (q) => change({ q }, true), "part of a name");
    const bar = h("div.toolbar", {}, this.namespace, this.q, h("span.push"), copyJson(() => this.#data));
    const list = h("section.sheet", { "aria-label": "Pods" }, h("header", {}, h("h2", {}, "Pods that wait"), h("span.soft", {}, "in the order in which they are tried")), this.table.element, this.more.element);
    const side = h("div.stack", {}, this.reasons.element, this.gangs.element, this.tenants.element);
    root.append(h("h1.skip", {}, "Queue"), this.states.element, bar, this.problem, h("div.columns", {}, list, side));
    this.asked = repeated((signal) => ask("queue", { ...this.#query, limit: this.#limit }, signal), (data) => this.#answered(data), (error) => this.problem.replaceChildren(failure(error)));
    this.soon = throttled(2000, () => this.asked.run());
  }

  show({ query }) {
    const { state, namespace, reason, q } = query;
    this.#query = { state, namespace, reason, q };
    this.#limit = PAGE;
    if (document.activeElement !== this.namespace) this.namespace.value = namespace ?? "";
    if (document.activeElement !== this.q) this.q.value = q ?? "";
    this.asked.anew();
  }

  fetch() {
    this.asked.run();
  }

  heard(kind, data) {
    if (kind !== "queue") return;
    if (data.counts) this.#states(data.counts);
    this.soon();
  }

  stop() {
    this.asked.stop();
    this.soon.stop();
  }

  #answered(data) {
    this.#data = data;
    this.problem.replaceChildren();
    this.#states(data.counts);
    this.table.show(data.items.map(steady));
    this.reasons.show({ reasons: data.reasons ?? [], reason: this.#query.reason });
    this.gangs.show(data.gangs ?? []);
    this.tenants.show(data.tenants ?? []);
    this.more.show({ on: Boolean(data.continue), shown: data.items.length, total: data.total });
  }

  #states(counts) {
    this.states.show(STATES.filter(([each]) => counts[each] !== undefined).map(([each, label]) => ({
      label, value: counts[each], pressed: this.#query.state === each, press: () => change({ state: this.#query.state === each ? "" : each }),
    })));
  }

  #reasons({ reasons, reason }) {
    if (!reasons.length) return null;
    const rows = reasons.map((each) => h("button.quiet.reason-pick", {
      type: "button", "aria-pressed": String(reason === each.reason), data: { key: each.reason }, on: { click: () => change({ reason: reason === each.reason ? "" : each.reason }) },
    }, h("b", {}, count(each.pods)), h("span", {}, each.reason)));
    return [h("header", {}, h("h2", {}, "Why they wait"), reason ? h("button.quiet.push", { type: "button", on: { click: () => change({ reason: "" }) } }, "all") : null), h("div.reasons", {}, rows)];
  }

  #more({ on, shown, total }) {
    if (!on) return null;
    if (shown >= MOST) return h("span.soft", {}, `The first ${count(shown)}${total ? ` of ${count(total)}` : ""}: filter to see others.`);
    return h("button", { type: "button", on: { click: () => { this.#limit = MOST; this.asked.anew(); } } }, "Show more");
  }
}

/** Ages rounded into moments, so that rows do not change at every look. */
function steady(item) {
  return { ...item, age_s: undefined, backoff_s: Math.ceil((item.backoff_s ?? 0) / 5) * 5, since: Math.round((now() - item.age_s) / 4) * 4 };
}

const COLUMNS = [
  { title: "Place", class: "number", cell: (item) => (item.place === null || item.place === undefined ? "" : count(item.place)) },
  { title: "Pod", class: "name", cell: (item) => podAnchor(item.pod) },
  { title: "State", class: "short", cell: (item) => chip(NAMES[item.state] ?? item.state, item.state === "unschedulable" ? "bad" : item.state === "backoff" ? "warn" : "") },
  { title: "Age", class: "number", cell: (item) => ago(item.since) },
  { title: "Attempts", class: "number", cell: (item) => count(item.attempts ?? 0) },
  { title: "Priority", class: "number", cell: (item) => number(item.priority ?? 0) },
  { title: "Reason", class: "fold", cell: reason },
];

/** What is known of its waiting, and what the scheduler said, folded. */
function reason(item) {
  const facts = [item.group ? `gang ${item.group}` : "", item.nominated ? `nominated ${item.nominated}` : "", item.backoff_s > 0 ? `back-off ends in ${span(item.backoff_s)}` : ""].filter(Boolean);
  if (!item.reason) return [...facts, item.waits_for].filter(Boolean).join(" · ");
  return [facts.length ? h("div", {}, facts.join(" · ")) : null, folded(item.reason, item.pod)];
}

const GANGS = { held: "waits for its pods", released: "waits for room", "backing off": "back-off", evicting: "waits for victims to leave" };

function gangs(list) {
  if (!list.length) return null;
  const rows = list.map((gang) => {
    const wanted = Math.max(gang.min_member ?? 0, gang.members ?? 0, 1);
    return h("div.inside", {},
      h("div.title", {}, h("span.mono", {}, gang.group), chip(GANGS[gang.state] ?? gang.state, gang.bound >= gang.min_member ? "good" : "warn"), h("span.push.soft", {}, `${count(gang.bound)} of ${many(gang.min_member, "member")} bound`)),
      meter(gang.bound / wanted, { mark: gang.min_member < wanted ? gang.min_member / wanted : null, label: `${gang.bound} of ${gang.min_member} bound` }),
      gang.reason ? h("p.soft", {}, gang.reason) : null);
  });
  return [h("header", {}, h("h2", {}, "Gangs")), h("div.cards", {}, rows)];
}

function tenants(list) {
  if (!list.length) return null;
  const rows = list.map((tenant) => h("div.inside", {},
    h("div.title", {}, h("span.mono", {}, tenant.name), tenant.fair_share === null || tenant.fair_share === undefined ? null : h("span.push.soft", {}, `share ${percent(tenant.fair_share)}`)),
    h("div.bars.even", {}, Object.entries(tenant.quota ?? {}).flatMap(([resource, quota]) => quotaRow(resource, quota, tenant.borrowed?.[resource])))));
  return [h("header", {}, h("h2", {}, "Tenants"), h("span.soft", {}, "the line is what each is sure of")), h("div.cards", {}, rows)];
}

function quotaRow(resource, { min, max, used }, borrowed) {
  const whole = max || Math.max(used ?? 0, min ?? 0) || 1;
  const text = `${number(used)} of ${max ? number(max) : "any"}${borrowed ? `, ${number(borrowed)} borrowed` : ""}`;
  return [h("span.label", {}, resource), meter((used ?? 0) / whole, { over: Boolean(borrowed), mark: min ? min / whole : null, label: `${resource}: ${text}` }), h("span.value", {}, text)];
}
