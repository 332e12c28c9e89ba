// SPDX-License-Identifier: MIT
/* A text that never changes and has several owners. It is freed with the last of them. NULL: there is no text. */
#ifndef CONCLAVE_CORE_KEPT_TEXT_H
#define CONCLAVE_CORE_KEPT_TEXT_H

#include "core/parse.h"

struct cv_kept_text {
    uint32_t owners;
    uint32_t length;
    char bytes[];
};

/* A copy with one owner. NULL: no memory. */
struct cv_kept_text *cv_keep_text(struct cv_text text);
/* The same text with one owner more. */
struct cv_kept_text *cv_share_text(struct cv_kept_text *text);
/* One owner less. */
void cv_drop_text(struct cv_kept_text **text);

/* Its bytes. A text that is not there starts at NULL. */
static inline struct cv_text cv_kept(const struct cv_kept_text *text)
{
    return text ? (struct cv_text){text->bytes, text->length} : (struct cv_text){NULL, 0};
}

#endif
