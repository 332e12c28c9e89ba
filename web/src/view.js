// SPDX-License-Identifier: MIT
// What every component needs of preact and htm.
import htm from "htm";
import { Component, h } from "preact";

export { Fragment, render } from "preact";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { count } from "./format.js";

/*
 * Everything is made anew whenever it is drawn (htm keeps what never changes unless its first word says 3). Preact links
 * what it draws to all that was drawn with it: whoever keeps one part keeps an old page, and that the one before it.
 */
export const html = htm.bind(function (...words) {
  this[0] = 3;
  return h(...words);
});

function differ(one, other) {
  for (const name in one) if (!(name in other)) return true;
  for (const name in other) if (one[name] !== other[name]) return true;
  return false;
}

/** The component, drawn again only if something that it is given is another. */
export function memo(component) {
  return class extends Component {
    shouldComponentUpdate(props) {
      return differ(this.props, props);
    }
    render(props) {
      return h(component, props);
    }
  };
}

/** Joins the class names that hold: classes("node", dead && "dead"). */
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}

/** What Enter and Space do on a part of a picture that is a button. */
export function onActivate(act) {
  return (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    act(event);
  };
}
