// SPDX-License-Identifier: MIT
/* The option --step-limit of the commands that call handlers. */
#ifndef CONCLAVE_CLI_STUDY_STEP_LIMIT_H
#define CONCLAVE_CLI_STUDY_STEP_LIMIT_H

#include "cli/options.h"

int step_limit_take(void *request, const char *value, struct cv_complaint *complaint);

/* The row of the option in a table. */
#define STEP_LIMIT_ROW                                                                                                 \
    {                                                                                                                  \
        "step-limit", "T", OPTION_TAKE, 0,                                                                             \
            .help = "plugins: how long a handler may take, in processor time, as in 500ms or 10s (1s)",                \
            .take = step_limit_take, .how = true                                                                       \
    }

#endif
