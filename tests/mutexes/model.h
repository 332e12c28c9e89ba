// SPDX-License-Identifier: MIT
/* What the texts say of each mutual exclusion algorithm: messages of an entry, delays before it and between two. */
#ifndef CONCLAVE_TESTS_MUTEXES_MODEL_H
#define CONCLAVE_TESTS_MUTEXES_MODEL_H

#include "property/run.h"
#include "story.h"

enum which { CENTRAL, CENTRAL_DENY, LAMPORT, MAEKAWA, MAEKAWA_PLAIN, RICART_AGRAWALA, TOKEN_RING, VOTING, UNKNOWN };

/* How the requests of a run relate to each other. */
enum load {
    ALONE,    /* at each request no node is inside or waits */
    AT_ONCE,  /* all ask at time 0, and each stays until every request has arrived everywhere */
    CONTENDED /* anything */
};

enum which model_find(const char *name);

/* NULL, or the expected messages of the run. All requests have been served, and nothing failed. */
const char *model_messages(enum which which, const struct story *story, const struct cv_run *run, enum load load);

/* Messages take one tick. ALONE: from the request to the entry. */
uint64_t model_client_delay(enum which which, const struct story *story, uint32_t node);

/* Messages take one tick. AT_ONCE: from the exit of one to the entry of the next; 0 if the texts do not say. */
uint64_t model_synchronization_delay(enum which which, const struct story *story, uint32_t one, uint32_t next);

#endif
