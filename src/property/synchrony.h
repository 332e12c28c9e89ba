// SPDX-License-Identifier: MIT
/* Judges a synchronizer: its app must not be able to tell the network from a synchronous one. */
#ifndef CONCLAVE_PROPERTY_SYNCHRONY_H
#define CONCLAVE_PROPERTY_SYNCHRONY_H

#include "property/property.h"

/* Adds the findings, and how many messages the app sends on a synchronous network. 0 or CV_ENOMEM. */
int judge_synchronizer(const struct cv_run *run, struct cv_judgement *judgement);

#endif
