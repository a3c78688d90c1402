// Compare: canaries and shadow, KPIs with intervals, strategies, generations, plugins.
import { ask, repeated } from "./api.js";
import { ago } from "./clock.js";
import { copyJson } from "./copy.js";
import { h, region, svg } from "./dom.js";
import { chip, failure, inside, sheet } from "./parts.js";
import { plainTable } from "./table.js";
import { count, many, millis, number, percent, span } from "./words.js";

const EACH = 5000;
const BREAKERS = { closed: ["closed", "good"], open: ["open: switched off", "bad"], "half-open": ["half-open: on trial", "warn"] };
const VERDICTS = { better: "good", worse: "bad" };

export class CompareView {
  follows = [];
  #data = null;

  constructor(root) {
    this.body = region(h("div.stack"), build);
    this.problem = h("div");
    root.append(h("div.title", {}, h("h1", {}, "Compare"), h("span.push", {}, copyJson(() => this.#data))), this.problem, this.body.element);
    this.asked = repeated((signal) => ask("compare", {}, signal), (data) => this.#answered(data), (error) => this.problem.replaceChildren(failure(error)));
    this.timer = setInterval(() => !document.hidden && this.asked.run(), EACH);
  }

  show() {
    this.asked.run();
  }

  fetch() {
    this.asked.run();
  }

  stop() {
    clearInterval(this.timer);
    this.asked.stop();
  }

  #answered(data) {
    this.#data = data;
    this.problem.replaceChildren();
    this.body.show(data);
  }
}

function build(data) {
  const wide = [...(data.canaries ?? []).map(canary), shadow(data.shadow), kpis(data.kpis ?? [])];
  const pairs = [strategies(data.strategies), generations(data.generations ?? [])].filter(Boolean);
  const all = [...wide, pairs.length ? h("div.halves", {}, pairs) : null, plugins(data.plugins ?? [])].filter(Boolean);
  return all.length ? all : h("p.empty", {}, "Nothing to compare: no canary, no shadow, no custom plugin, one configuration.");
}

const seconds = (value) => (value === null || value === undefined ? "–" : millis(value * 1000));
const WRITTEN = { latency: seconds, wait: seconds, failures: percent, utilisation: percent, balance: percent, spread: percent, agreement: percent };
const written = (kpi, value) => (WRITTEN[kpi] ?? number)(value);

function canary(found) {
  const beside = [chip(found.version ?? "canary"), found.share === undefined ? null : h("span.soft", {}, `${percent(found.share)} of pods`), found.state ? chip(found.state, found.state === "rolled back" ? "bad" : "good") : null, found.look ? h("span.soft", {}, `compared ${found.look === 1 ? "once" : `${count(found.look)} times`}`) : null];
  const rows = (found.findings ?? []).map((each) => [each.kpi, written(each.kpi, each.canary), written(each.kpi, each.stable), chip(each.verdict, VERDICTS[each.verdict]), each.p === null || each.p === undefined ? "" : number(each.p), (each.units ?? []).map(count).join(" / "), each.against ?? ""]);
  const body = rows.length ? plainTable("Canary", ["KPI", "#Canary", "#Stable", "Verdict", "#p", "#Pods of each", "Against it"], rows) : h("p.empty", {}, found.summary ?? found.reason ?? "Not enough pods yet to compare.");
  return sheet(`Canary of ${found.profile ?? "a profile"}`, [found.reason && rows.length ? inside(h("p", {}, found.reason)) : null, body], beside.filter(Boolean));
}

/** What each configuration would have decided, beside what was decided. */
function shadow(found) {
  if (!found) return null;
  const rows = (found.one_step ?? []).map((each) => [h("span.mono", {}, each.configuration), count(each.judged), count(each.placed), count(each.agreeing), each.placed ? percent(each.agreeing / each.placed) : "–", count(each.in_flight ?? 0), count(each.given_up ?? 0)]);
  const gaps = found.unseen_pods ? `${many(found.unseen_pods, "pod")} and ${span(found.unseen_s)} were not seen` : "nothing was missed";
  const body = rows.length ? plainTable("Shadow", ["Configuration", "#Judged", "#Placed", "#Agreeing", "#Agreement", "#In flight", "#Given up"], rows) : h("p.empty", {}, "No pod has been decided since.");
  return sheet("Shadow", body, [h("span.soft", {}, "for ", ago(found.since), `; ${gaps}`)]);
}

/** Each KPI with the mean and interval of every configuration, on a scale of its own. */
function kpis(list) {
  if (!list.length) return null;
  const names = [...new Set(list.flatMap((each) => [each.configurations].flat()))];
  const rows = list.flatMap((each) => {
    const of = [each.configurations].flat().map((name) => names.indexOf(name));
    const [means, lows, highs] = [each.mean, each.low, each.high].map((value) => [value].flat());
    return [h("span.label", {}, each.kpi.replaceAll("_", " ")), intervals(each.kpi, names, of, means, lows, highs), h("span.value", {}, means.map((mean) => written(each.kpi, mean)).join(" / "))];
  });
  const keys = names.map((name, index) => h(index ? "span.key.refused" : "span.key", {}, name));
  return sheet("KPIs", inside(h("div.bars", {}, rows)), keys);
}

function intervals(kpi, names, of, means, lows, highs) {
  const low = Math.min(0, ...lows.map((each, index) => each ?? means[index]));
  const high = WRITTEN[kpi] === percent ? 1 : Math.max(...highs.map((each, index) => each ?? means[index]));
  const at = (value) => 1 + (98 * (value - low)) / (high - low || 1);
  const told = (index) => `${names[of[index]]} ${written(kpi, means[index])}, from ${written(kpi, lows[index])} to ${written(kpi, highs[index])}`;
  const marks = means.flatMap((mean, index) => {
    const y = 5 + index * 9;
    const kind = of[index] ? ".other" : "";
    return [svg(`line.span${kind}`, { x1: `${at(lows[index] ?? mean)}%`, x2: `${at(highs[index] ?? mean)}%`, y1: y, y2: y }), svg(`circle.dot${kind}`, { cx: `${at(mean)}%`, cy: y, r: 3.5 }, svg("title", {}, told(index)))];
  });
  return svg("svg.chart", { height: means.length * 9 + 1, role: "img", "aria-label": means.map((_, index) => told(index)).join("; ") }, marks);
}

function plugins(list) {
  if (!list.length) return null;
  const alike = new Set(list.map((each) => each.profile)).size === 1;
  const rows = list.map((each) => {
    const guarded = Boolean(each.breaker);
    const [text, tone] = BREAKERS[each.breaker] ?? [each.breaker, ""];
    return [h("span.mono", {}, each.name), alike ? "" : each.profile, (each.points ?? []).join(", "), guarded ? chip(text, tone) : "", guarded ? count(each.failures ?? 0) : "", each.deadline_ms ? millis(each.deadline_ms) : "", typeof each.cost_ms_per_attempt === "number" ? millis(each.cost_ms_per_attempt) : ""];
  });
  return sheet("Plugins", plainTable("Plugins", ["Plugin", "Profile", "Extension points", "Breaker", "#Failures", "#Deadline", "#Cost per attempt"], rows));
}

function generations(list) {
  if (!list.length) return null;
  const rows = list.map((each) => h("div.inside", {},
    h("div.title", {}, h("b", {}, `generation ${each.generation}`), each.in_force ? chip("in force", "good") : null, each.source ? h("span.soft.mono", {}, each.source) : null, h("span.push.soft", {}, ago(each.at))),
    each.difference?.length ? h("details", { open: each.in_force, data: { key: `generation${each.generation}` } }, h("summary.soft", {}, "its difference"), h("pre", {}, each.difference.map((line) => h(line.startsWith("+") ? "span.plus" : line.startsWith("-") ? "span.minus" : "span", {}, `${line}\n`)))) : h("p.soft", {}, "the first that was read")));
  return sheet("Configuration", h("div.cards", {}, rows));
}

function strategies(found) {
  const rows = Object.entries(found ?? {}).flatMap(([profile, spaces]) => Object.values(spaces ?? {}).map((each) => [each.namespace, chip(each.goal), `${each.cpu_weight} / ${each.memory_weight}`, each.why, each.since ? ago(each.since) : "", profile]));
  if (!rows.length) return null;
  return sheet("Adaptive strategies", plainTable("Adaptive strategies", ["Namespace", "Goal", "cpu / memory", "Why", "#Since", "Profile"], rows));
}
