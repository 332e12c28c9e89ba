// SPDX-License-Identifier: MIT
/* The branch that stands beside the one that is walked. It has an engine of its own and its own place in time. */
import { startEngine } from "./engine.js";
import { indicesBetween, lineTo, meetingPlace, tipOf, tips } from "./story.js";

export class Second {
  constructor(controller) {
    this.controller = controller;
    this.engine = null;
    this.at = null; // the place at which the engine is
    this.story = null; // and in which story
  }

  /** Shows a place of the branch that ends with that tip; null ends the comparison. */
  show(tip, place = tip) {
    return this.controller.queue(() => this.showNow(tip, place));
  }

  async showNow(tip, place = tip) {
    const { controller } = this;
    if (!tip) {
      controller.set({ other: null });
      return;
    }
    this.engine ??= await startEngine(controller.begin.served);
    const { scenario, files, story } = controller.state;
    const now = await this.travel(place, scenario, files, story);
    controller.set({ other: { tip, now, story: { line: lineTo(tip), cursor: place, flights: null } } });
  }

  async travel(place, scenario, files, story) {
    if (this.story !== story) {
      this.story = null;
      const indices = indicesBetween(story.root, place);
      const { now } = await this.engine.request("open", { words: scenario.words, files, indices });
      [this.story, this.at] = [story, place];
      return now;
    }
    const meeting = meetingPlace(this.at, place);
    const back = meeting === this.at ? null : meeting.depth;
    const data = { from: this.at.depth, back, indices: indicesBetween(meeting, place) };
    const { now } = await this.engine.request("travel", data);
    this.at = place;
    return now;
  }

  /** Begins with the nearest relative of the branch that is walked, or ends. */
  toggle() {
    const { story, other } = this.controller.state;
    const mine = tipOf(story.cursor);
    const tip = other ? null : nearest(tips(story), mine);
    return this.show(tip);
  }

  /** Another branch beside this one. */
  turn() {
    const { story, other } = this.controller.state;
    const mine = tipOf(story.cursor);
    const all = tips(story).filter((tip) => tip !== mine);
    if (!all.length) return Promise.resolve();
    return this.show(all[(all.indexOf(other?.tip) + 1) % all.length]);
  }

  /** Forward or back on the other branch. */
  step(by) {
    const { other } = this.controller.state;
    if (!other) return Promise.resolve();
    const { line, cursor } = other.story;
    return this.show(other.tip, line[Math.max(0, Math.min(line.length - 1, cursor.depth + by))]);
  }

  /** The other branch becomes the one that is walked, each at its place. */
  swap() {
    const { controller } = this;
    const { story, other } = controller.state;
    if (!other) return Promise.resolve();
    const [tip, place] = [tipOf(story.cursor), story.cursor];
    return controller.queue(async () => {
      for (let at = other.tip; at.parent; at = at.parent) at.parent.next = at; // forward goes there from now on
      await controller.travel(other.story.cursor);
      await this.showNow(tip, place);
    });
  }
}

/** The branch that leaves a given one last. */
export function nearest(all, mine) {
  let found = null;
  for (const tip of all)
    if (tip !== mine && (!found || meetingPlace(tip, mine).depth > meetingPlace(found, mine).depth)) found = tip;
  return found;
}
