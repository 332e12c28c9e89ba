// SPDX-License-Identifier: MIT
/* Where the nodes of a network stand: rings and complete groups on a circle, graphs as they lie or as springs pull. */

export const WIDTH = 580;
export const HEIGHT = 440;

/** How large a node is drawn, by the size of the group. */
export function nodeRadius(count) {
  return Math.max(5, Math.min(25, 210 / (count + 2) + 4));
}

/** Places on a circle, the first at the top. */
export function onCircle(count) {
  const radius = Math.min(WIDTH, HEIGHT) / 2 - nodeRadius(count) - 24;
  return Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count - Math.PI / 2;
    const wide = count > 3 ? 1.28 : 1.1;
    return { x: WIDTH / 2 + wide * radius * Math.cos(angle), y: HEIGHT / 2 + radius * Math.sin(angle) };
  });
}

/** Fits points of any scale into the picture; `stretch` is how much one direction may be scaled more than the other. */
function fitted(points, stretch = 1) {
  const margin = 46;
  const [left, right] = [Math.min(...points.map((p) => p.x)), Math.max(...points.map((p) => p.x))];
  const [top, bottom] = [Math.min(...points.map((p) => p.y)), Math.max(...points.map((p) => p.y))];
  const across = (WIDTH - 2 * margin) / Math.max(right - left, 1e-9);
  const down = (HEIGHT - 2 * margin) / Math.max(bottom - top, 1e-9);
  const [scaleX, scaleY] = [Math.min(across, down * stretch), Math.min(down, across * stretch)];
  return points.map((p) => ({
    x: WIDTH / 2 + (p.x - (left + right) / 2) * scaleX,
    y: HEIGHT / 2 + (p.y - (top + bottom) / 2) * scaleY,
  }));
}

/** The same points, but none lies upon another: those that are too near push each other away a little. */
function apart(points) {
  const least = 2 * nodeRadius(points.length) + 26;
  const moved = points.map(({ x, y }) => ({ x, y }));
  for (let round = 0; round < 60; round++)
    for (let a = 0; a < moved.length; a++)
      for (let b = a + 1; b < moved.length; b++) {
        const [dx, dy] = [moved[b].x - moved[a].x || 0.01, moved[b].y - moved[a].y];
        const far = Math.hypot(dx, dy);
        if (far >= least) continue;
        const push = (least - far) / 2 / far;
        moved[a].x -= dx * push;
        moved[a].y -= dy * push;
        moved[b].x += dx * push;
        moved[b].y += dy * push;
      }
  return moved;
}

function gridShape(words) {
  const shape = /^grid:(\d+)x(\d+)$/.exec(words[words.indexOf("--graph") + 1] ?? "");
  return shape && { rows: Number(shape[1]), columns: Number(shape[2]) };
}

/** Springs along edges, and nodes that push each other away: the same picture every time. */
function sprung(count, edges) {
  const points = onCircle(count).map((p) => ({ x: p.x, y: p.y }));
  const ideal = Math.sqrt((WIDTH * HEIGHT) / count);
  const rounds = count > 60 ? 120 : 300;
  for (let round = 0; round < rounds; round++) {
    const heat = ideal * 0.4 * (1 - round / rounds) + 0.5;
    const force = points.map(() => ({ x: 0, y: 0 }));
    const pull = (a, b, strength) => {
      const dx = points[b].x - points[a].x || 0.01;
      const dy = points[b].y - points[a].y || 0.01;
      const size = strength(Math.hypot(dx, dy)) / Math.hypot(dx, dy);
      force[a].x += dx * size;
      force[a].y += dy * size;
      force[b].x -= dx * size;
      force[b].y -= dy * size;
    };
    for (let a = 0; a < count; a++)
      for (let b = a + 1; b < count; b++) pull(a, b, (far) => (-ideal * ideal) / Math.max(far, 4));
    for (const [a, b] of edges) pull(a, b, (far) => (far * far) / ideal);
    points.forEach((point, i) => {
      const size = Math.hypot(force[i].x, force[i].y) || 1;
      point.x += (force[i].x / size) * Math.min(size, heat);
      point.y += (force[i].y / size) * Math.min(size, heat);
    });
  }
  return fitted(points, 2);
}

/** A point for every node of the scenario. */
export function layOut(scenario) {
  const { nodes, edges, topology, words } = scenario;
  if (topology !== "graph") return onCircle(nodes.length);
  if (nodes.every((node) => node.x != null && node.y != null))
    return fitted(
      apart(
        fitted(
          nodes.map(({ x, y }) => ({ x, y })),
          1.3,
        ),
      ),
      1.3,
    );
  const grid = gridShape(words);
  if (grid && grid.rows * grid.columns === nodes.length)
    return fitted(nodes.map((_, i) => ({ x: i % grid.columns, y: Math.floor(i / grid.columns) })));
  return sprung(nodes.length, edges ?? []);
}

const EDGE = 50; // from a node to the edge of the picture: room for what stands below it
const BETWEEN = 45; // from a node to the next: room for what stands below it
const ROOMY = 4; // so few nodes leave room for the names of messages, too
const CROWD = 16; // a larger group is drawn as small as it has to be

/** The same places in a picture that is `zoom` times as small, and which is therefore shown as many times as large. */
function drawnCloser(places, zoom) {
  const closer = (at, size) => EDGE + ((at - EDGE) * (size / zoom - 2 * EDGE)) / (size - 2 * EDGE);
  return places.map(({ x, y }) => ({ x: closer(x, WIDTH), y: closer(y, HEIGHT) }));
}

function nearest(places) {
  const distances = places.flatMap((a, i) => places.slice(i + 1).map((b) => Math.hypot(a.x - b.x, a.y - b.y)));
  return Math.min(...distances);
}

/** Looks at a network as closely as is wished, but nodes do not come upon each other: {places, width, height}. */
export function lookCloser(places, wished) {
  const least = 2 * nodeRadius(places.length) + BETWEEN * (places.length > ROOMY ? 1 : 2);
  for (let zoom = Math.min(wished, 2); zoom > 1 && places.length <= CROWD; zoom -= 0.05) {
    const closer = drawnCloser(places, zoom);
    if (nearest(closer) >= least) return { places: closer, width: WIDTH / zoom, height: HEIGHT / zoom };
  }
  return { places, width: WIDTH, height: HEIGHT };
}

/** The lines between nodes: the graph's edges, the ring's links, or every pair of a small group. */
export function linksOf(scenario) {
  const count = scenario.nodes.length;
  if (scenario.topology === "graph") return (scenario.edges ?? []).map(([a, b, weight]) => ({ a, b, weight }));
  if (scenario.topology !== "complete")
    return Array.from({ length: count }, (_, i) => ({
      a: i,
      b: (i + 1) % count,
      oneWay: scenario.topology === "ring",
    }));
  const pairs = [];
  for (let a = 0; a < count && count <= 12; a++) for (let b = a + 1; b < count; b++) pairs.push({ a, b });
  return pairs;
}

/** A point on the way from one node to another, bent a little so that the two directions do not overlap. */
export function along(from, to, share, bend) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const far = Math.hypot(dx, dy) || 1;
  const side = bend * 4 * share * (1 - share);
  return { x: from.x + dx * share - (dy / far) * side, y: from.y + dy * share + (dx / far) * side };
}
