// SPDX-License-Identifier: MIT
/* The algorithms of a node that were loaded from files. All members must have the same files. */
#ifndef CONCLAVE_LIVE_PLUGINS_H
#define CONCLAVE_LIVE_PLUGINS_H

#include "core/error.h"
#include "live/host/host.h"

/* A fingerprint of all of them: of their patterns, their files' digests and their parameters. 0: there is none. */
uint64_t plugins_fingerprint(const struct cv_algorithm_host *host);

/* The files in one line, "[lock *] ./sk.so (sha256 0123456789abcdef...)"; "none". */
#define PLUGINS_TEXT_BYTES 384u
const char *plugins_text(const struct cv_algorithm_host *host, char text[PLUGINS_TEXT_BYTES]);

/*
 * Complains of a state that is too long. Returns in *names how many names a node may keep so that their states take no
 * more than a share of its memory; UINT64_MAX: that is no limit.
 */
int plugins_measure(const struct cv_algorithm_host *host, uint64_t *names, struct cv_complaint *complaint);

#endif
