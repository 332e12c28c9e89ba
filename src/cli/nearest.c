// SPDX-License-Identifier: MIT
#include "cli/nearest.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 40u /* no known word is longer */

struct nearest nearest_to(const char *word)
{
    return (struct nearest){.word = word};
}

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* The distance of Damerau and Levenshtein. Three rows of the usual table are enough. */
static size_t distance(const char *from, const char *to)
{
    size_t rows[3][LONGEST + 1];
    const size_t width = strlen(to);
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = j;
    size_t i = 0;
    for (; from[i]; i++) {
        const size_t *above = rows[i % 3], *before = rows[(i + 2) % 3];
        size_t *row = rows[(i + 1) % 3];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            row[j + 1] = least(least(above[j + 1], row[j]) + 1, above[j] + (from[i] != to[j]));
            if (i && j && from[i] == to[j - 1] && from[i - 1] == to[j])
                row[j + 1] = least(row[j + 1], before[j - 1] + 1);
        }
    }
    return rows[i % 3][width];
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    if (strlen(nearest->word) > LONGEST || strlen(candidate) > LONGEST)
        return;
    const size_t found = distance(nearest->word, candidate);
    if (!nearest->best || found < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = found;
    }
}

/* Allows one error for every three letters, but not all letters of a short word. */
static int is_near(const struct nearest *nearest)
{
    const size_t length = strlen(nearest->word);
    return nearest->best && nearest->distance < length && nearest->distance <= (length < 6 ? 1 : length / 3);
}

struct nearest_text nearest_question(const struct nearest *nearest, const char *before)
{
    struct nearest_text question = {""};
    if (is_near(nearest))
        snprintf(question.text, sizeof question.text, " (did you mean %s%s?)", before, nearest->best);
    return question;
}
