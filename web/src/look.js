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

export class Look {
  constructor() {
    const { theme, size } = recall();
    this.theme = theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    this.size = Number.isInteger(size) && SIZES[size] ? size : 1;
    this.apply();
  }

  apply() {
    document.documentElement.dataset.theme = this.theme;
    document.documentElement.style.fontSize = `${SIZES[this.size]}px`;
    try {
      localStorage.setItem(KEY, JSON.stringify({ theme: this.theme, size: this.size }));
    } catch {
      // A page from a file may not be allowed to keep anything.
    }
  }

  turnTheme() {
    this.theme = this.theme === "dark" ? "light" : "dark";
    this.apply();
  }

  resize(by) {
    this.size = Math.max(0, Math.min(SIZES.length - 1, this.size + by));
    this.apply();
  }
}
