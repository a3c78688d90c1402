// Mouse, fingers and keyboard on the map of tiles: scroll, zoom, hover, walk, choose.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const CLOSER = 1.4;
const STILL = 4;

/** Let a map be moved by hand. */
export function listen(map) {
  const on = (event, listener, options) => map.canvas.addEventListener(event, listener, options);
  const hand = new Hand(map);
  on("wheel", (event) => wheel(map, event), { passive: false });
  on("pointerdown", (event) => hand.down(event));
  on("pointermove", (event) => hand.drag(event));
  on("pointerup", (event) => hand.up(event));
  on("pointercancel", (event) => hand.fingers.delete(event.pointerId));
  on("pointerleave", () => map.point(-1, 0, 0));
  on("keydown", (event) => key(map, event));
  on("focus", () => map.refresh());
  on("blur", () => map.point(-1, 0, 0));
}

/** While all of it is seen the wheel zooms in, and a turn the other way scrolls the page. */
function wheel(map, event) {
  const zooms = event.ctrlKey || event.metaKey || event.altKey;
  const whole = map.scale === 1 && !zooms;
  if (whole && event.deltaY > 0) return;
  event.preventDefault();
  if (zooms || whole) map.zoom(Math.exp(-event.deltaY * 0.0022), event.offsetX, event.offsetY);
  else map.move(-event.deltaX, -event.deltaY);
  map.point(-1, 0, 0);
}

class Hand {
  fingers = new Map();
  #moved = 0;

  constructor(map) {
    this.map = map;
  }

  down(event) {
    this.map.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.#moved = 0;
  }

  drag(event) {
    const to = [event.offsetX, event.offsetY];
    const from = this.fingers.get(event.pointerId);
    if (!from) {
      this.map.point(this.map.rowAt(...to), ...to);
      return;
    }
    this.#moved += Math.abs(to[0] - from[0]) + Math.abs(to[1] - from[1]);
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) this.map.zoom(apart(to, other) / apart(from, other), ...other);
    else if (this.#moved > STILL) this.map.move(to[0] - from[0], to[1] - from[1]);
    this.fingers.set(event.pointerId, to);
  }

  up(event) {
    this.fingers.delete(event.pointerId);
    const row = this.#moved > STILL ? -1 : this.map.rowAt(event.offsetX, event.offsetY);
    if (row >= 0) this.map.chosen(row);
  }
}

const apart = (from, to) => Math.hypot(from[0] - to[0], from[1] - to[1]) || 1;

function key(map, event) {
  if (event.key in ARROWS) map.step(...ARROWS[event.key]);
  else if (event.key === "Enter" && map.at >= 0) map.chosen(map.at);
  else if (event.key === "+" || event.key === "=") map.zoom(CLOSER, ...middle(map));
  else if (event.key === "-") map.zoom(1 / CLOSER, ...middle(map));
  else if (event.key === "0" || event.key === "Home") map.whole();
  else return;
  event.preventDefault();
}

const middle = (map) => (map.at < 0 ? [map.width / 2, map.height / 2] : map.corner(map.at));
