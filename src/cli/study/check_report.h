// SPDX-License-Identifier: MIT
/* Reports the result of a check. */
#ifndef CONCLAVE_CLI_STUDY_CHECK_REPORT_H
#define CONCLAVE_CLI_STUDY_CHECK_REPORT_H

#include "check/replay.h"
#include "cli/study/check_options.h"
#include <stdio.h>

struct check_report {
    const struct check_request *request;
    const struct cv_scenario *scenario;
    const struct cv_check_result *result;
};

void check_report_text(FILE *out, const struct check_report *report);
void check_report_json(FILE *out, const struct check_report *report);

#endif
