// SPDX-License-Identifier: MIT
#include "check/expand/expander.h"

#include <stdlib.h>

/* Does nothing but the steps of nodes change a state? See fast_path.h. */
static bool may_take_fast_path(const struct expander *expander)
{
    const struct setting *setting = &expander->model->setting;
    return !setting->group.absence && !setting->drops_clocks && !setting->renumbers && !setting->scenario->unordered &&
           expander->symmetry.count == 1;
}

int expander_init(struct expander *expander, struct model *model, struct memos *memos)
{
    *expander = (struct expander){.model = model, .room = 256, .change_room = 1024};
    expander->successors = malloc(expander->room * sizeof *expander->successors);
    expander->changes = malloc(expander->change_room * sizeof *expander->changes);
    if (stepper_init(&expander->stepper, model, memos) || memo_init(&expander->clockless) ||
        symmetry_init(&expander->symmetry, model) || !expander->successors || !expander->changes)
        return CV_ENOMEM;
    expander->fast_path = may_take_fast_path(expander);
    if (expander->symmetry.count > 1)
        expander->stepper.thread_test = &expander->symmetry.test;
    return 0;
}

void expander_free(struct expander *expander)
{
    free(expander->successors);
    free(expander->changes);
    stepper_free(&expander->stepper);
    memo_free(&expander->clockless);
    symmetry_free(&expander->symmetry);
}

uint64_t expander_bytes(const struct expander *expander)
{
    return stepper_bytes(&expander->stepper) + memo_bytes(&expander->clockless) + symmetry_bytes(&expander->symmetry);
}

void expander_tidy(struct expander *expander)
{
    stepper_tidy(&expander->stepper);
    memo_tidy(&expander->clockless);
    symmetry_tidy(&expander->symmetry);
}

bool expander_make_room(struct expander *expander)
{
    if (expander->count == expander->room) {
        struct successor *more = realloc(expander->successors, 2 * expander->room * sizeof *more);
        if (!more)
            return false;
        expander->successors = more;
        expander->room *= 2;
    }
    if (expander->change_count + MOST_SLOTS > expander->change_room) {
        struct change *more = realloc(expander->changes, 2 * expander->change_room * sizeof *more);
        if (!more)
            return false;
        expander->changes = more;
        expander->change_room *= 2;
    }
    return true;
}

void expander_set_node_state(struct expander *expander, struct successor *successor, cv_node node, uint32_t number)
{
    successor_add(successor, fingerprint_subtract(slot_fingerprint(expander->model, number, false),
                                                  slot_fingerprint(expander->model, expander->state[node], false)));
    expander_set(expander, node, number);
}

void expander_set_budgets(struct expander *expander, struct successor *successor, uint32_t number)
{
    const uint32_t slot = expander->model->setting.nodes;
    if (number == expander->state[slot])
        return;
    successor_add(successor, fingerprint_subtract(slot_fingerprint(expander->model, number, true),
                                                  slot_fingerprint(expander->model, expander->state[slot], true)));
    expander_set(expander, slot, number);
}
