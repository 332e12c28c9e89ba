// SPDX-License-Identifier: MIT
/* Where the page begins. */
import { App } from "./app.js";
import { Controller } from "./controller.js";
import { listenToKeys } from "./keys.js";
import { Look } from "./look.js";
import { html, render } from "./view.js";

// The page can save itself with a story in it: this is how it was before anything was drawn.
const source = `<!DOCTYPE html>\n${document.documentElement.outerHTML}`;

const data = (id) => JSON.parse(document.getElementById(id).textContent);

const controller = new Controller(data("begin"));
controller.look = new Look(() => controller.set({}));
render(
  html`<${App} controller=${controller} gallery=${data("gallery")} source=${source} />`,
  document.getElementById("page"),
);
listenToKeys(controller);
addEventListener("hashchange", () => controller.openLink());
controller.start();
