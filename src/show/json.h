// SPDX-License-Identifier: MIT
/*
 * Writes JSON without a tree in memory: a run of ten million nodes prints a line of their leaders. It keeps track of
 * commas.
 */
#ifndef CONCLAVE_SHOW_JSON_H
#define CONCLAVE_SHOW_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CV_JSON_DEPTH 16u

struct cv_json {
    FILE *out;
    unsigned depth;
    bool filled[CV_JSON_DEPTH]; /* something stands at this depth already */
};

/* `key` is NULL inside lists and at the top. */
void cv_json_open(struct cv_json *json, const char *key, char bracket);     /* '{' or '[' */
void cv_json_close(struct cv_json *json, char bracket);                     /* '}' or ']' */
void cv_json_text(struct cv_json *json, const char *key, const char *text); /* NULL: null */
void cv_json_count(struct cv_json *json, const char *key, uint64_t number);
void cv_json_real(struct cv_json *json, const char *key, double number); /* a whole number prints as one */
void cv_json_truth(struct cv_json *json, const char *key, bool truth);
void cv_json_null(struct cv_json *json, const char *key);

/* "key":[...] */
void cv_json_numbers(struct cv_json *json, const char *key, const uint32_t *numbers, uint64_t count);

/* "key":number or "key":null where the key is a number itself. */
void cv_json_numbered(struct cv_json *json, uint64_t key, bool known, uint64_t number);

#endif
