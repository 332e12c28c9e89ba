// SPDX-License-Identifier: MIT
/* Judges mutual exclusion. */
#ifndef CONCLAVE_PROPERTY_MUTEX_H
#define CONCLAVE_PROPERTY_MUTEX_H

#include "property/property.h"

/* Adds the findings. 0 or CV_ENOMEM. */
int cv_judge_mutex(const struct cv_run *run, struct cv_judgement *judgement);

#endif
