// SPDX-License-Identifier: MIT
#include "cli/study/step_limit.h"

#include "core/parse.h"
#include "guard/trap.h"

#define LEAST_MS 10u
#define MOST_MS (24u * 3600u * 1000u)

int step_limit_take(void *request, const char *value, struct cv_complaint *complaint)
{
    uint64_t ms;
    (void)request;
    const int error = options_read_time("--step-limit", value, &ms, complaint);
    if (error)
        return error;
    if (ms < LEAST_MS || ms > MOST_MS)
        return cv_complain(complaint, "--step-limit %s: expected a time of 10ms to 24h", cv_brief(value).text);
    cv_step_limit(ms);
    return 0;
}
