// SPDX-License-Identifier: MIT
// What every component needs of preact and htm.
import htm from "htm";
import { h } from "preact";

export { Fragment, render } from "preact";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

export const html = htm.bind(h);

/** Joins the class names that hold: classes("node", dead && "dead"). */
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}

/** A number of things in words: count(1, "step"), count(2, "branch", "branches"). */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
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
