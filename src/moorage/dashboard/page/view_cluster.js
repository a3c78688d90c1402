// Cluster: every node as a tile, coloured and grouped as one likes, or as a table; a click shows the node.
import { ask, repeated, throttled } from "./api.js";
import { h } from "./dom.js";
import { copyJson } from "./copy.js";
import { Legend } from "./legend.js";
import { NodePanel } from "./node_panel.js";
import { NodeTable } from "./node_table.js";
import { choice, failure, field } from "./parts.js";
import { change } from "./route.js";
import { WAYS, coloured, known } from "./tile_colours.js";
import { grouped, laidOut } from "./tile_layout.js";
import { TileMap } from "./tile_map.js";
import { count, many, percent } from "./words.js";

const PATCHED = ["allocation", "cpu", "memory", "gpu", "gpu_fragmentation", "usage", "price", "tenant", "pods", "ready", "tainted"];

export class ClusterView {
  follows = ["cluster"];
  #query = {};
  #asked = "";
  #cluster = null;
  #shape = "";
  #colours = null;
  #rowOf = new Map();

  constructor(root) {
    this.root = root;
    this.map = new TileMap({
      chosen: (row) => change({ node: this.#cluster.nodes.name[row] }),
      pointed: (row, x, y) => this.#pointed(row, x, y),
      sized: () => this.#place(),
    });
    this.controls = h("div.toolbar");
    this.legend = new Legend((band) => change({ band }));
    this.hover = h("div.hover", { hidden: true });
    this.spoken = h("p.skip", { "aria-live": "polite" });
    this.problem = h("div");
    this.heading = h("header");
    this.ground = h("div.ground", {}, this.map.canvas, this.#zoomer(), this.hover);
    this.help = h("p.skip", { id: "map-help" }, "Arrow keys go from node to node, Enter opens one, plus and minus zoom, 0 shows all. The table has the same nodes.");
    this.sheet = h("section.sheet.map", { "aria-label": "Nodes as tiles" }, this.heading, this.legend.element, this.ground, this.help, this.spoken);
    this.table = new NodeTable();
    this.panel = new NodePanel(() => change({ node: "" }));
    this.body = h("div.cluster", {}, this.sheet);
    this.q = field("Part of a node's name", "", (q) => change({ q }, true), "part of a node's name");
    this.pod = field("The pod whose verdicts are shown", "", (pod) => change({ pod }, true), "namespace/pod");
    root.append(h("h1.skip", {}, "Cluster"), this.controls, this.problem, this.body);
    this.asked = repeated((signal) => ask("cluster", this.#question(), signal), (data) => this.#answered(data), (error) => this.problem.replaceChildren(failure(error)));
    this.again = throttled(2000, () => this.asked.run());
    this.repaint = throttled(150, () => this.#paint());
    this.onTheme = () => this.#cluster && this.#paint();
    document.addEventListener("themechange", this.onTheme);
  }

  show({ query }) {
    this.#query = { colour: "allocation", by: "zone", as: "tiles", ...query };
    if (!(this.#query.colour in WAYS)) this.#query.colour = "allocation";
    for (const [input, name] of [[this.q, "q"], [this.pod, "pod"]]) if (document.activeElement !== input) input.value = query[name] ?? "";
    const asked = JSON.stringify(this.#question());
    if (asked !== this.#asked || !this.#cluster) {
      this.#asked = asked;
      this.asked.anew();
    } else {
      this.#all();
    }
    this.panel.show(query.node ?? "");
    this.#hold([this.#query.as === "table" ? this.table.element : this.sheet, query.node ? this.panel.element : null].filter(Boolean));
    this.body.classList.toggle("with-panel", Boolean(query.node));
    this.root.classList.toggle("fixed", this.#query.as !== "table");
  }

  /** These parts and no others; what is there already stays, and keeps the focus. */
  #hold(parts) {
    for (const each of [...this.body.children]) if (!parts.includes(each)) each.remove();
    if (parts[0] !== this.body.firstChild) this.body.prepend(parts[0]);
    if (parts[1] && parts[1] !== this.body.lastChild) this.body.append(parts[1]);
  }

  fetch() {
    this.asked.run();
    this.panel.fetch();
  }

  stop() {
    this.asked.stop();
    this.again.stop();
    this.repaint.stop();
    this.map.stop();
    this.panel.stop();
    document.removeEventListener("themechange", this.onTheme);
  }

  heard(kind, data) {
    if (kind !== "cluster" || !this.#cluster) return;
    const missed = data.snapshot || !data.rows || data.layout !== this.#cluster.layout || data.since > this.#cluster.revision;
    if (missed) this.again();
    else this.#patch(data);
    if (this.#query.colour === "verdict") this.again();
    this.panel.changed(data.rows, this.#rowOf);
  }

  #question() {
    const verdict = this.#query.colour === "verdict" ? this.#query.pod : "";
    return { label: this.#query.by?.startsWith("label:") ? this.#query.by.slice(6) : "", pod: verdict };
  }

  #answered(cluster) {
    this.#cluster = cluster;
    this.#rowOf = new Map(cluster.nodes.name.map((name, row) => [name, row]));
    this.problem.replaceChildren();
    this.#all();
  }

  #patch({ revision, rows, columns }) {
    const { nodes } = this.#cluster;
    this.#cluster.revision = revision;
    for (const name of PATCHED) {
      const values = columns[name];
      if (!values || !nodes[name]) continue;
      for (const [index, row] of rows.entries()) if (row < nodes.name.length) nodes[name][row] = values[index];
    }
    this.repaint();
  }

  #all() {
    if (!this.#cluster) return;
    this.#controls();
    this.#place();
    this.#paint();
  }

  #controls() {
    const { nodes, labels = [] } = this.#cluster;
    const ways = Object.keys(WAYS).filter((way) => known(way, nodes)).map((way) => [way, WAYS[way].label]);
    const groups = [["zone", "zone"], ["pool", "pool"], ["none", "nothing"], ...labels.map((label) => [`label:${label}`, label])];
    if (!groups.some(([by]) => by === this.#query.by)) groups.push([this.#query.by, this.#query.by.replace("label:", "")]);
    const asks = JSON.stringify([ways, groups, this.#query.colour, this.#query.by, this.#query.as]);
    if (asks === this.controls.dataset.asks) return;
    this.controls.dataset.asks = asks;
    const typing = document.activeElement;
    this.controls.replaceChildren(
      choice("Colour by", ways, this.#query.colour, (colour) => change({ colour, band: "" })),
      ...(this.#query.colour === "verdict" ? [this.pod] : []),
      choice("Group by", groups, this.#query.by, (by) => change({ by })),
      this.q,
      h("span.push"),
      this.#switch(),
      copyJson(() => this.#cluster),
    );
    for (const input of [this.q, this.pod]) if (typing === input) input.focus();
  }

  #switch() {
    const button = (as, text) => h("button", { type: "button", "aria-pressed": String(this.#query.as === as), on: { click: () => change({ as }) } }, text);
    return h("div.switch", { role: "group", "aria-label": "Shown as" }, button("tiles", "Tiles"), button("table", "Table"));
  }

  #zoomer() {
    const button = (text, label, press) => h("button", { type: "button", "aria-label": label, title: label, on: { click: press } }, text);
    return h("div.zoom", {}, button("+", "Closer", () => this.map.zoom(1.6)), button("−", "Farther", () => this.map.zoom(1 / 1.6)), button("All", "All nodes", () => this.map.whole()));
  }

  #column() {
    const { by } = this.#query;
    if (by === "none") return null;
    return this.#cluster.nodes[by.startsWith("label:") ? "label" : by] ?? null;
  }

  /** Where tiles stand: worked out anew only when nodes, groups or the window have changed. */
  #place() {
    if (!this.#cluster || !this.map.width || this.#query.as === "table") return;
    const { nodes } = this.#cluster;
    const who = `${nodes.name.length} ${nodes.name[0]} ${nodes.name.at(-1)} ${this.#query.by}`;
    const shape = `${who} ${this.map.width} ${this.map.height}`;
    if (shape === this.#shape) return;
    const anew = !this.#shape.startsWith(who);
    this.#shape = shape;
    const rows = inOrder(nodes);
    this.map.place(laidOut(grouped(rows, this.#column()), this.map.width, this.map.height - 4, rows.length, unit()), anew);
  }

  #paint() {
    if (!this.#cluster) return;
    const { nodes } = this.#cluster;
    this.#colours = coloured(this.#query.colour, this.#cluster);
    this.#headline(nodes);
    if (this.#query.as === "table") {
      this.table.show(this.#cluster, this.#query, this.#matching());
      return;
    }
    this.legend.show(this.#colours, this.#query.band);
    const style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(name).trim();
    const matches = this.#matching();
    const way = WAYS[this.#query.colour];
    this.map.paint({
      palette: this.#colours.palette,
      codes: this.#colours.codes,
      dim: matches ? (row) => !matches[row] : () => false,
      struck: (row) => !nodes.ready[row],
      label: (row) => nodes.name[row],
      values: (row) => [way.kinds ? this.#worded(row) : `${way.label} ${way.write(nodes[way.column][row])}`, `cpu ${percent(nodes.cpu[row])}`, `memory ${percent(nodes.memory[row])}`, many(nodes.pods[row], "pod")],
      head: (group) => [group.name, this.#about(group)],
      chosen: this.#rowOf.get(this.#query.node) ?? -1,
      font: named("--sans"), unit: unit(), small: Math.round(12 * unit()), ink: named("--ink"), soft: named("--soft"), ground: named("--sheet"), strike: named("--bad"),
    });
    this.map.canvas.setAttribute("aria-label", `${many(nodes.name.length, "node")} coloured by ${way.label}`);
  }

  #headline(nodes) {
    const away = nodes.ready.filter((ready) => !ready).length;
    const total = (column) => column.reduce((sum, each) => sum + (each ?? 0), 0);
    const pods = total(nodes.pods);
    const asked = (shares, sizes) => total(shares.map((share, row) => (share ?? 0) * sizes[row])) / (total(sizes) || 1);
    const facts = [many(nodes.name.length, "node"), many(pods, "pod"), `cpu ${percent(asked(nodes.cpu, nodes.cores))}`, `memory ${percent(asked(nodes.memory, nodes.gib))}`, away ? `${count(away)} take no pods` : ""];
    const [first, ...others] = facts.filter(Boolean);
    const text = others.join(" · ");
    if (this.heading.dataset.text === first + text) return;
    this.heading.dataset.text = first + text;
    this.heading.replaceChildren(h("h2", {}, first), h("span.soft", {}, text));
  }

  #about(group) {
    const way = WAYS[this.#query.colour];
    const nodes = count(group.rows.length);
    if (way.kinds) return nodes;
    const column = this.#cluster.nodes[way.column];
    let [sum, some] = [0, 0];
    for (const row of group.rows) if (column[row] !== null && column[row] !== undefined) [sum, some] = [sum + column[row], some + 1];
    return some ? `${nodes} · ${way.write(way.column === "pods" ? Math.round(sum / some) : sum / some)}` : nodes;
  }

  /** Which rows a filter lets through, or null where there is none. */
  #matching() {
    const { q, band } = this.#query;
    if (!q && !band) return null;
    const { name } = this.#cluster.nodes;
    const { codes } = this.#colours;
    const text = (q ?? "").toLowerCase();
    return Uint8Array.from(name, (each, row) => Number((!text || each.toLowerCase().includes(text)) && (!band || codes[row] === Number(band))));
  }

  #worded(row) {
    const { colour } = this.#query;
    if (colour !== "verdict") return this.#cluster.nodes[WAYS[colour].column][row] || "none";
    const verdict = this.#cluster.verdicts?.[this.#cluster.nodes.verdict?.[row]];
    return verdict ? verdict.text : "no pod chosen";
  }

  #pointed(row, x, y) {
    this.hover.hidden = row < 0 || !this.#cluster;
    if (this.hover.hidden) return;
    const { nodes } = this.#cluster;
    const way = WAYS[this.#query.colour];
    const own = way.kinds ? this.#worded(row) : `${way.label} ${way.write(nodes[way.column][row])}`;
    const facts = [own, `cpu ${percent(nodes.cpu[row])} · memory ${percent(nodes.memory[row])}${nodes.gpu[row] === null ? "" : ` · GPU ${percent(nodes.gpu[row])}`}`, `${many(nodes.pods[row], "pod")} · ${[nodes.zone[row], nodes.pool[row]].filter(Boolean).join(" · ")}`, nodes.ready[row] ? "" : "takes no pods"];
    this.hover.replaceChildren(h("b.mono", {}, nodes.name[row]), ...facts.filter(Boolean).map((fact) => h("div", {}, fact)));
    const right = x > this.map.width / 2;
    const low = y > this.map.height / 2;
    Object.assign(this.hover.style, { left: right ? "auto" : `${x + 14}px`, right: right ? `${this.map.width - x + 14}px` : "auto", top: low ? "auto" : `${y + 14}px`, bottom: low ? `${this.map.height - y + 14}px` : "auto" });
    if (document.activeElement === this.map.canvas) this.spoken.textContent = `${nodes.name[row]}: ${facts.filter(Boolean).join(", ")}`;
  }
}

/** The rows by pool and then by name, so that likes stand together. */
function inOrder({ name, pool }) {
  const order = new Intl.Collator("en", { numeric: true }).compare;
  return name.map((_, row) => row).sort((a, b) => order(pool[a] ?? "", pool[b] ?? "") || order(name[a], name[b]));
}

/** How much larger than at a desk everything is: walls are looked at from afar. */
const unit = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 14;
