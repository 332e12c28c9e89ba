// SPDX-License-Identifier: MIT
/* Judges an election. */
#ifndef CONCLAVE_PROPERTY_ELECTION_H
#define CONCLAVE_PROPERTY_ELECTION_H

#include "property/property.h"

/* Adds the findings, and the leader. 0 or CV_ENOMEM. */
int cv_judge_election(const struct cv_run *run, struct cv_judgement *judgement);

#endif
