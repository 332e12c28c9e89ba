// SPDX-License-Identifier: MIT
/*
 * Messages as people read them: "probe(80, round 2, left)". A kind may leave the fields of its body without names. Then
 * this room learns their meaning from the whole run: a pair of words that is always a node's rank, or nothing, is shown
 * as that node's id.
 */
#ifndef CONCLAVE_SHOW_CONTENT_H
#define CONCLAVE_SHOW_CONTENT_H

#include "core/index.h"
#include "core/scenario/validity.h"
#include "show/history.h"

struct cv_content {
    const struct cv_scenario *scenario;
    struct cv_index index;
    /* Bit i: words 2i and 2i+1 of that kind are a rank; of the algorithm's kinds, and of those of the app it hosts. */
    uint64_t ranks[2][CV_MAX_KINDS];
};

/* 0 or CV_ENOMEM; to be freed in both cases. */
int cv_content_learn(struct cv_content *content, const struct cv_scenario *scenario, const struct cv_history *history);
void cv_content_free(struct cv_content *content);

/* "kind", "kind(80, round 3, left)" or, of a message of an app, "kind(round 3: its-kind 7)"; cut short with "…" where
 * there is no room. Returns the text. */
const char *cv_content_text(const struct cv_content *content, const struct cv_message *message, char *text,
                            size_t room);

/*
 * The kind alone, and the numbers alone: "3 80 [2 3 4]", empty if there are none. Of an app's message those of the app.
 */
const char *cv_content_kind(const struct cv_content *content, const struct cv_message *message);
const char *cv_content_numbers(const struct cv_content *content, const struct cv_message *message, char *text,
                               size_t room);

/* How many of the message's words stand before the list of ids, where its kind has one. */
static inline uint64_t cv_content_head(const struct cv_kind *kind, uint32_t nodes, const struct cv_message *message)
{
    const uint64_t head = kind->bytes / 4 + cv_kind_numbers(kind, nodes);
    return cv_kind_has_list(kind) && head < message->words ? head : message->words;
}

/* Do both say the same? */
bool cv_content_same(const struct cv_scenario *scenario, const struct cv_message *one, const struct cv_message *other);

#endif
