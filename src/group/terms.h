// SPDX-License-Identifier: MIT
/*
 * The terms of a group: the settings that safety rests on. Every entry of the log carries them (group/seating.h). From
 * the first entry on the log's values count, whatever a member's file says. Only another entry changes them.
 */
#ifndef CONCLAVE_GROUP_TERMS_H
#define CONCLAVE_GROUP_TERMS_H

#include "core/error.h"
#include "group/lease.h"

enum cv_term_key {
    CV_TERM_LEASE,  /* milliseconds */
    CV_TERM_DRIFT,  /* parts per million; written as a percentage */
    CV_TERM_BOUND,  /* milliseconds */
    CV_TERM_VOTERS, /* how many members vote at most */
    CV_TERMS
};

struct cv_terms {
    uint32_t values[CV_TERMS];
};

/* The name in a configuration's section [group]. */
const char *cv_term_name(enum cv_term_key key);
/* CV_TERMS: no term has that name. */
enum cv_term_key cv_term_find(const char *name);
bool cv_term_fits(enum cv_term_key key, uint32_t value);
/* Reads a configuration's value. 0, or CV_EINPUT and a complaint that begins with "[group] NAME = VALUE". */
int cv_term_parse(enum cv_term_key key, const char *text, uint32_t *value, struct cv_complaint *complaint);
/* The value as a configuration writes it. */
#define CV_TERM_BYTES 24u
const char *cv_term_text(enum cv_term_key key, uint32_t value, char text[CV_TERM_BYTES]);

struct cv_lease_terms cv_terms_lease(const struct cv_terms *terms);

#endif
