// SPDX-License-Identifier: MIT
/*
 * By which algorithms a node's locks and elections go, with which parameters, from which files. All members must have
 * the same rules: a lock by a token ring here and by a coordinator there would have two holders.
 */
#ifndef CONCLAVE_LIVE_RULES_H
#define CONCLAVE_LIVE_RULES_H

#include "core/error.h"
#include "live/host/host.h"

/* A fingerprint of patterns, algorithms, parameters and digests of files; never 0. */
uint64_t rules_fingerprint(const struct cv_algorithm_host *host);

/* Is one of the algorithms loaded from a file? */
bool rules_have_plugins(const struct cv_algorithm_host *host);

/* The rules in one line, "[lock *] ./sk.so (sha256 0123456789abcdef...), [election group] bully". */
#define RULES_TEXT_BYTES 384u
const char *rules_text(const struct cv_algorithm_host *host, char text[RULES_TEXT_BYTES]);

/*
 * Complains of a plugin's state that is too long. Returns in *names how many names a node may keep so that their states
 * take no more than a share of its memory; UINT64_MAX: that is no limit.
 */
int rules_measure(const struct cv_algorithm_host *host, uint64_t *names, struct cv_complaint *complaint);

#endif
