// SPDX-License-Identifier: MIT
/* Reads the arguments of a call: a small JSON text becomes a tree. It needs no library, so that it runs anywhere. */
#ifndef CONCLAVE_EXPLORE_JSON_READER_H
#define CONCLAVE_EXPLORE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type { JSON_NULL, JSON_TRUTH, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT };

struct json_value {
    enum json_type type;
    uint64_t number; /* a whole number; 1 for true */
    char *text;
    char *key;                        /* in an object */
    struct json_value *first, *after; /* the values of a list or object; the next one of the same */
};

/* The tree, or NULL if the text is no JSON, has numbers that are not whole, or is too deep. Free it. */
struct json_value *json_read(const char *text);
void json_free(struct json_value *value);

/* The value of that key, or NULL. The object may be NULL. */
const struct json_value *json_get(const struct json_value *object, const char *key);

/* A number or a truth, or else the fallback; a text, or else NULL. */
uint64_t json_number(const struct json_value *object, const char *key, uint64_t fallback);
const char *json_text(const struct json_value *object, const char *key);

/* Adds a text to a list, or to an object under that key. False if there is no memory. */
bool json_add_text(struct json_value *list, const char *key, const char *text);

size_t json_count(const struct json_value *list);

#endif
