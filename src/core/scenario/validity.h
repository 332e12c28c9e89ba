// SPDX-License-Identifier: MIT
/*
 * Can a node that keeps to the algorithm have sent this message? Asked before a handler sees it: between real processes
 * it is a gate, in the simulator and in the checker an assertion.
 */
#ifndef CONCLAVE_CORE_SCENARIO_VALIDITY_H
#define CONCLAVE_CORE_SCENARIO_VALIDITY_H

#include <conclave/algorithm.h>

struct cv_scenario;

/* Does a list of ids follow the body? */
static inline bool cv_kind_has_list(const struct cv_kind *kind)
{
    for (const struct cv_field *field = kind->fields; field && field->name; field++)
        if (field->type == CV_FIELD_LIST)
            return true;
    return false;
}

enum cv_validity {
    CV_VALID,
    CV_STRAY, /* it names a member that this node does not know: of no use, but the sender may be honest */
    CV_FORGED /* no node that keeps to the algorithm sends that */
};

/*
 * The first thing that is wrong with it, in `why`. `kinds`: how many the algorithm has. The step is that of the
 * receiver: its state, its group, and its `region`.
 */
enum cv_validity cv_message_validity(const struct cv_algorithm *algorithm, uint32_t kinds, const struct cv_self *me,
                                     const struct cv_message *message, const char **why);

/* Does the scenario keep to what the algorithm assumes of links and nodes? If not, anything may arrive. */
bool cv_scenario_keeps_assumptions(const struct cv_scenario *scenario);

#endif
