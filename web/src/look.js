// SPDX-License-Identifier: MIT
/* Dark or light, and the size of letters; kept for the next visit where the browser allows it. */
const SIZES = [14, 16, 18, 21, 25, 30];
const USUAL = 1;
const NARROW_ZOOM = 1.65; // a picture of a phone's width would have letters that nobody reads
const KEY = "conclave-look";

function recall() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 60rem)");

export class Look {
  /** `onResize` is called when letters are to be of another size. */
  constructor(onResize) {
    const { chosen, size } = recall();
    this.chosen = chosen === "dark" || chosen === "light" ? chosen : null; // null: as the system has it, now and later
    this.size = Number.isInteger(size) && SIZES[size] ? size : USUAL;
    this.onResize = onResize;
    dark.addEventListener("change", () => this.apply());
    narrow.addEventListener("change", onResize);
    this.apply();
  }

  get theme() {
    return this.chosen ?? (dark.matches ? "dark" : "light");
  }

  /** How much larger than usual letters are. */
  get letters() {
    return Math.max(1, SIZES[this.size] / SIZES[USUAL]);
  }

  /** How much closer one looks at the network: its letters keep up with those around it. */
  get zoom() {
    return this.letters * (narrow.matches ? NARROW_ZOOM : 1);
  }

  apply() {
    document.documentElement.dataset.theme = this.theme;
    document.documentElement.style.fontSize = `${SIZES[this.size]}px`;
  }

  keep() {
    try {
      localStorage.setItem(KEY, JSON.stringify({ chosen: this.chosen ?? undefined, size: this.size }));
    } catch {
      // A page from a file may not be allowed to keep anything.
    }
  }

  /** The other one. Whoever turns it back to what the system has follows the system again. */
  turnTheme() {
    const wanted = this.theme === "dark" ? "light" : "dark";
    this.chosen = wanted === (dark.matches ? "dark" : "light") ? null : wanted;
    this.apply();
    this.keep();
  }

  resize(by) {
    this.size = Math.max(0, Math.min(SIZES.length - 1, this.size + by));
    this.apply();
    this.keep();
    this.onResize();
  }
}
