// SPDX-License-Identifier: MIT
/*
 * Requests in an order without equal times: would it make a difference if some of those that follow each other, by
 * ascending ids, had the same time instead? See tie.c.
 */
#ifndef CONCLAVE_CHECK_TIE_H
#define CONCLAVE_CHECK_TIE_H

#include "check/step.h"

/* Would this step be another? */
bool tie_matters(struct stepper *stepper, uint32_t place, enum cv_decision_type type, uint32_t argument,
                 uint32_t alive);

#endif
