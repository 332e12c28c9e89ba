// SPDX-License-Identifier: MIT
/* Dark or light, and the size of letters; kept for the next visit where the browser allows it. */
const SIZES = [14, 16, 18, 21, 25, 30];
const KEY = "conclave-look";

function recall() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)");

export class Look {
  constructor() {
    const { chosen, size } = recall();
    this.chosen = chosen === "dark" || chosen === "light" ? chosen : null; // null: as the system has it, now and later
    this.size = Number.isInteger(size) && SIZES[size] ? size : 1;
    dark.addEventListener("change", () => this.apply());
    this.apply();
  }

  get theme() {
    return this.chosen ?? (dark.matches ? "dark" : "light");
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
  }
}
