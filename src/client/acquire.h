// SPDX-License-Identifier: MIT
/* Locks and leaderships: to get one, to keep it and to give it back. */
#ifndef CONCLAVE_CLIENT_ACQUIRE_H
#define CONCLAVE_CLIENT_ACQUIRE_H

#include "client/interest.h"

int cv_client_check_name(struct conclave *session, const char *name);
/* CONCLAVE_INVALID unless it is 1 to `most`. */
int cv_client_check_count(struct conclave *session, const char *what, uint64_t count, uint32_t most);
/* Reads an answer that is a number; CONCLAVE_TIMEOUT: it is nil. */
int cv_client_read_number(struct conclave *session, struct cv_text answer, int64_t *number);
/* Adds the words for a time to live; `ttl` is room for one of them. */
void cv_client_want_ttl(const struct conclave *session, uint64_t ttl_ms, char ttl[24], struct cv_client_words *words);
/*
 * Asks for a lock or a leadership, by a command and its name, until the session has it or `wait_ms` are over. `want`
 * says how a lock is shared; NULL: it is not. A command with several names gets as many fences.
 */
int cv_client_acquire(struct conclave *session, enum cv_client_kind kind, const struct cv_client_words *words,
                      uint64_t wait_ms, uint64_t ttl_ms, const struct conclave_want *want, uint64_t *fences);
/* What servers accept. */
#define CV_CLIENT_MOST_PERMITS 1000000u
#define CV_CLIENT_MOST_PARTIES 500u
#define CV_CLIENT_MOST_NUMBERS 4096u

/* Ends what has that fence, by UNLOCK or RESIGN, with another server if the first is lost meanwhile. */
int cv_client_end(struct conclave *session, const char *command, const char *name, uint64_t fence, bool secret);

/*
 * Asks for a number, and waits for it, with other servers if the first is lost meanwhile; wait_ms below 0: for as long
 * as it takes. `again`: nothing is lost by asking twice.
 */
int cv_client_ask_and_wait(struct conclave *session, const struct cv_client_words *words, int64_t wait_ms, bool again,
                           int64_t *number);
/* conclave_sequence() that waits no longer than that. A server has the session's timeout to answer in any case. */
int cv_client_sequence(struct conclave *session, const char *name, uint32_t count, int64_t wait_ms, uint64_t *first);

#endif
