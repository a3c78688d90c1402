// Health: the leader, the watches, the feeds, the API server, and what is wrong with any of them.
import { ask, repeated, throttled } from "./api.js";
import { aged } from "./clock.js";
import { h, region } from "./dom.js";
import { chip, failure, inside, sheet, stats } from "./parts.js";
import { copyJson } from "./copy.js";
import { plainTable } from "./table.js";
import { count, millis, number, span } from "./words.js";

const EACH = 5000;
const LEADER = { identity: "this process", leading: "leads", holder: "holder of the lease", left_s: "lease ends in" };

export class HealthView {
  follows = ["health"];
  #data = null;

  constructor(root) {
    this.body = region(h("div.stack"), build);
    this.problem = h("div");
    root.append(h("div.title", {}, h("h1", {}, "Health"), h("span.push", {}, copyJson(() => this.#data))), this.problem, this.body.element);
    this.asked = repeated((signal) => ask("health", {}, signal), (data) => this.#answered(data), (error) => this.problem.replaceChildren(failure(error)));
    this.soon = throttled(2000, () => this.asked.run());
    this.timer = setInterval(() => !document.hidden && this.asked.run(), EACH);
  }

  show() {
    this.asked.run();
  }

  fetch() {
    this.asked.run();
  }

  heard(kind) {
    if (kind === "health") this.soon();
  }

  stop() {
    clearInterval(this.timer);
    this.asked.stop();
    this.soon.stop();
  }

  #answered(data) {
    this.#data = data;
    this.problem.replaceChildren();
    this.body.show(data);
  }
}

function build(data) {
  if (["alerts", "checks", "watches", "feeds"].every((part) => !data[part]?.length)) return h("p.empty", {}, "Nothing to watch over: a run that has ended has no leader, no watches and no feeds.");
  return [
    alerts(data.alerts ?? []),
    checks(data.checks ?? []),
    h("div.halves", {}, [api(data.api), leader(data.leader), watches(data.watches ?? []), feeds(data.feeds ?? [])].filter(Boolean)),
  ].filter(Boolean);
}

function alerts(list) {
  if (!list.length) return h("p.good", {}, "Nothing is wrong.");
  const rows = list.map((alert) => h("div.inside", {}, h("div.title", {}, chip(alert.severity, alert.severity === "critical" ? "bad" : "warn"), h("span", {}, alert.text)), alert.remedy ? h("p.soft", {}, alert.remedy) : null));
  return sheet("Alerts", h("div.cards", {}, rows));
}

function checks(list) {
  if (!list.length) return null;
  return sheet("Checks", h("div.inside.chips", {}, list.map((check) => h(check.ok ? "span.chip.good" : "span.chip.bad", { title: check.text }, `${check.ok ? "✓" : "✗"} ${check.name}${check.ok || !check.text ? "" : `: ${check.text}`}`))));
}

function api(found) {
  if (!found || found.p50_ms === null || found.p50_ms === undefined) return null;
  return sheet("API server", inside(stats([{ label: "p50", value: millis(found.p50_ms) }, { label: "p99", value: millis(found.p99_ms) }, { label: "errors a second", value: number(found.errors_per_s ?? 0) }])));
}

function leader(found) {
  const facts = Object.entries(found ?? {}).filter(([, value]) => value !== null && value !== "");
  if (!facts.length) return null;
  return sheet("Leader", inside(h("dl.facts", {}, facts.flatMap(([name, value]) => [h("dt", {}, LEADER[name] ?? name), h("dd", {}, name === "left_s" ? span(value) : typeof value === "boolean" ? (value ? "yes" : "no") : String(value))]))));
}

function watches(list) {
  if (!list.length) return null;
  return sheet("Watches", plainTable("Watches", ["Resource", "State", "#Last heard", "#Relists"], list.map((each) => [h("span.mono", {}, each.resource), each.state, each.age_s === null ? "–" : aged(each.age_s), count(each.relists ?? 0)])));
}

function feeds(list) {
  if (!list.length) return null;
  return sheet("Feeds", plainTable("Feeds", ["Feed", "State", "#Age"], list.map((each) => [h("span.mono", {}, each.name), chip(each.ok ? "fresh" : "stale", each.ok ? "good" : "bad"), each.age_s === null ? "never" : aged(each.age_s)])));
}
