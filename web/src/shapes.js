// SPDX-License-Identifier: MIT
/* Shapes that the pictures of the explorer and of the node's page have in common. */

/** Who leads: it stands on its baseline. */
export const CROWN = "M-8 0l-2-9 5 4 5-7 5 7 5-4-2 9z";

/** Who is down, or taken for it. */
export const CROSS = "M-5-5l10 10m0-10l-10 10";

/** How large the letters of a name are in a node of that radius. */
export function nameSize(radius) {
  return Math.max(8, Math.min(16, radius * 0.8));
}
