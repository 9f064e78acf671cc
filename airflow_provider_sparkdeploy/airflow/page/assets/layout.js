// Where the nodes of a graph go. Pure: sizes and edges in, places out.

/**
 * Layers from left to right, every node right of what it reads.
 * nodes: [{id, w, h}], edges: [[from, to]]. Returns {places: Map id -> {x, y, w, h}, lines, width, height}.
 * Tall columns are staggered, so that it fits best into a frame of that aspect.
 */
export function layered(nodes, edges, aspect = 1.7) {
  const tried = [1, 2, 3].map((stagger) => arranged(nodes, edges, stagger));
  const size = (found) => Math.max(found.width, found.height * aspect) * (1 + 0.12 * tried.indexOf(found));
  return tried.reduce((best, found) => (size(found) < size(best) ? found : best));
}

function arranged(nodes, edges, stagger, gapX = 60, gapY = 16) {
  const count = nodes.length;
  const number = new Map(nodes.map((node, at) => [node.id, at]));
  const pairs = [];
  const seen = new Set();
  for (const [from, to] of edges) {
    const a = number.get(from);
    const b = number.get(to);
    if (a === undefined || b === undefined || a === b || seen.has(a * count + b)) continue;
    seen.add(a * count + b);
    pairs.push([a, b]);
  }
  const turned = backward(count, pairs);
  const flow = pairs.map(([a, b], at) => (turned[at] ? [b, a] : [a, b]));
  const touched = new Set(pairs.flat());
  const layer = layersOf(count, flow);
  const { columns, chains, sizes } = withBends(nodes, flow, layer, touched);
  arrange(columns, chains, nodes, layer);
  const wide = columns.map((column) => (column.length > 5 ? stagger : 1));
  const y = settle(columns, wide, chains, sizes, gapY);
  return draw(nodes, pairs, turned, columns, wide, chains, sizes, y, touched, gapX, gapY);
}

/** Which edges close a circle: those that lead back to where the walk is. */
function backward(count, pairs) {
  const out = Array.from({ length: count }, () => []);
  pairs.forEach(([a, b], at) => out[a].push([b, at]));
  const colour = new Uint8Array(count);
  const turned = new Uint8Array(pairs.length);
  for (let start = 0; start < count; start++) {
    if (colour[start]) continue;
    const walk = [[start, 0]];
    colour[start] = 1;
    while (walk.length) {
      const top = walk[walk.length - 1];
      const next = out[top[0]][top[1]++];
      if (!next) {
        colour[top[0]] = 2;
        walk.pop();
      } else if (colour[next[0]] === 1) turned[next[1]] = 1;
      else if (!colour[next[0]]) {
        colour[next[0]] = 1;
        walk.push([next[0], 0]);
      }
    }
  }
  return turned;
}

/** The longest way to each node; what nobody needs early is moved next to its first reader. */
export function layersOf(count, flow) {
  const layer = new Int32Array(count);
  const into = new Int32Array(count);
  const out = Array.from({ length: count }, () => []);
  for (const [a, b] of flow) {
    out[a].push(b);
    into[b]++;
  }
  const inputs = Int32Array.from(into);
  const ready = [];
  for (let at = 0; at < count; at++) if (!into[at]) ready.push(at);
  for (let at = 0; at < ready.length; at++) {
    for (const next of out[ready[at]]) {
      layer[next] = Math.max(layer[next], layer[ready[at]] + 1);
      if (!--into[next]) ready.push(next);
    }
  }
  for (let at = 0; at < count; at++) {
    if (!inputs[at] && out[at].length) layer[at] = Math.min(...out[at].map((next) => layer[next])) - 1;
  }
  return layer;
}

/** Columns of nodes, with a bend in every column that a long edge passes. */
function withBends(nodes, flow, layer, touched) {
  const sizes = nodes.map((node) => ({ w: node.w, h: node.h }));
  const columns = [];
  const place = (at, column) => (columns[column] ??= []).push(at);
  nodes.forEach((_, at) => touched.has(at) && place(at, layer[at]));
  const chains = flow.map(([a, b]) => {
    const chain = [a];
    for (let column = layer[a] + 1; column < layer[b]; column++) {
      sizes.push({ w: 0, h: 4, bend: true });
      place(sizes.length - 1, column);
      chain.push(sizes.length - 1);
    }
    chain.push(b);
    return chain;
  });
  for (let at = 0; at < columns.length; at++) columns[at] ??= [];
  return { columns, chains, sizes };
}

function neighbours(chains) {
  const left = new Map();
  const right = new Map();
  const add = (map, key, value) => (map.get(key) ?? map.set(key, []).get(key)).push(value);
  for (const chain of chains) {
    for (let at = 1; at < chain.length; at++) {
      add(left, chain[at], chain[at - 1]);
      add(right, chain[at - 1], chain[at]);
    }
  }
  return { left, right };
}

/** Fewer crossings: everything next to the middle of what it is connected with, to and fro. */
function arrange(columns, chains, nodes) {
  const { left, right } = neighbours(chains);
  for (const column of columns) column.sort((a, b) => String(nodes[a]?.id ?? "~").localeCompare(String(nodes[b]?.id ?? "~")));
  const rank = new Map();
  const note = (column) => column.forEach((at, row) => rank.set(at, row / Math.max(1, column.length - 1)));
  columns.forEach(note);
  let best = columns.map((column) => [...column]);
  let fewest = crossings(columns, right);
  for (let sweep = 0; sweep < 12 && fewest > 0; sweep++) {
    const forward = sweep % 2 === 0;
    const side = forward ? left : right;
    for (let step = 1; step < columns.length; step++) {
      const column = columns[forward ? step : columns.length - 1 - step];
      const want = new Map(column.map((at) => [at, middle(side.get(at), rank) ?? rank.get(at)]));
      column.sort((a, b) => want.get(a) - want.get(b));
      note(column);
    }
    const now = crossings(columns, right);
    if (now < fewest) {
      fewest = now;
      best = columns.map((column) => [...column]);
    }
  }
  best.forEach((column, at) => (columns[at] = column));
}

function middle(found, rank) {
  if (!found?.length) return undefined;
  return found.reduce((sum, at) => sum + rank.get(at), 0) / found.length;
}

function crossings(columns, right) {
  let total = 0;
  for (let at = 0; at + 1 < columns.length; at++) {
    const row = new Map(columns[at + 1].map((node, place) => [node, place]));
    const ends = columns[at].flatMap((node) => (right.get(node) ?? []).map((next) => row.get(next)).sort((a, b) => a - b));
    const tree = new Int32Array(columns[at + 1].length + 1);
    for (let done = 0; done < ends.length; done++) {
      let before = 0;
      for (let i = ends[done] + 1; i > 0; i -= i & -i) before += tree[i];
      total += done - before;
      for (let i = ends[done] + 1; i < tree.length; i += i & -i) tree[i]++;
    }
  }
  return total;
}

/** Heights: as near as can be to what a node is connected with, in order, and without overlaps. */
function settle(columns, wide, chains, sizes, gap) {
  const { left, right } = neighbours(chains);
  const y = new Float64Array(sizes.length);
  const stagger = new Map(columns.map((column, at) => [column, wide[at]]));
  const rooms = (column) => (a, b) => ((sizes[a].h + sizes[b].h) / 2 + (sizes[a].bend && sizes[b].bend ? 6 : gap)) / stagger.get(column);
  for (const column of columns) {
    const room = rooms(column);
    let at = 0;
    column.forEach((node, row) => (y[node] = row ? (at += room(column[row - 1], node)) : 0));
    for (const node of column) y[node] -= at / 2;
  }
  for (let sweep = 0; sweep < 10; sweep++) {
    const sides = sweep % 3 === 2 ? [left, right] : [sweep % 2 ? right : left];
    for (const column of sweep % 2 ? [...columns].reverse() : columns) {
      const want = column.map((node) => {
        const found = sides.flatMap((side) => side.get(node) ?? []).map((other) => y[other]);
        return found.length ? found.reduce((sum, value) => sum + value, 0) / found.length : y[node];
      });
      spread(column, want, rooms(column)).forEach((value, row) => (y[column[row]] = value));
    }
  }
  return y;
}

/** The places nearest to the wanted ones that keep order and distance (pooled neighbours). */
function spread(column, want, room) {
  const offset = [0];
  for (let row = 1; row < column.length; row++) offset[row] = offset[row - 1] + room(column[row - 1], column[row]);
  const pools = [];
  want.forEach((value, row) => {
    let pool = { sum: value - offset[row], size: 1 };
    while (pools.length && pools[pools.length - 1].sum / pools[pools.length - 1].size > pool.sum / pool.size) {
      const last = pools.pop();
      pool = { sum: last.sum + pool.sum, size: last.size + pool.size };
    }
    pools.push(pool);
  });
  const places = [];
  for (const pool of pools) for (let n = 0; n < pool.size; n++) places.push(pool.sum / pool.size + offset[places.length]);
  return places;
}

function draw(nodes, pairs, turned, columns, wide, chains, sizes, y, touched, gapX, gapY) {
  const x = new Float64Array(sizes.length);
  let across = 0;
  columns.forEach((column, number) => {
    const widest = Math.max(0, ...column.map((at) => sizes[at].w));
    let row = 0;
    for (const at of column) x[at] = across + (sizes[at].bend ? widest / 2 : (row++ % wide[number]) * (widest + 22));
    across += wide[number] * (widest + 22) - 22 + gapX;
  });
  const all = columns.flat();
  const top = Math.min(0, ...all.map((at) => y[at] - sizes[at].h / 2));
  const bottom = all.length ? Math.max(...all.map((at) => y[at] + sizes[at].h / 2)) : 0;
  const places = new Map();
  for (const at of all) {
    if (!sizes[at].bend) places.set(nodes[at].id, { x: x[at], y: y[at] - top - sizes[at].h / 2, w: sizes[at].w, h: sizes[at].h });
  }
  let width = Math.max(0, across - gapX);
  let height = bottom - top;
  const alone = nodes.filter((_, at) => !touched.has(at));
  if (alone.length) {
    const shelf = shelves(alone, Math.max(width, 900), 24, gapY);
    const from = all.length ? height + 48 : 0;
    for (const [id, place] of shelf.places) places.set(id, { ...place, y: place.y + from });
    width = Math.max(width, shelf.width);
    height = from + shelf.height;
  }
  const lines = pairs.map(([a, b], at) => {
    const from = places.get(nodes[a].id);
    const to = places.get(nodes[b].id);
    const bends = chains[at].slice(1, -1).map((bend) => [x[bend], y[bend] - top]);
    return { from: nodes[a].id, to: nodes[b].id, path: turned[at] ? around(from, to) : through(from, to, bends) };
  });
  return { places, lines, width, height };
}

function through(from, to, bends) {
  const points = [[from.x + from.w, from.y + from.h / 2], ...bends, [to.x, to.y + to.h / 2]];
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (let at = 1; at < points.length; at++) {
    const [ax, ay] = points[at - 1];
    const [bx, by] = points[at];
    const pull = Math.max(18, (bx - ax) * 0.45);
    path += `C${(ax + pull).toFixed(1)} ${ay.toFixed(1)} ${(bx - pull).toFixed(1)} ${by.toFixed(1)} ${bx.toFixed(1)} ${by.toFixed(1)}`;
  }
  return path;
}

/** An edge that leads back: below both. */
function around(from, to) {
  const ax = from.x + from.w / 2;
  const bx = to.x + to.w / 2;
  const ay = from.y + from.h;
  const by = to.y + to.h;
  const deep = Math.max(ay, by) + 34;
  return `M${ax.toFixed(1)} ${ay.toFixed(1)}C${ax.toFixed(1)} ${deep.toFixed(1)} ${bx.toFixed(1)} ${deep.toFixed(1)} ${bx.toFixed(1)} ${by.toFixed(1)}`;
}

/** Boxes in rows, in their order, not wider than `width`. */
export function shelves(boxes, width, gapX, gapY) {
  const places = new Map();
  let x = 0;
  let y = 0;
  let tall = 0;
  let wide = 0;
  for (const box of boxes) {
    if (x > 0 && x + box.w > width) {
      x = 0;
      y += tall + gapY;
      tall = 0;
    }
    places.set(box.id, { x, y, w: box.w, h: box.h });
    x += box.w + gapX;
    wide = Math.max(wide, x - gapX);
    tall = Math.max(tall, box.h);
  }
  return { places, width: wide, height: y + tall };
}

/** The widest shelf that makes the whole fit best into a frame of that aspect. */
function bestShelves(boxes, aspect) {
  const widest = Math.max(...boxes.map((box) => box.w));
  const size = (found) => Math.max(found.width, found.height * aspect);
  let best = null;
  let width = widest;
  for (let columns = 1; columns <= boxes.length; columns++, width += widest / 2 + 18) {
    const found = shelves(boxes, width, 36, 36);
    if (!best || size(found) < size(best)) best = found;
  }
  return best;
}

const CHIP = { w: 148, h: 22, gap: 6 };
const HEAD = 58;
const PAD = 14;

/** A map of many objects: a box per schema, in the order in which data flows, its objects within. */
export function mapped(nodes, edges, aspect = 1.7) {
  const number = new Map(nodes.map((node, at) => [node.id, at]));
  const pairs = edges.map(([a, b]) => [number.get(a), number.get(b)]).filter(([a, b]) => a !== undefined && b !== undefined && a !== b);
  const turned = backward(nodes.length, pairs);
  const layer = layersOf(nodes.length, pairs.map(([a, b], at) => (turned[at] ? [b, a] : [a, b])));
  const schemas = new Map();
  nodes.forEach((node, at) => (schemas.get(node.schema) ?? schemas.set(node.schema, []).get(node.schema)).push(at));
  const boxes = [...schemas].map(([id, members]) => {
    members.sort((a, b) => layer[a] - layer[b] || nodes[a].id.localeCompare(nodes[b].id));
    const columns = Math.max(2, Math.ceil(Math.sqrt((members.length * (CHIP.h + CHIP.gap) * 1.9) / (CHIP.w + CHIP.gap))));
    const rows = Math.ceil(members.length / columns);
    const depth = members.reduce((sum, at) => sum + layer[at], 0) / members.length;
    return {
      id, members, columns, depth,
      w: columns * (CHIP.w + CHIP.gap) - CHIP.gap + 2 * PAD,
      h: HEAD + rows * (CHIP.h + CHIP.gap) - CHIP.gap + PAD,
    };
  });
  boxes.sort((a, b) => a.depth - b.depth || a.id.localeCompare(b.id));
  const shelf = bestShelves(boxes, aspect);
  const places = new Map();
  for (const box of boxes) {
    const at = shelf.places.get(box.id);
    box.members.forEach((member, n) =>
      places.set(nodes[member].id, {
        x: at.x + PAD + (n % box.columns) * (CHIP.w + CHIP.gap),
        y: at.y + HEAD + Math.floor(n / box.columns) * (CHIP.h + CHIP.gap),
        w: CHIP.w,
        h: CHIP.h,
      }),
    );
  }
  return { places, boxes: boxes.map((box) => ({ ...shelf.places.get(box.id), id: box.id, count: box.members.length })), width: shelf.width, height: shelf.height };
}
