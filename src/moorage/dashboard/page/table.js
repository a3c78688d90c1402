// Tables whose rows are kept: a row is built again only when what it shows has changed. On a phone some stack their cells.
import { h, refill } from "./dom.js";

/**
 * `columns` are [{title, class, cell(item)}]; `key(item)` names a row. `show(items)` brings the table up to date.
 * A column with `by` can be sorted by; `sorted(name)` is told which.
 */
export class Table {
  #rows = new Map();

  constructor({ caption, columns, key, sorted = null, empty = "None.", stacks = false }) {
    this.columns = columns;
    this.key = key;
    this.body = h("tbody", { role: "rowgroup" });
    this.heads = columns.map((column) => head(column, sorted));
    this.table = h(stacks ? "table.stacks" : "table", { "aria-label": caption, role: "table" }, h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, this.heads)), this.body);
    this.none = h("p.empty", { hidden: true }, empty);
    this.element = h("div", {}, h("div.scroll", { tabindex: 0, role: "group", "aria-label": caption }, this.table), this.none);
  }

  /** Mark the column that orders the rows. */
  order(by, down) {
    this.columns.forEach((column, index) => {
      if (column.by === by) this.heads[index].setAttribute("aria-sort", down ? "descending" : "ascending");
      else this.heads[index].removeAttribute("aria-sort");
    });
  }

  show(items) {
    const kept = new Map();
    let before = this.body.firstElementChild;
    for (const item of items) {
      const key = this.key(item);
      if (kept.has(key)) continue;
      const row = this.#row(key, item);
      kept.set(key, row);
      if (row.element === before) before = before.nextElementSibling;
      else this.body.insertBefore(row.element, before);
    }
    for (const [key, row] of this.#rows) if (!kept.has(key)) row.element.remove();
    this.#rows = kept;
    this.none.hidden = items.length > 0;
    this.table.hidden = items.length === 0;
  }

  #row(key, item) {
    const row = this.#rows.get(key) ?? { element: h("tr", { role: "row" }), shown: "" };
    const now = JSON.stringify(item);
    if (row.shown === now) return row;
    row.shown = now;
    refill(row.element, this.columns.map((column) => h(column.class ? `td.${column.class}` : "td", { role: "cell", data: { title: column.title } }, column.cell(item))));
    return row;
  }
}

function head(column, sorted) {
  const spec = column.class === "number" ? "th.number" : "th";
  if (!column.by || !sorted) return h(spec, { scope: "col", role: "columnheader" }, column.title);
  return h(spec, { scope: "col", role: "columnheader" }, h("button", { type: "button", on: { click: () => sorted(column.by) } }, column.title));
}

/** A small table that is built once: heads and rows of cells, "#" before a head of numbers; columns with nothing in them are left out. On a phone a row is a few lines. */
export function plainTable(caption, heads, rows) {
  const kept = heads.map((_, index) => index).filter((index) => rows.some((row) => row[index] !== "" && row[index] !== null));
  const kind = (index, cell) => (index === 0 ? `${cell}.name` : heads[index].startsWith("#") ? `${cell}.number` : cell);
  const title = (index) => heads[index].replace(/^#/, "");
  const head_ = h("tr", { role: "row" }, kept.map((index) => h(heads[index].startsWith("#") ? "th.number" : "th", { scope: "col", role: "columnheader" }, title(index))));
  const body = rows.map((row) => h("tr", { role: "row" }, kept.map((index) => h(kind(index, "td"), { role: "cell", data: { title: title(index) } }, row[index]))));
  return h("div.scroll", { tabindex: 0, role: "group", "aria-label": caption }, h("table.stacks", { role: "table", "aria-label": caption }, h("thead", { role: "rowgroup" }, head_), h("tbody", { role: "rowgroup" }, body)));
}
