// SPDX-License-Identifier: MIT
/* Small tools of the node's page. Every text from the node becomes text, never markup. */

export const byId = (id) => document.getElementById(id);

export function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function make(tag, text = "", name = "") {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  if (name) element.className = name;
  return element;
}

/** The children of a list, one for each item, in their order; a child stays while its item does. */
export function keyed(parent, items, key, create, update) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const id = key(item);
    let child = known.get(id);
    known.delete(id);
    if (!child) {
      child = create(item);
      child.dataset.key = id;
    }
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
    update(child, item);
  }
  for (const child of known.values()) child.remove();
}

/** Makes rows of a table with these columns. */
export function row(...labels) {
  return () => {
    const line = make("tr");
    for (const label of labels) {
      const cell = make("td");
      cell.dataset.label = label;
      line.append(cell);
    }
    return line;
  };
}

export function lines(cell, texts) {
  while (cell.childElementCount > texts.length) cell.lastElementChild.remove();
  while (cell.childElementCount < texts.length) cell.append(make("div"));
  for (const [i, text] of texts.entries()) set(cell.children[i], text);
}
