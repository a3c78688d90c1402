// The nodes as a table: what the tiles show, for whoever would rather read or cannot see them.
import { h } from "./dom.js";
import { chip, nodeAnchor } from "./parts.js";
import { change } from "./route.js";
import { Table } from "./table.js";
import { count, number, percent } from "./words.js";

const PAGE = 100;

const COLUMNS = [
  { title: "Node", by: "name", class: "name", cell: (node) => nodeAnchor(node.name) },
  { title: "Zone", by: "zone", class: "short", cell: (node) => node.zone },
  { title: "Pool", by: "pool", class: "short", cell: (node) => node.pool },
  { title: "Pods", by: "pods", class: "number", cell: (node) => count(node.pods) },
  { title: "Allocation", by: "allocation", class: "number", cell: (node) => percent(node.allocation) },
  { title: "CPU", by: "cpu", class: "number", cell: (node) => percent(node.cpu) },
  { title: "Memory", by: "memory", class: "number", cell: (node) => percent(node.memory) },
  { title: "GPU", by: "gpu", class: "number", cell: (node) => percent(node.gpu) },
  { title: "Fragmentation", by: "gpu_fragmentation", class: "number", cell: (node) => percent(node.gpu_fragmentation) },
  { title: "Usage", by: "usage", class: "number", cell: (node) => percent(node.usage) },
  { title: "Price", by: "price", class: "number", cell: (node) => number(node.price) },
  { title: "Tenant", by: "tenant", class: "short", cell: (node) => node.tenant },
  { title: "State", class: "short", cell: (node) => [node.ready ? null : chip("takes no pods", "bad"), node.tainted ? chip("tainted") : null] },
  { title: "Verdict", class: "fold", cell: (node) => node.verdict ?? "" },
];

export class NodeTable {
  #sort = "name";
  #down = false;
  #page = 0;
  #titles = "";

  constructor() {
    this.foot = h("div.more");
    this.element = h("section.sheet", { "aria-label": "Nodes as a table" });
  }

  /** Show a page of the nodes that match, sorted as the address says. */
  show(cluster, query, matches) {
    const { nodes } = cluster;
    this.#made(cluster);
    this.#sort = query.sort in nodes ? query.sort : "name";
    this.#down = Boolean(query.down);
    this.table.order(this.#sort, this.#down);
    const rows = sorted(nodes.name.map((_, row) => row).filter((row) => !matches || matches[row]), nodes[this.#sort], this.#down);
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    this.#page = Math.min(pages - 1, Math.max(0, (Number(query.page) || 1) - 1));
    const shown = rows.slice(this.#page * PAGE, (this.#page + 1) * PAGE);
    this.table.show(shown.map((row) => this.#node(cluster, row)));
    this.#pages(rows.length, pages);
  }

  /** The columns of which the cluster knows something. */
  #made({ nodes }) {
    const told = (name) => (nodes[name] ?? []).some((value) => value !== null && value !== "");
    const columns = COLUMNS.filter((column) => (column.by ? told(column.by) : column.title !== "Verdict" || nodes.verdict));
    const titles = columns.map((column) => column.title).join();
    if (titles === this.#titles) return;
    this.#titles = titles;
    const by = (name) => change({ sort: name, down: this.#sort === name && !this.#down ? 1 : "", page: "" });
    this.table = new Table({ caption: "Nodes", columns, key: (node) => node.name, sorted: by, empty: "No node has such a name.", stacks: true });
    this.element.replaceChildren(this.table.element, this.foot);
  }

  #node({ nodes, verdicts }, row) {
    const node = Object.fromEntries(COLUMNS.filter((column) => column.by).map(({ by }) => [by, nodes[by]?.[row]]));
    return { ...node, ready: nodes.ready[row], tainted: nodes.tainted?.[row], verdict: nodes.verdict ? verdicts?.[nodes.verdict[row]]?.text : undefined };
  }

  #pages(total, pages) {
    const text = `${count(total)} nodes, page ${this.#page + 1} of ${pages}`;
    if (this.foot.dataset.text === text) return;
    this.foot.dataset.text = text;
    const to = (page, label, off) => h("button", { type: "button", disabled: off, on: { click: () => change({ page }) } }, label);
    this.foot.replaceChildren(to(this.#page, "Earlier", this.#page === 0), h("span.soft", {}, text), to(this.#page + 2, "Later", this.#page + 1 >= pages));
  }
}

function sorted(rows, column, down) {
  const way = down ? -1 : 1;
  const compare = (a, b) => {
    if (column[a] === column[b]) return a - b;
    if (column[a] === null || column[a] === undefined) return 1;
    if (column[b] === null || column[b] === undefined) return -1;
    return way * (typeof column[a] === "string" ? column[a].localeCompare(column[b], "en", { numeric: true }) : column[a] - column[b]);
  };
  return rows.sort(compare);
}
