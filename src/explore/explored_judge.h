// SPDX-License-Identifier: MIT
/* Judges a story: by the same judges as a simulated run, and by the rules of the checker's replay for single steps. */
#ifndef CONCLAVE_EXPLORE_EXPLORED_JUDGE_H
#define CONCLAVE_EXPLORE_EXPLORED_JUDGE_H

#include "explore/explored.h"

/* After a step of a node: has it shown a violation that no end of the story can mend? */
void explored_judge_step(struct explored *world, cv_node node);

/* After a step: notes which properties are violated now. */
void explored_judge_story(struct explored *world);

/* The story so far as a run, for the judges; valid until the world changes. */
void explored_run(struct explored *world, struct cv_run *run);

/* Judges the story so far. 0 or CV_ENOMEM. */
int explored_judge(struct explored *world, struct cv_judgement *judgement);

/* Is there nothing that must still happen, in a story in which somebody took part? */
bool explored_is_quiet(struct explored *world);

/* A bit for each property that is violated. */
uint32_t explored_violations(const struct cv_judgement *judgement);

/* What the texts expect of a story without faults after its beginning; no cost: nothing. 0 or CV_ENOMEM. */
int explored_expect(struct explored *world, enum cv_measure measure, struct cv_expectation *expectation);

#endif
