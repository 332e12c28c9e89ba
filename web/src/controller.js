// SPDX-License-Identifier: MIT
/*
 * Everything that a button or a key does. The controller owns the state of the page; components read it and call it.
 * Requests to the engine are taken one after the other, so that quick fingers cannot mix up two states.
 */
import { startEngine } from "./engine.js";
import { joinWords, readLink, splitWords, writeLink } from "./link.js";
import { makeQuestion } from "./predict.js";
import { beginOf, WHY_NO_LINK, WHY_NOTHING_ELSE } from "./recorded.js";
import { Second } from "./second.js";
import { addStep, firstViolation, indicesBetween, makeStory, meetingPlace, moveTo, tipOf, tips } from "./story.js";

const RUN_STEPS = 10000;
const PLAY_MS = 700;
const ADDRESS_MS = 400;
const LONGEST_ADDRESS = 8000;
const LARGE_GROUP = 17; // the engine tells such a group in part: a node and a message are asked about
const MOST_UNDRAWN_MS = 100;
const NO_TEXT =
  "This file is no text. Expected a story saved here, a counterexample of conclave check, a trace of conclave sim, or what live nodes recorded";

export class Controller {
  constructor(begin) {
    this.begin = begin ?? {};
    this.listeners = new Set();
    this.turn = Promise.resolve();
    this.waiting = 0; // things to do
    this.drawn = 0; // when
    this.undrawn = false; // the state has changed since
    this.goal = null; // the step that the slider wishes
    this.engine = null;
    this.second = new Second(this); // the branch beside this one
    this.written = location.href; // the address as the page knows it
    // What components call. A component is drawn again if it is given another function.
    this.acts = Object.fromEntries(
      ["take", "select", "deliver", "selectMessage", "goTo", "showWays"].map((name) => [
        name,
        (...words) => this[name](...words),
      ]),
    );
    this.state = {
      busy: true,
      error: null, // one line about what could not be done
      notice: null, // one line about what was done
      catalogue: null,
      scenario: null,
      files: {},
      recordings: null, // the texts that live nodes recorded, if the story is theirs
      story: makeStory(),
      now: null,
      events: [],
      own: [], // what concerns the node and the message that are looked at, in groups too large to list it all
      untold: {}, // how many events there are beside these, by type, and likely ones
      node: null, // the node that is looked at
      message: null, // the message whose choices are shown
      playing: false,
      overlay: null, // "gallery", "help", "save", "break"
      search: null, // {states, done, found, …}
      broken: null, // the way in which an assumption was broken: {assumption, what, …}
      other: null, // the branch beside this one: {tip, now, story: {line, cursor}}
      predict: null, // a question before a step
      ways: null, // the ways in which an event can go: {index, variants, …}
      why: false, // is the handler of each step shown?
    };
  }

  // ---- state ----

  listen(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set(change) {
    this.state = { ...this.state, ...change };
    this.draw();
  }

  draw() {
    this.undrawn = false;
    this.drawn = performance.now();
    for (const listener of this.listeners) listener(this.state);
  }

  /** Does one thing after the other; what goes wrong becomes a line. */
  queue(work) {
    this.waiting++;
    this.turn = this.turn.then(async () => {
      try {
        await work();
      } catch (error) {
        this.set({ error: error.message, busy: false, playing: false });
      }
      this.waiting--;
      if (this.undrawn && !this.waiting) this.draw();
    });
    return this.turn;
  }

  // ---- scenarios ----

  async start() {
    await this.queue(async () => {
      this.engine = await startEngine(this.begin.served);
      const { algorithms } = await this.engine.request("catalogue");
      this.set({ catalogue: algorithms, busy: false });
    });
    if (!this.engine) return;
    const begin = this.linked() ?? (this.begin.words || this.begin.replay || this.begin.recordings ? this.begin : null);
    if (begin) await this.open(begin);
    if (!this.state.scenario) this.set({ overlay: "gallery" });
  }

  /** The story that the address holds, or null. */
  linked() {
    try {
      return readLink(location.hash);
    } catch (error) {
      this.set({ error: `The link cannot be read: ${error.message}.` });
      return null;
    }
  }

  /** The address has changed: somebody has pasted a link. */
  openLink() {
    if (location.href === this.written) return Promise.resolve();
    clearTimeout(this.address);
    this.written = location.href;
    const link = this.linked();
    return link ? this.open(link) : Promise.resolve();
  }

  /** Begins a story; one that is to be seen plays by itself. */
  async open(begin) {
    await this.openNow(begin);
    if (begin.play && !this.state.error) this.play();
  }

  openNow(begin) {
    return this.queue(async () => {
      this.stopPlaying();
      this.set({ busy: true, error: null });
      const opened = await this.engine.request("open", begin);
      const { scenario, trouble, now, events, untold, history: taken } = opened;
      const story = makeStory();
      let place = story.root;
      for (const entry of taken) place = addStep(story, place, entry.index, entry);
      moveTo(story, place);
      this.set({
        busy: false,
        scenario,
        story,
        now,
        events,
        untold,
        own: [],
        files: opened.files ?? begin.files ?? {},
        recordings: begin.recordings ?? null,
        node: null,
        message: null,
        overlay: begin.overlay ?? null,
        search: null,
        broken: null,
        ways: null,
        other: null,
        predict: null,
        about: begin.about ?? null,
      });
      if (taken.length && begin.fromStart) await this.travel(story.root);
      else this.writeAddress();
      if (trouble) this.set({ error: `The story ends early: ${trouble}.` });
    });
  }

  /** Opens what a person typed: sim's words. */
  openLine(line) {
    const words = splitWords(line).filter((word, i) => !(i < 2 && /^(conclave|explore|sim)$/.test(word)));
    return this.open({ words, files: this.state.files });
  }

  /** Opens the texts of files: one, or several that live nodes have recorded. */
  openFiles(texts) {
    if (texts.some((text) => text.includes("\0"))) {
      this.set({ error: `${NO_TEXT}.` });
      return Promise.resolve();
    }
    return this.open(beginOf(texts));
  }

  /** Tells what was recorded of another name. */
  chooseName(name) {
    return this.open({ ...beginOf(this.state.recordings), name });
  }

  line() {
    return this.state.scenario ? joinWords(this.state.scenario.words) : "";
  }

  // ---- steps ----

  /** The event that would happen next if nothing went wrong; null if nothing is left to happen. */
  likely() {
    const { events } = this.state;
    return events.find((event) => event.next) ?? events.find((event) => event.likely) ?? null;
  }

  /** Delivers a message, if it is its turn. */
  deliver(serial) {
    const message = this.state.now.messages.find((it) => it.serial === serial);
    return message?.deliverable ? this.take(message.event) : Promise.resolve();
  }

  take(index) {
    return this.queue(() => this.takeNow(index));
  }

  async takeNow(index) {
    const { story } = this.state;
    const from = story.cursor;
    const known = from.children.find((child) => child.index === index);
    const seen = await this.engine.request("step", { from: from.depth, index, ...this.wanted() });
    const place = known ?? addStep(story, from, index, seen.history[0]);
    moveTo(story, place);
    this.show(seen);
  }

  /** What is looked at beside the whole. */
  wanted() {
    const { node, message, scenario } = this.state;
    return scenario.nodes.length < LARGE_GROUP ? {} : { node, message };
  }

  /** Draws what the engine has told; not every step of many that were asked for at once. */
  show({ now, events, own, untold }) {
    const message = now.messages.some(({ serial }) => serial === this.state.message) ? this.state.message : null;
    this.state = { ...this.state, now, events, own, untold, message, ways: null, error: null, notice: null };
    if (this.waiting > 1 && performance.now() - this.drawn < MOST_UNDRAWN_MS) this.undrawn = true;
    else this.draw();
    this.writeAddress();
  }

  async travel(place) {
    const { story } = this.state;
    if (place === story.cursor) return;
    const meeting = meetingPlace(story.cursor, place);
    const indices = indicesBetween(meeting, place);
    const back = meeting === story.cursor ? null : meeting.depth;
    const seen = await this.engine.request("travel", { back, indices, ...this.wanted() });
    moveTo(story, place);
    this.show(seen);
  }

  goTo(place) {
    return this.queue(() => this.travel(place));
  }

  /** Whoever draws the slider asks for many steps and wants to see the last. */
  goToDepth(depth) {
    this.goal = depth;
    return this.queue(() => {
      const { line } = this.state.story;
      const goal = this.goal ?? depth;
      this.goal = null;
      return this.travel(line[Math.max(0, Math.min(goal, line.length - 1))]);
    });
  }

  back() {
    this.stopPlaying();
    return this.queue(() => this.travel(this.state.story.cursor.parent ?? this.state.story.root));
  }

  /** Along the branch if it goes on from here, or what is likely next. */
  forward() {
    return this.queue(() => this.forwardNow());
  }

  async forwardNow() {
    const { next } = this.state.story.cursor;
    if (next) return this.travel(next);
    const event = this.likely();
    if (event && this.state.predict) return this.askAbout(event);
    if (event) return this.takeNow(event.index);
    this.set({ notice: "Nothing is left to happen." });
  }

  toStart() {
    this.stopPlaying();
    return this.goToDepth(0);
  }

  toEnd() {
    this.stopPlaying();
    return this.queue(() => this.travel(tipOf(this.state.story.cursor)));
  }

  /** Does what is likely until nothing is left. */
  run() {
    this.stopPlaying();
    return this.queue(async () => {
      const { story } = this.state;
      if (story.cursor.next) await this.travel(tipOf(story.cursor));
      const from = story.cursor;
      this.set({ busy: true });
      const seen = await this.engine.request("run", { from: from.depth, count: RUN_STEPS, ...this.wanted() });
      let place = from;
      for (const entry of seen.history) place = addStep(story, place, entry.index, entry);
      moveTo(story, place);
      this.state = { ...this.state, busy: false };
      this.show(seen);
    });
  }

  // ---- playing by itself ----

  play() {
    if (this.state.playing) {
      this.stopPlaying();
      return;
    }
    this.set({ playing: true });
    const tick = async () => {
      const before = this.state.story.cursor;
      await this.forward();
      if (!this.state.playing) return;
      const at = this.state.story.cursor;
      if (at === before || at.entry?.violated?.length || this.isRemarkable(at)) this.set({ playing: false });
      else this.timer = setTimeout(tick, PLAY_MS);
    };
    tick();
  }

  /** Has this step made a second leader, or let a second one in? Then there is something to look at. */
  isRemarkable({ entry }) {
    const { scenario, now } = this.state;
    const alive = now.nodes.filter((node) => node.alive);
    const leaders = alive.filter(({ node, leader }) => leader === scenario.nodes[node].id);
    if (entry?.elected === scenario.nodes[entry?.node]?.id) return leaders.length > 1;
    return entry?.entered != null && alive.filter(({ inside }) => inside).length > 1;
  }

  stopPlaying() {
    clearTimeout(this.timer);
    if (this.state.playing) this.set({ playing: false });
  }

  // ---- predicting ----

  togglePredict() {
    this.stopPlaying();
    this.set({ predict: this.state.predict ? null : { question: null, right: 0, asked: 0, last: null } });
  }

  /** Takes the step out of sight, makes a question of what it did, and goes back. */
  async askAbout(event) {
    const { predict, story, scenario } = this.state;
    if (predict.question) return;
    const from = story.cursor.depth;
    const { history } = await this.engine.request("step", { from, index: event.index });
    await this.engine.request("travel", { back: from, indices: [] });
    const question = makeQuestion(scenario, story.line, event, history[0]);
    if (question) this.set({ predict: { ...predict, question } });
    else await this.takeNow(event.index);
  }

  answer(choice) {
    const { predict } = this.state;
    if (!predict?.question) return Promise.resolve();
    const { question, right, asked } = predict;
    const was = choice === question.right;
    this.set({
      predict: {
        question: null,
        right: right + (was ? 1 : 0),
        asked: asked + 1,
        last: { was, text: `it ${question.right}.` },
      },
    });
    return this.take(question.index);
  }

  // ---- branches ----

  /** The next branch, or the one before. */
  async turnBranch(by) {
    await this.turn; // what is under way may change which branch stands beside
    const all = tips(this.state.story);
    const at = all.indexOf(tipOf(this.state.story.cursor));
    return this.goToBranch(all[(at + by + all.length) % all.length]);
  }

  /** To the end of a branch; if that is the one beside this, the two change places. */
  async goToBranch(tip) {
    await this.turn;
    return tip === this.state.other?.tip ? this.second.swap() : this.goTo(tip);
  }

  toViolation() {
    const place = firstViolation(this.state.story);
    return place ? this.goTo(place) : Promise.resolve();
  }

  // ---- search ----

  /** Looks ahead from here for a state, in an engine of its own: one can go on meanwhile. */
  async search(goal, limits) {
    const { scenario, story, files } = this.state;
    const from = story.cursor;
    if (this.state.search && !this.state.search.done) return;
    this.stopPlaying();
    this.set({ search: { states: 0, done: false, goal }, error: null });
    let seeker = null;
    try {
      seeker = await startEngine(this.begin.served);
      this.seeker = seeker;
      const indices = indicesBetween(story.root, from);
      await seeker.request("open", { words: scenario.words, files, indices });
      const began = performance.now();
      const found = await seeker.request("search", { goal, limits }, (progress) => {
        this.set({ search: { ...progress, done: false, goal } });
      });
      const seconds = (performance.now() - began) / 1000;
      if (this.state.story !== story) return;
      this.set({ search: { ...found, done: true, goal, seconds } });
      if (found.found) await this.follow(from, found.indices);
    } catch (error) {
      this.set({ search: null, error: error.message });
    } finally {
      seeker?.end();
      this.seeker = null;
    }
  }

  /** Opens a small group in which an assumption does not hold, and goes to what that breaks. */
  async breakBy(way) {
    await this.open({ words: way.words });
    if (this.state.error) return;
    this.set({ broken: way });
    if (!way.run) {
      await this.search({ kind: "violation" }, way.limits);
      return;
    }
    await this.run();
    await this.toViolation();
  }

  /** From the start to the violation, by itself. */
  async watch() {
    await this.toStart();
    this.play();
  }

  /** Makes a branch of what was found, and goes to its end. */
  follow(from, indices) {
    return this.queue(async () => {
      const { story } = this.state;
      await this.travel(from);
      const seen = await this.engine.request("travel", { from: from.depth, back: null, indices, ...this.wanted() });
      let place = from;
      for (const entry of seen.history) place = addStep(story, place, entry.index, entry);
      moveTo(story, place);
      this.show(seen);
    });
  }

  stopSearch() {
    this.seeker?.stop();
  }

  // ---- looking ----

  select(node) {
    const chosen = this.state.node === node ? null : node;
    this.set({ node: chosen, message: null, own: [] });
    return this.lookAgain();
  }

  selectMessage(serial) {
    this.set({ message: this.state.message === serial ? null : serial, own: [] });
    return this.lookAgain();
  }

  /** In a large group: asks what concerns what is looked at now. */
  lookAgain() {
    const { scenario, node, message } = this.state;
    if (scenario.nodes.length < LARGE_GROUP || (node == null && message == null)) return Promise.resolve();
    return this.queue(async () => this.show(await this.engine.request("look", this.wanted())));
  }

  /** Shows in which ways an event can go; null: none. */
  showWays(index) {
    return this.queue(async () => {
      this.set({ ways: index == null ? null : await this.engine.request("ways", { index }) });
    });
  }

  toggleWhy() {
    this.set({ why: !this.state.why });
  }

  overlay(name) {
    if (name === "break" && this.state.scenario?.recorded) {
      this.set({ notice: WHY_NOTHING_ELSE });
      return;
    }
    this.set({ overlay: this.state.overlay === name ? null : name });
  }

  // ---- what others get ----

  indices() {
    return indicesBetween(this.state.story.root, this.state.story.cursor);
  }

  /** To the end of the branch, however far one has gone back. */
  tipIndices() {
    return indicesBetween(this.state.story.root, tipOf(this.state.story.cursor));
  }

  link() {
    const { scenario, files } = this.state;
    return `${location.href.replace(/#.*/, "")}#${writeLink(scenario.words, files, this.indices())}`;
  }

  /** Keeps the address of the page the link to this story, as long as it is short enough to be one. */
  writeAddress() {
    clearTimeout(this.address);
    this.address = setTimeout(() => {
      const link = this.state.scenario?.recorded ? location.href.replace(/#.*/, "") : this.link();
      if (link.length <= LONGEST_ADDRESS && location.href === this.written) this.replaceAddress(link);
    }, ADDRESS_MS);
  }

  /** An address that is not the one written last was pasted by somebody, and is about to be opened. */
  replaceAddress(link) {
    history.replaceState(null, "", link);
    this.written = location.href;
  }

  async copyLink() {
    if (!this.state.scenario) return;
    if (this.state.scenario.recorded) {
      this.set({ notice: WHY_NO_LINK });
      return;
    }
    const link = this.link();
    this.replaceAddress(link);
    try {
      await navigator.clipboard.writeText(link);
      this.set({ notice: "The link to this story is copied." });
    } catch {
      this.set({ notice: "The address of this page is now the link to this story." });
    }
  }

  /** The engine's text of that name: the story in words, or the file for `conclave sim --replay`. */
  text(name, words) {
    return this.engine.request("text", { name, words });
  }
}
