// SPDX-License-Identifier: MIT
/* The page's modules that need no browser: links, and the tree of branches. */
import assert from "node:assert/strict";
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

export const modules = {
  async "links say again what they were told"() {
    const next = numbers(7);
    for (let i = 0; i < 2000; i++) {
      const length = Math.floor(next.next().value * 60);
      const most = [2, 40, 5000, 2e7][i % 4];
      const indices = Array.from({ length }, () => Math.floor(next.next().value * most));
      assert.deepEqual(unpackIndices(packIndices(indices)), indices);
      const words = ["bully", "--ids", "0..4", "--set", "a b=c&d#e%", "--labels", "ä,ö"];
      const files = { "g.txt": "1 2\n2 3\n", "a&b": "=" };
      assert.deepEqual(readLink(`#${writeLink(words, files, indices)}`), { words, files, indices });
    }
    assert.equal(readLink(""), null);
    assert.equal(readLink("#elsewhere"), null);
    for (const bad of ["~", "A~", "_", "A!", "A~_"]) assert.throws(() => unpackIndices(bad), bad);
    assert.throws(() => unpackIndices("A~_____B"), /too many/);
    assert.deepEqual(splitWords(joinWords(["a", "", "b c", "d"])), ["a", "", "b c", "d"]);
  },

  async "200 steps of a hundred nodes are at most 2,000 characters"() {
    const next = numbers(3);
    const indices = Array.from({ length: 200 }, () => Math.floor(next.next().value * 20000));
    const link = writeLink(["chang-roberts", "-n", "100", "--ids", "random", "--start", "all"], {}, indices);
    assert.ok(link.length <= 1000, `${link.length}`);
  },

  async "a story of ten thousand steps and a thousand branches is quick to walk"() {
    const began = performance.now();
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
    const took = performance.now() - began;
    assert.ok(took < 20000, `${took} ms`);
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
