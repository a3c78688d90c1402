// Blocks of tiles as small pictures, a pixel for each node: a frame stretches them, instead of drawing thousands of squares.
const FAINT = 33;

/** A picture for each block; nodes that are dimmed are faint, places without a node clear. */
export function bitmaps({ blocks }, { palette, codes, dim }) {
  const colours = palette.map(parsed);
  return blocks.map(({ group, across }) => {
    const lines = Math.ceil(group.rows.length / across);
    const picture = new ImageData(across, lines);
    for (const [place, row] of group.rows.entries()) picture.data.set([...colours[codes[row]], dim(row) ? FAINT : 255], place * 4);
    const canvas = new OffscreenCanvas(across, lines);
    canvas.getContext("2d").putImageData(picture, 0, 0);
    return canvas;
  });
}

const parsed = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

/**
 * The columns and lines of a block that can be seen: [first, end) of each, empty where there are none.
 * @returns {[number, number]}
 */
export function inView(from, pitch, many, room) {
  return [Math.min(many, Math.max(0, Math.floor(-from / pitch))), Math.max(0, Math.min(many, Math.ceil((room - from) / pitch)))];
}

/** Stretch the part of a picture that is seen, and draw the gaps between its tiles. */
export function drawBlock(pen, picture, { left, top, pitch, gap, columns, lines }) {
  const [c0, c1] = columns;
  const [l0, l1] = lines;
  pen.imageSmoothingEnabled = false;
  pen.drawImage(picture, c0, l0, c1 - c0, l1 - l0, left + c0 * pitch, top + l0 * pitch, (c1 - c0) * pitch, (l1 - l0) * pitch);
  if (!gap) return;
  const [x, y, wide, tall] = [left + c0 * pitch - 1, top + l0 * pitch - 1, (c1 - c0) * pitch + 2, (l1 - l0) * pitch + 2];
  for (let column = c0 + 1; column <= c1; column++) pen.fillRect(Math.round(left + column * pitch) - gap, y, gap, tall);
  for (let line = l0 + 1; line <= l1; line++) pen.fillRect(x, Math.round(top + line * pitch) - gap, wide, gap);
}
