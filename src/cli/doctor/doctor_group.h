// SPDX-License-Identifier: MIT
/* Checks of how the members see each other. */
#ifndef CONCLAVE_CLI_DOCTOR_DOCTOR_GROUP_H
#define CONCLAVE_CLI_DOCTOR_DOCTOR_GROUP_H

#include "cli/doctor/doctor.h"

extern doctor_check *const doctor_group_checks[]; /* NULL at the end */

#endif
