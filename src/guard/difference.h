// SPDX-License-Identifier: MIT
/* A step that was taken twice: what it did the second time that it did not do the first time. */
#ifndef CONCLAVE_GUARD_DIFFERENCE_H
#define CONCLAVE_GUARD_DIFFERENCE_H

#include "core/scenario/scenario.h"
#include "guard/handler.h"

/* What a step did. */
struct step_result {
    struct cv_self self; /* the node after it; its outbox has the messages */
    const unsigned char *state;
    size_t state_bytes;
    uint64_t choices; /* how often it chose */
    bool valid;
    const char *complaint;
};

bool difference_is_none(const struct step_result *first, const struct step_result *second);

/* Says what differs: "`heard` is 1, then 2". */
void difference_text(char *text, size_t room, const struct cv_scenario *scene, const struct handler_use *use,
                     const struct step_result *first, const struct step_result *second);

#endif
