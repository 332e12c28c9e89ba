// SPDX-License-Identifier: MIT
/* A story as the text of a replay file, and back. */
#ifndef CONCLAVE_EXPLORE_REPLAY_TEXT_H
#define CONCLAVE_EXPLORE_REPLAY_TEXT_H

#include <stdio.h>

#include "explore/decision_text.h"
#include "explore/explored.h"
#include "explore/scenario_words.h"

/*
 * Writes the story so far. If the checker's replay can play it (an election or mutual exclusion of at most 16 nodes,
 * with faults that the checker knows), the file says so in the checker's words; otherwise in those of the simulator,
 * and the explorer plays it.
 */
void replay_text_write(FILE *out, const struct explored *world, const struct scenario_words *words);

/* A file that is being read, line by line. */
struct replay_lines {
    char *text; /* a copy of it */
    struct text_lines lines;
    char *line;       /* the last one, if it is still to be read; or NULL */
    uint32_t version; /* of the format: 1 or 2 */
};

/*
 * Begins: reads the first line, the words as a list of texts for scenario_words_read(), and the files that they name.
 * 0, CV_ENOMEM or CV_EINPUT with a complaint. Free both and end the reading in any case.
 */
int replay_lines_begin(struct replay_lines *lines, const char *text, struct json_value **words,
                       struct json_value **files, struct cv_complaint *complaint);

/* A line of a file that is read: a decision, and what else happened. */
struct replay_decision {
    struct cv_decision decision;
    uint32_t type;      /* enum explored_type */
    uint32_t partition; /* that begins or ends, or UINT32_MAX */
};

/* The next decision. 1: there is one; 0: the file ends; or CV_EINPUT with a complaint. */
int replay_lines_next(struct replay_lines *lines, const struct explored *world, struct replay_decision *next,
                      struct cv_complaint *complaint);
void replay_lines_end(struct replay_lines *lines);

#endif
