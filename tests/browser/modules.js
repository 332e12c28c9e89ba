// SPDX-License-Identifier: MIT
/* The page's modules that need no browser: links, and the tree of branches. */
import assert from "node:assert/strict";
import { layOut, nodeRadius } from "../../web/src/layout.js";
import { lineOf } from "../../web/src/line.js";
import { joinWords, packIndices, readLink, splitWords, unpackIndices, writeLink } from "../../web/src/link.js";
import {
  addStep,
  firstViolation,
  flightsOf,
  indicesBetween,
  makeStory,
  meetingPlace,
  moveTo,
  tips,
} from "../../web/src/story.js";

/** Numbers that are the same every time. */
function* numbers(seed) {
  for (let state = seed >>> 0; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** A story whose line has that many steps, with a branch at every `every`th of them. */
function grow(depth, every) {
  const story = makeStory();
  let place = story.root;
  for (let step = 1; step <= depth; step++) {
    if (step % every === 0) addStep(story, place, 1, { node: 0, sent: [] });
    place = addStep(story, place, 0, {
      node: 0,
      sent: [{ serial: step, from: 0, to: 1, kind: "a", text: "a" }],
      received: step > 3 ? step - 3 : null,
    });
  }
  moveTo(story, place);
  return story;
}

/** Where branches end, found by walking the whole tree. */
function leaves(place) {
  return place.children.length ? place.children.flatMap(leaves) : [place];
}

/** A step of a story that nobody has thought about. */
function randomEntry(below, depth) {
  return {
    node: below(3),
    type: ["deliver", "crash", "request", "leave"][below(4)],
    sent: below(2) ? [{ serial: depth, from: 0, to: 1 }] : [],
    received: below(3) ? depth - below(4) : null,
    lost: below(8) ? [] : [depth - 2],
    violated: below(30) ? [] : ["agreement"],
  };
}

export const modules = {
  async "in a geometric graph no node is drawn upon another, and all are in the picture"() {
    const next = numbers(3);
    for (const count of [2, 5, 10, 16, 30]) {
      const nodes = Array.from({ length: count }, () => ({ x: next.next().value, y: next.next().value }));
      nodes[1] = { ...nodes[0] };
      const places = layOut({ nodes, edges: [], topology: "graph", words: [] });
      places.forEach((a, i) => {
        assert.ok(a.x > 0 && a.x < 580 && a.y > 0 && a.y < 440, JSON.stringify(a));
        for (const b of places.slice(i + 1))
          assert.ok(
            Math.hypot(a.x - b.x, a.y - b.y) > 2 * nodeRadius(count),
            `${count} nodes: ${JSON.stringify([a, b])}`,
          );
      });
    }
  },

  async "links say again what they were told"() {
    const next = numbers(7);
    for (let i = 0; i < 2000; i++) {
      const length = Math.floor(next.next().value * 60);
      const most = [2, 40, 5000, 2e7][i % 4];
      const indices = Array.from({ length }, () => Math.floor(next.next().value * most));
      if (i % 5 === 0) indices.splice(length >> 1, 0, ...Array(i % 7).fill(`${i} chose ${i * most} sent 2 missed`));
      assert.deepEqual(unpackIndices(packIndices(indices)), indices);
      const words = ["bully", "--ids", "0..4", "--set", "a b=c&d#e%", "--labels", "ä,ö"];
      const files = { "g.txt": "1 2\n2 3\n", "a&b": "=" };
      assert.deepEqual(readLink(`#${writeLink(words, files, indices)}`), { words, files, indices });
    }
    assert.equal(readLink(""), null);
    assert.equal(readLink("#elsewhere"), null);
    for (const bad of ["~", "A~", "_", "A!", "A~_", "(", "(1", "A~(1)", "_(1)", "(%)"])
      assert.throws(() => unpackIndices(bad), bad);
    assert.throws(() => unpackIndices("A~_____B"), /too many/);
    assert.deepEqual(splitWords(joinWords(["a", "", "b c", "d"])), ["a", "", "b c", "d"]);
  },

  async "200 steps of a hundred nodes are at most 2,000 characters"() {
    const next = numbers(3);
    const indices = Array.from({ length: 200 }, () => Math.floor(next.next().value * 20000));
    const link = writeLink(["chang-roberts", "-n", "100", "--ids", "random", "--start", "all"], {}, indices);
    assert.ok(link.length <= 1000, `${link.length}`);
  },

  async "a story of ten thousand steps and a thousand branches can be walked"() {
    const story = grow(10000, 10);
    const all = tips(story);
    assert.equal(all.length, 1001);
    for (const tip of all) {
      const meeting = meetingPlace(story.cursor, tip);
      assert.equal(indicesBetween(meeting, tip).length, tip.depth - meeting.depth);
      moveTo(story, tip);
      assert.equal(story.line[tip.depth], tip);
      assert.equal(story.line.length, tip.depth + 1);
    }
  },

  async "what is known of a line is kept up while one goes back and forth and branches"() {
    const next = numbers(11);
    const below = (most) => Math.floor(next.next().value * most);
    for (let walk = 0; walk < 15; walk++) {
      const story = makeStory();
      const places = [story.root];
      for (let step = 0; step < 100; step++) {
        if (below(4)) places.push(addStep(story, story.cursor, below(3), randomEntry(below, story.cursor.depth + 1)));
        moveTo(story, below(4) ? places.at(-1) : places[below(places.length)]);
        assert.deepEqual(
          tips(story).map(({ id }) => id),
          leaves(story.root).map(({ id }) => id),
        );
        const [kept, fresh] = [lineOf(story), lineOf({ line: story.line })];
        const sorted = (map, there) => [...map].filter(([, it]) => there(it)).sort(([a], [b]) => (a < b ? -1 : 1));
        assert.deepEqual(sorted(kept.flights, Boolean), sorted(fresh.flights, Boolean));
        assert.deepEqual(
          sorted(kept.turns, ({ length }) => length),
          sorted(fresh.turns, ({ length }) => length),
        );
        assert.deepEqual(sorted(kept.marks, Boolean), sorted(fresh.marks, Boolean));
        assert.equal(firstViolation(story), story.line.find(({ entry }) => entry?.violated.length) ?? null);
      }
    }
  },

  async "a line is the way to the end of the branch, and its messages are known"() {
    const story = grow(20, 5);
    const end = story.line[20];
    moveTo(story, story.line[7]);
    assert.equal(story.line.length, 21);
    assert.equal(story.line[20], end);
    const flights = flightsOf(story);
    assert.deepEqual([flights.get(1).sent, flights.get(1).received], [1, 4]);
    assert.equal(flights.get(20).received, null);
    const branch = addStep(story, story.cursor, 9, { node: 0, sent: [], violated: ["agreement"] });
    moveTo(story, branch);
    assert.equal(story.line.length, 9);
    assert.equal(firstViolation(story), branch);
    assert.equal(flightsOf(story).has(9), false);
    assert.equal(addStep(story, branch.parent, 9, {}), branch);
  },
};
