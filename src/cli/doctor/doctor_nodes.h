// SPDX-License-Identifier: MIT
/* Checks of each member by itself. */
#ifndef CONCLAVE_CLI_DOCTOR_DOCTOR_NODES_H
#define CONCLAVE_CLI_DOCTOR_DOCTOR_NODES_H

#include "cli/doctor/doctor.h"

extern doctor_check *const doctor_node_checks[]; /* NULL at the end */

#endif
