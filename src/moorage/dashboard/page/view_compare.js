// Compare: canaries and shadow, KPIs with intervals, strategies, generations, plugins.
import { ask, repeated } from "./api.js";
import { ago } from "./clock.js";
import { copyJson } from "./copy.js";
import { h, region, svg } from "./dom.js";
import { chip, failure, inside, sheet } from "./parts.js";
import { plainTable } from "./table.js";
import { count, millis, number, percent } from "./words.js";

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
  const pairs = [generations(data.generations ?? []), strategies(data.strategies)].filter(Boolean);
  const all = [...wide, plugins(data.plugins ?? []), pairs.length ? h("div.halves", {}, pairs) : null].filter(Boolean);
  return all.length ? all : h("p.empty", {}, "Nothing to compare: no canary, no shadow, no custom plugin, one configuration.");
}

function canary(found) {
  const beside = [chip(found.version ?? "canary"), found.share === undefined ? null : h("span.soft", {}, `${percent(found.share)} of pods`), found.state ? chip(found.state, found.state === "rolled back" ? "bad" : "") : null, found.look ? h("span.soft", {}, `look ${found.look}`) : null];
  const rows = (found.findings ?? []).map((each) => [each.kpi, number(each.canary), number(each.stable), chip(each.verdict, VERDICTS[each.verdict]), each.p === null || each.p === undefined ? "" : number(each.p), (each.units ?? []).map(count).join(" / "), each.against ?? ""]);
  const body = rows.length ? plainTable("Canary", ["KPI", "#Canary", "#Stable", "Verdict", "#p", "#Pods of each", "Against it"], rows) : h("p.empty", {}, found.summary ?? found.reason ?? "Not enough pods yet to compare.");
  return sheet(`Canary of ${found.profile ?? "a profile"}`, body, beside.filter(Boolean));
}

function shadow(found) {
  if (!found) return null;
  const rows = (found.one_step ?? []).map((each) => Object.entries(each).filter(([, value]) => typeof value !== "object").map(([name, value]) => h("span", {}, `${name.replaceAll("_", " ")} ${number(value)}  `)));
  const facts = Object.entries(found).filter(([, value]) => typeof value !== "object" && value !== "");
  return sheet("Shadow", inside(h("dl.facts", {}, facts.flatMap(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, number(value))])), ...rows.map((row) => h("p", {}, row))));
}

/** Each KPI with the mean and interval of every configuration, on a scale of its own. */
function kpis(list) {
  if (!list.length) return null;
  const rows = list.flatMap((each) => {
    const names = [each.configurations].flat();
    const [means, lows, highs] = [each.mean, each.low, each.high].map((value) => [value].flat());
    return [h("span.label", {}, each.kpi), intervals(names, means, lows, highs), h("span.value", {}, means.map(number).join(" / "))];
  });
  const names = [list[0].configurations].flat();
  const keys = names.map((name, index) => h(index ? "span.key.refused" : "span.key", {}, name));
  return sheet("KPIs", inside(h("div.bars", {}, rows)), keys);
}

function intervals(names, means, lows, highs) {
  const low = Math.min(...lows.map((each, index) => each ?? means[index]));
  const high = Math.max(...highs.map((each, index) => each ?? means[index]));
  const at = (value) => 2 + (96 * (value - low)) / (high - low || 1);
  const tall = names.length * 9;
  const marks = names.flatMap((name, index) => {
    const y = 5 + index * 9;
    const kind = index ? ".other" : "";
    return [svg(`line.span${kind}`, { x1: `${at(lows[index] ?? means[index])}%`, x2: `${at(highs[index] ?? means[index])}%`, y1: y, y2: y }), svg(`circle.dot${kind}`, { cx: `${at(means[index])}%`, cy: y, r: 3.5 }, svg("title", {}, `${name}: ${number(means[index])} (${number(lows[index])} to ${number(highs[index])})`))];
  });
  return svg("svg.chart", { height: tall, role: "img", "aria-label": names.map((name, index) => `${name} ${number(means[index])}, from ${number(lows[index])} to ${number(highs[index])}`).join("; ") }, marks);
}

function plugins(list) {
  if (!list.length) return null;
  const rows = list.map((each) => {
    const [text, tone] = BREAKERS[each.breaker] ?? [each.breaker || "not guarded", ""];
    return [h("span.mono", {}, each.name), each.profile, (each.points ?? []).join(", "), chip(text, tone), count(each.failures ?? 0), each.deadline_ms ? millis(each.deadline_ms) : "–", millis(each.cost_ms_per_attempt)];
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
