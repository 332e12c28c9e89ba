// SPDX-License-Identifier: MIT
/* "Did you mean": finds the word of a list that was probably meant. */
#ifndef CONCLAVE_CLI_NEAREST_H
#define CONCLAVE_CLI_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word; /* as the user wrote it */
    const char *best; /* of those offered so far, or NULL */
    size_t distance;  /* letters to add, drop, change or swap with their neighbour */
};

struct nearest nearest_to(const char *word);
void nearest_offer(struct nearest *nearest, const char *candidate);

struct nearest_text {
    char text[80];
};

/* " (did you mean BEFOREbest?)", or nothing if no word that was offered is near enough. */
struct nearest_text nearest_question(const struct nearest *nearest, const char *before);

#endif
