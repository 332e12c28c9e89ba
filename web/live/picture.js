// SPDX-License-Identifier: MIT
/* The members as a picture: the explorer's circle, its nodes and its links, as this node sees them. */
import { HEIGHT, nodeRadius, onCircle, WIDTH } from "../src/layout.js";
import { CROSS, CROWN, nameSize } from "../src/shapes.js";

const SPACE = "http://www.w3.org/2000/svg";
const LINKS = { alive: "link", expected: "link expected", suspected: "cut" };

function shape(tag, attributes, ...children) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function node(member, place, radius, coordinator) {
  const leads = member.id === coordinator;
  const gone = member.state === "suspected";
  const kind = ["node", leads && "leads", gone && "dead", member.state === "self" && "acted"].filter(Boolean).join(" ");
  const role = member.state === "self" ? "this node" : member.state;
  const size = nameSize(radius);
  return shape(
    "g",
    { class: kind, transform: `translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})`, "data-member": member.id },
    shape("circle", { class: "halo", r: radius + 5 }),
    shape("circle", { class: "body", r: radius }),
    shape("text", { class: "name", y: size / 3, "font-size": size }, String(member.id)),
    ...(leads ? [shape("path", { class: "crown", transform: `translate(0 ${-radius - 4})`, d: CROWN })] : []),
    ...(gone
      ? [shape("path", { class: "cross", transform: `translate(${radius * 0.75} ${-radius * 0.75})`, d: CROSS })]
      : []),
    ...(radius < 14 ? [] : [shape("text", { class: "role", y: radius + 15 }, role)]),
  );
}

/** What the picture says, for those who do not see it. */
export function membersInWords(members, coordinator) {
  const said = members.map(({ id, state }) => {
    const words = state === "self" ? "this node" : state;
    return `${id} ${words}${id === coordinator ? ", coordinates" : ""}`;
  });
  return `the members: ${said.join("; ")}`;
}

/** Draws anew when something has changed that the picture shows. */
export function drawMembers(svg, members, coordinator) {
  const words = membersInWords(members, coordinator);
  svg.toggleAttribute("hidden", members.length < 2);
  if (svg.getAttribute("aria-label") === words) return;
  svg.setAttribute("aria-label", words);
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  const places = onCircle(members.length);
  const radius = nodeRadius(members.length);
  const self = Math.max(
    0,
    members.findIndex(({ state }) => state === "self"),
  );
  const links = members.map(({ state }, i) => {
    const ends = { x1: places[self].x, y1: places[self].y, x2: places[i].x, y2: places[i].y };
    return i === self ? null : shape("line", { class: LINKS[state] ?? "link", ...ends });
  });
  const nodes = members.map((member, i) => node(member, places[i], radius, coordinator));
  svg.replaceChildren(...links.filter(Boolean), ...nodes);
}
