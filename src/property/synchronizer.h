// SPDX-License-Identifier: MIT
/* Judges a synchronizer. */
#ifndef CONCLAVE_PROPERTY_SYNCHRONIZER_H
#define CONCLAVE_PROPERTY_SYNCHRONIZER_H

#include "property/property.h"

/* Adds the findings, and how many messages the app sends on a synchronous network. 0 or CV_ENOMEM. */
int judge_synchronizer(const struct cv_run *run, struct cv_judgement *judgement);

#endif
