// SPDX-License-Identifier: MIT
/* Judges shortest paths. */
#ifndef CONCLAVE_PROPERTY_PATHS_H
#define CONCLAVE_PROPERTY_PATHS_H

#include "property/property.h"

/* Adds the finding. 0 or CV_ENOMEM. */
int judge_paths(const struct cv_run *run, struct cv_judgement *judgement);

#endif
