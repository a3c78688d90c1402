// The canvas of tiles: drawn when something changed.
import { h } from "./dom.js";
import { inkOn } from "./colours.js";
import { bitmaps, drawBlock, inView } from "./tile_bitmap.js";
import { listen } from "./tile_hand.js";

const CLOSEST = 24;
const NAMED = 54;

/** `chosen(row)` when a node is clicked, `pointed(row, x, y)` for hover and keyboard, -1 for none. */
export class TileMap {
  #layout = null;
  #scene = null;
  #bitmaps = null;
  #scale = 1;
  #left = 0;
  #top = 0;
  #due = 0;
  #at = -1;

  constructor({ chosen, pointed, sized }) {
    this.chosen = chosen;
    this.pointed = pointed;
    this.canvas = h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "map of nodes", "aria-describedby": "map-help", "aria-label": "Nodes" });
    this.pen = this.canvas.getContext("2d", { alpha: false });
    this.watch = new ResizeObserver(() => sized());
    this.watch.observe(this.canvas);
    listen(this);
  }

  stop() {
    this.watch.disconnect();
    cancelAnimationFrame(this.#due);
  }

  get width() { return this.canvas.clientWidth; }
  get height() { return this.canvas.clientHeight; }

  /** Show these places from now on; `anew` where what is looked at is another cluster. */
  place(layout, anew) {
    this.#layout = layout;
    this.#bitmaps = null;
    if (anew) this.whole();
    else this.#clamp();
  }

  /** {palette, codes, dim(row), struck(row), label(row), values(row), chosen, unit} to draw. */
  paint(scene) {
    this.#scene = scene;
    this.#bitmaps = null;
    this.refresh();
  }

  refresh() {
    if (!this.#due) this.#due = requestAnimationFrame(() => this.#draw());
  }

  whole() {
    [this.#scale, this.#left, this.#top] = [1, 0, 0];
    this.#clamp();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(CLOSEST, Math.max(1, this.#scale * factor));
    this.#left = x - ((x - this.#left) * scale) / this.#scale;
    this.#top = y - ((y - this.#top) * scale) / this.#scale;
    this.#scale = scale;
    this.#clamp();
  }

  move(x, y) {
    this.#left += x;
    this.#top += y;
    this.#clamp();
  }

  get scale() { return this.#scale; }
  get at() { return this.#at; }

  #clamp() {
    const across = (this.#layout?.width ?? this.width) * this.#scale;
    const down = Math.max((this.#layout?.height ?? 0) * this.#scale, this.height);
    this.#left = Math.min(0, Math.max(this.width - across, this.#left));
    this.#top = Math.min(0, Math.max(this.height - down, this.#top));
    this.canvas.style.touchAction = this.#scale > 1 ? "none" : "pan-y";
    this.refresh();
  }

  #draw() {
    this.#due = 0;
    if (!this.#layout || !this.#scene || !this.width) return;
    const sharp = Math.min(devicePixelRatio || 1, 2);
    if (this.canvas.width !== Math.round(this.width * sharp) || this.canvas.height !== Math.round(this.height * sharp)) {
      this.canvas.width = Math.round(this.width * sharp);
      this.canvas.height = Math.round(this.height * sharp);
    }
    this.pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    this.pen.fillStyle = this.#scene.ground;
    this.pen.fillRect(0, 0, this.width, this.height);
    this.#heads();
    this.#tiles();
    this.#frame(this.#scene.chosen, 2.5);
    this.#frame(this.#at, 1.5);
  }

  #heads() {
    const { pen } = this;
    pen.textBaseline = "alphabetic";
    pen.font = `600 ${this.#scene.small}px ${this.#scene.font}`;
    const letter = pen.measureText("n").width;
    for (const block of this.#layout.blocks) {
      const x = block.x * this.#scale + this.#left;
      const y = (block.y + this.#layout.head * 0.72) * this.#scale + this.#top;
      const wide = Math.max(20, block.width * this.#scale);
      if (y < 0 || y > this.height + 20 || x > this.width || x + wide < 0) continue;
      pen.fillStyle = this.#scene.ink;
      const [name, more] = this.#scene.head(block.group);
      const short = cut(name, wide, letter);
      pen.fillText(short, Math.max(x, 4), y);
      const room = pen.measureText(short).width + 8;
      if (room + more.length * letter < wide) {
        pen.fillStyle = this.#scene.soft;
        pen.fillText(more, Math.max(x, 4) + room, y);
      }
    }
  }

  /** Blocks as stretched pictures; what is written and struck only where it can be seen. */
  #tiles() {
    const { size, head, blocks } = this.#layout;
    this.#bitmaps ??= bitmaps(this.#layout, this.#scene);
    const pitch = size * this.#scale;
    const gap = pitch > 12 ? 2 : pitch > 3 ? 1 : 0;
    const seen = [];
    this.pen.fillStyle = this.#scene.ground;
    blocks.forEach((block, index) => {
      const left = block.x * this.#scale + this.#left;
      const top = (block.y + head) * this.#scale + this.#top;
      const columns = inView(left, pitch, block.across, this.width);
      const lines = inView(top, pitch, this.#bitmaps[index].height, this.height);
      if (columns[0] >= columns[1] || lines[0] >= lines[1]) return;
      drawBlock(this.pen, this.#bitmaps[index], { left, top, pitch, gap, columns, lines });
      if (pitch >= 9) seen.push(...within(block, columns, lines));
    });
    this.#marks(seen, pitch - gap);
    if (pitch >= NAMED * this.#scene.unit) this.#words(seen, pitch - gap);
  }

  /** Nodes that take no pods are struck through, whatever their colour. */
  #marks(rows, side) {
    const { pen } = this;
    pen.beginPath();
    for (const row of rows) {
      if (!this.#scene.struck(row)) continue;
      const [left, top] = this.corner(row);
      pen.moveTo(left, top + side);
      pen.lineTo(left + side, top);
    }
    for (const [colour, thick] of [[this.#scene.ground, 3.5], [this.#scene.strike, 1.5]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = thick * this.#scene.unit;
      pen.stroke();
    }
  }

  #words(rows, side) {
    const { pen } = this;
    const line = Math.round(14 * this.#scene.unit);
    pen.font = `${Math.round(11 * this.#scene.unit)}px ${this.#scene.font}`;
    const letter = pen.measureText("n").width;
    for (const row of rows) {
      const [left, top] = this.corner(row);
      pen.fillStyle = this.#scene.dim(row) ? this.#scene.soft : inkOn(this.#scene.palette[this.#scene.codes[row]]);
      [this.#scene.label(row), ...this.#scene.values(row)].forEach((text, place) => {
        const down = (place + 1) * line;
        if (down < side) pen.fillText(cut(text, side - 8, letter), left + 4, top + down);
      });
    }
  }

  #frame(row, thick) {
    if (row < 0 || row === undefined || Number.isNaN(this.#layout.x[row])) return;
    const [left, top] = this.corner(row);
    const side = this.#layout.size * this.#scale;
    this.pen.strokeStyle = this.#scene.ground;
    this.pen.lineWidth = thick + 2;
    this.pen.strokeRect(left - 1.5, top - 1.5, side + 1, side + 1);
    this.pen.strokeStyle = this.#scene.ink;
    this.pen.lineWidth = thick;
    this.pen.strokeRect(left - 1.5, top - 1.5, side + 1, side + 1);
  }

  corner(row) {
    return [this.#layout.x[row] * this.#scale + this.#left, this.#layout.y[row] * this.#scale + this.#top];
  }

  /** The node at a point of the canvas, or -1. */
  rowAt(x, y) {
    if (!this.#layout) return -1;
    const { blocks, size, head } = this.#layout;
    const wx = (x - this.#left) / this.#scale;
    const wy = (y - this.#top) / this.#scale;
    for (const block of blocks) {
      const column = Math.floor((wx - block.x) / size);
      const line = Math.floor((wy - block.y - head) / size);
      if (column < 0 || column >= block.across || line < 0) continue;
      const row = block.group.rows[line * block.across + column];
      if (row !== undefined && wy < block.y + block.height) return row;
    }
    return -1;
  }

  /** Put the frame on a node, -1 for none, and tell of it. */
  point(row, x, y) {
    if (row !== this.#at) {
      this.#at = row;
      this.refresh();
    }
    this.pointed(row, x, y);
  }

  /** To the next tile that way, and across to the next block. */
  step(dx, dy) {
    const { order, size, x, head } = this.#layout;
    if (this.#at < 0 || Number.isNaN(x[this.#at])) {
      this.#reach(order[0]);
      return;
    }
    const [left, top] = this.corner(this.#at);
    const pitch = size * this.#scale;
    for (let far = 1; far < 60; far++) {
      const py = top + pitch / 2 + dy * (far * pitch + (far > 1 ? head : 0));
      const row = this.rowAt(left + pitch / 2 + dx * far * pitch, py);
      if (row >= 0 && row !== this.#at) {
        this.#reach(row);
        return;
      }
    }
  }

  #reach(row) {
    const pitch = this.#layout.size * this.#scale;
    const [left, top] = this.corner(row);
    this.move(into(left, pitch, this.width), into(top, pitch, this.height));
    const [x, y] = this.corner(row);
    this.point(row, x + pitch, y + pitch);
  }
}

/** The nodes of a block in some of its columns and lines. */
function* within({ group, across }, [c0, c1], [l0, l1]) {
  for (let line = l0; line < l1; line++) {
    for (let column = c0; column < c1; column++) {
      const row = group.rows[line * across + column];
      if (row !== undefined) yield row;
    }
  }
}

const into = (at, size, room) => (at < 4 ? 4 - at : at + size > room - 4 ? room - 4 - at - size : 0);

/** As much of a text as fits, by the width of a letter: to measure each would take longer than to draw it. */
function cut(text, width, letter) {
  const most = Math.floor(width / letter);
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}
