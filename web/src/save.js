// SPDX-License-Identifier: MIT
/* Pictures and stories as files. */
import { DiagramPicture } from "./diagram.js";
import { html, render } from "./view.js";

const MOST_PIXELS = 16000; // on a side, which every browser can draw

function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Rules whose colour is that of a class around or at them, as one rule for each of these classes. */
function spreadOver(rule, variable, name, values) {
  const rules = [];
  for (let i = 0; i < 8; i++) {
    const at = `.${name}${i}`;
    const selectors = rule.selectorText.split(",").flatMap((part) => {
      const selector = part.trim();
      return selector.startsWith(".") ? [`${at} ${selector}`, at + selector] : [`${at} ${selector}`];
    });
    const colour = colourOf(at, variable, values);
    if (colour) rules.push(`${selectors.join(",")}{${rule.style.cssText.replaceAll(`var(${variable})`, colour)}}`);
  }
  return rules;
}

/** What a class such as .k3 makes of a variable such as --kind. */
function colourOf(selector, variable, values) {
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules)
      if (rule.selectorText === selector && rule.style.getPropertyValue(variable)) {
        const name = /--[\w-]+/.exec(rule.style.getPropertyValue(variable))?.[0];
        return values.getPropertyValue(name).trim();
      }
  return null;
}

/** The rules of the page that a picture needs, with colours in the place of variables. */
function pictureStyle() {
  const values = getComputedStyle(document.documentElement);
  const rules = [];
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules) {
      const wanted =
        /^(text|\.(network|diagram|node|message|flight|mark|solid|star|cross|life|down-line|tick|label|k\d|head|shaft|tip|link|tree|cut|member|cluster|preferred|voters|c\d|halo|body|name|role|attr|pill|inside|wait|later|gone|column|grid|target|line-name|dot|inmark|crown|token|weight|bare|suspect|back|wants|here|violated))/;
      if (!rule.selectorText?.split(",").some((part) => wanted.test(part.trim()))) continue;
      if (rule.cssText.includes("var(--kind)")) rules.push(...spreadOver(rule, "--kind", "k", values));
      else if (rule.cssText.includes("var(--set)")) rules.push(...spreadOver(rule, "--set", "c", values));
      else rules.push(rule.cssText);
    }
  return rules.join("\n").replace(/var\((--[\w-]+)\)/g, (_, name) => values.getPropertyValue(name).trim() || "none");
}

/** A picture of the page as a document of its own. */
function standalone(picture) {
  const copy = picture.cloneNode(true);
  const { width, height } = picture.viewBox.baseVal;
  const background = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  for (const it of copy.querySelectorAll("[tabindex]")) it.removeAttribute("tabindex");
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.textContent = `text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif}\n${pictureStyle()}`;
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width, height, fill: background })) paper.setAttribute(name, value);
  copy.prepend(style, paper);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

/** The whole diagram, not only what is in sight. */
function wholeDiagram({ scenario, story }) {
  const box = document.createElement("div");
  const everything = { left: 0, right: Number.MAX_SAFE_INTEGER, top: 0, bottom: Number.MAX_SAFE_INTEGER };
  render(html`<${DiagramPicture} scenario=${scenario} story=${story} window=${everything} whole=${true} />`, box);
  return box.querySelector("svg");
}

function picture(what, state) {
  return standalone(what === "diagram" ? wholeDiagram(state) : document.querySelector("svg.network"));
}

export function saveSvg(what, state) {
  download(`${state.scenario.algorithm}-${what}.svg`, picture(what, state).text, "image/svg+xml");
}

export async function savePng(what, state) {
  const { text, width, height } = picture(what, state);
  const scale = Math.min(2, MOST_PIXELS / Math.max(width, height));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  download(`${state.scenario.algorithm}-${what}.png`, blob);
}

/** This page as it was served, with the story in it: it plays by itself when it is opened. */
export function savePage(source, controller) {
  const { scenario, files, recordings } = controller.state;
  const what = recordings
    ? { recordings, name: scenario.recording.chosen }
    : { words: scenario.words, files, indices: controller.tipIndices() };
  const begin = { ...what, fromStart: true, play: true };
  const text = JSON.stringify(begin).replace(/</g, "\\u003c");
  const page = source.replace(
    /(<script id="begin" type="application\/json">)[\s\S]*?(<\/script>)/,
    (_, open, end) => open + text + end,
  );
  download(`${scenario.algorithm}-story.html`, page, "text/html");
}

export async function saveText(controller, name) {
  const { algorithm } = controller.state.scenario;
  if (name === "export")
    download(`${algorithm}.replay`, (await controller.text("export")).file, "application/octet-stream");
  else download(`${algorithm}.txt`, (await controller.text("story", { as: "transcript" })).text, "text/plain");
}
