// SPDX-License-Identifier: MIT
/*
 * A replay file line by line. After the first line and the words of the scenario come the files that the words name,
 * then what happens, a decision per line, in ids:
 *
 *     word --graph
 *     word net.txt
 *     file net.txt
 *     line 1 2
 *     deliver 2 from 1 place 1 chose 3
 *     timeout 2 timer 0
 *     deliver 3 from 1 sent 2 missed
 */
#ifndef CONCLAVE_EXPLORE_DECISION_TEXT_H
#define CONCLAVE_EXPLORE_DECISION_TEXT_H

#include <stdio.h>

#include "check/setting/decision.h"
#include "core/index.h"

/* The rest of a text that is read line by line. */
struct text_lines {
    char *rest;
    uint64_t number; /* of the last line, from 1 */
};

/* The next line, or NULL. */
char *text_lines_next(struct text_lines *lines);

/* The name of a decision, and the decision of a name: false if there is none. */
const char *decision_name(enum cv_decision_type type);
bool decision_find(const char *name, enum cv_decision_type *type);

/* Writes a decision of that name. `about`: the peer is the sender of a message. */
void decision_write(FILE *out, const char *name, bool about, const struct cv_decision *decision, const cv_id *ids);

/* Reads what stands after the name: the node and the rest. False if it is something else. Changes the line. */
bool decision_read(char *line, const struct cv_index *index, struct cv_decision *decision);

/* Only how it goes: chose, sent, missed. NULL: nothing is said. */
bool decision_read_way(char *line, struct cv_decision *decision);

/* A number of 32 bits; false if the text is NULL or something else. */
bool decision_read_number(const char *text, uint32_t *number);

#endif
