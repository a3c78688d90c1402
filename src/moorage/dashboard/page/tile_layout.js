// Where tiles stand: nodes in groups, groups as blocks side by side, as large as lets all of them be seen at once.
const HEAD = 18;
const GAP = 14;
const MOST_GROUPS = 120;
const LARGEST = 132;

/** Rows of the cluster by the value of a column, the largest group first; the many small ones fold into one. */
export function grouped(rows, column) {
  if (!column) return [{ name: "all nodes", rows }];
  const found = new Map();
  for (const row of rows) {
    const name = column[row] || "none";
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(row);
  }
  if (found.size === 1 && found.has("none")) return [{ name: "all nodes", rows }];
  const sorted = [...found].map(([name, each]) => ({ name: String(name), rows: each }));
  sorted.sort((a, b) => (sorted.length > 12 ? b.rows.length - a.rows.length : 0) || a.name.localeCompare(b.name, "en", { numeric: true }));
  if (sorted.length <= MOST_GROUPS) return sorted;
  const kept = sorted.slice(0, MOST_GROUPS);
  const others = sorted.slice(MOST_GROUPS);
  return [...kept, { name: `${others.length} others`, rows: others.flatMap((each) => each.rows) }];
}

/**
 * {size, blocks, x, y, order}: the pitch of a tile, the blocks with their heads, the place of each node
 * (NaN where it is not shown), and the nodes in reading order. `unit` is 1 for a desk, more for a wall.
 */
export function laidOut(groups, width, height, total, unit = 1) {
  const room = { width, height, head: Math.round(HEAD * unit), gap: Math.round(GAP * unit), largest: LARGEST * unit };
  let best = null;
  for (let columns = 1; columns <= Math.min(groups.length, 16); columns++) {
    const found = fitted(groups, room, columns);
    if (!best || found.size > best.size) best = found;
  }
  return placed(best, total, room);
}

/** The largest tiles with which so many columns of blocks fit; of whole pixels, so that gaps are even. */
function fitted(groups, room, columns) {
  let low = 2;
  let high = room.largest;
  while (high - low > 0.25) {
    const size = (low + high) / 2;
    if (packed(groups, room, columns, size).height <= room.height) low = size;
    else high = size;
  }
  return packed(groups, room, columns, low > 3 ? Math.floor(low) : low);
}

/** Blocks of one width, each put where the column is shortest. */
function packed(groups, { width, head, gap }, columns, size) {
  const across = Math.max(1, Math.floor((width - gap * (columns + 1)) / columns / size));
  const heights = new Array(columns).fill(gap / 2);
  const blocks = groups.map((group) => {
    const column = heights.indexOf(Math.min(...heights));
    const x = Math.round(gap + column * ((width - gap) / columns));
    const block = { group, x, y: heights[column], across, width: across * size, height: head + Math.ceil(group.rows.length / across) * size };
    heights[column] += block.height + gap / 2;
    return block;
  });
  const narrow = size * across < 30 ? 1e6 : 0;
  return { size, blocks, width, height: Math.max(...heights) + narrow };
}

function placed({ size, blocks, width, height }, total, { head }) {
  const x = new Float32Array(total).fill(Number.NaN);
  const y = new Float32Array(total);
  const order = [];
  for (const block of blocks) {
    block.group.rows.forEach((row, index) => {
      x[row] = block.x + (index % block.across) * size;
      y[row] = block.y + head + Math.floor(index / block.across) * size;
      order.push(row);
    });
  }
  return { size, blocks, width, height, x, y, order, head };
}
