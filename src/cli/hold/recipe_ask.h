// SPDX-License-Identifier: MIT
/* Questions about recipes: latches, barriers, members, work that is done once. */
#ifndef CONCLAVE_CLI_HOLD_RECIPE_ASK_H
#define CONCLAVE_CLI_HOLD_RECIPE_ASK_H

#include "cli/hold/hold.h"
#include "client/client_session.h"

/*
 * Asks a server, and waits for the answer: as long as --wait allows, if `waits`. The answer lies in the session's
 * buffer. 0, or an exit code after one line on stderr.
 */
int recipe_ask(struct conclave *session, const struct hold *hold, struct cv_client_words words, bool waits,
               struct cv_text *answer);
/* The same for a number. HOLD_TIMEOUT, without a line: the answer is nil. */
int recipe_ask_number(struct conclave *session, const struct hold *hold, const struct cv_client_words *words,
                      bool waits, int64_t *number);

/* Is it held by a recipe: a run that is done once, or a member? */
bool recipe_holds(const struct hold *hold);
/* ONCE or JOIN. 0, or an exit code; HOLD_TIMEOUT, without a line: it has been done in this period. */
int recipe_acquire(struct conclave *session, const struct hold *hold, uint64_t *fence);
/* DONE or LEAVE. 0, or an error of libconclave: CONCLAVE_LOST if it was lost before. */
int recipe_give_up(struct conclave *session, const struct hold *hold, uint64_t fence, bool done);

#endif
