// SPDX-License-Identifier: MIT
/* Plays given decisions, one per tick, and tells an observer what happens. So a counterexample can be watched. */
#ifndef CONCLAVE_CHECK_REPLAY_H
#define CONCLAVE_CHECK_REPLAY_H

#include "check/check.h"
#include "core/event.h"

struct cv_replay;

/* 0 or CV_ENOMEM. The scenario, the options and the trail must outlive it. */
int cv_replay_new(struct cv_replay **replay, const struct cv_scenario *scenario, const struct cv_check_options *options,
                  const struct cv_observer *observer);

/*
 * Plays the trail. 0, CV_ENOMEM, or CV_EINPUT: the complaint says which decision is impossible. The run stays valid
 * until the replay is freed. Its scenario is a copy of the given one, with the callers and crashes of the trail.
 */
int cv_replay_run(struct cv_replay *replay, const struct cv_trail *trail, struct cv_run *run,
                  struct cv_complaint *complaint);
void cv_replay_free(struct cv_replay *replay);

#endif
