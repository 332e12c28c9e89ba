// SPDX-License-Identifier: MIT
/* The state of the group before the first event. */
#ifndef CONCLAVE_CHECK_STEP_INITIAL_STATE_H
#define CONCLAVE_CHECK_STEP_INITIAL_STATE_H

#include "check/state/model.h"

/* 0, CV_ENOMEM, or CV_EINPUT if a node cannot begin: the model's `begin_failure` says why. */
int initial_state(struct model *model, uint32_t *state);

#endif
