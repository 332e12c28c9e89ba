// SPDX-License-Identifier: MIT
/*
 * Can a node that keeps to the algorithm have sent this message? The runtimes ask before a handler sees it. A real node
 * refuses it if not; in the simulator and in the checker it is an assertion.
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

/* How many words of numbers follow the body? */
static inline uint64_t cv_kind_numbers(const struct cv_kind *kind, uint32_t nodes)
{
    for (const struct cv_field *field = kind->fields; field && field->name; field++)
        if (field->type == CV_FIELD_NUMBERS)
            return nodes;
    return 0;
}

enum cv_validity {
    CV_VALID,
    CV_STRAY, /* it names a member that this node does not know: useless, but the sender may be honest */
    CV_FORGED /* no node that keeps to the algorithm sends it */
};

/* Has the message the length of its kind, which the algorithm must have, in a group of so many nodes? */
bool cv_message_fits(const struct cv_algorithm *algorithm, uint32_t nodes, const struct cv_message *message);

/*
 * Judges a message, and puts the first mistake into `why`. `kinds`: the number of the algorithm's kinds. The step is
 * that of the receiver, with its state, its group and its `region`.
 */
enum cv_validity cv_message_validity(const struct cv_algorithm *algorithm, uint32_t kinds, const struct cv_self *me,
                                     const struct cv_message *message, const char **why);

/* Does the scenario keep the algorithm's assumptions about links and nodes? If not, any message may arrive. */
bool cv_scenario_keeps_assumptions(const struct cv_scenario *scenario);

#endif
