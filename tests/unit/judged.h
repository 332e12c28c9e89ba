// SPDX-License-Identifier: MIT
/* Looks up findings of a judgement. */
#ifndef CONCLAVE_TESTS_JUDGED_H
#define CONCLAVE_TESTS_JUDGED_H

#include "property/property.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static inline enum cv_verdict judged(const struct cv_run *run, struct cv_judgement *judgement)
{
    struct cv_complaint complaint = {{0}};
    if (cv_judge(run, judgement, &complaint))
        fail_msg("%s", complaint.text);
    return judgement->verdict;
}

static inline const struct cv_finding *judged_finding(const struct cv_judgement *judgement, const char *name)
{
    for (uint32_t i = 0; i < judgement->finding_count; i++)
        if (strcmp(judgement->findings[i].name, name) == 0)
            return &judgement->findings[i];
    fail_msg("no finding %s", name);
    return NULL;
}

/* Exactly these are violated; names separated by spaces. */
static inline void judged_violated(const struct cv_judgement *judgement, const char *names)
{
    char all[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < judgement->finding_count; i++)
        if (judgement->findings[i].verdict == CV_VIOLATED)
            used +=
                (size_t)snprintf(all + used, sizeof all - used, "%s%s", used ? " " : "", judgement->findings[i].name);
    assert_string_equal(all, names);
    assert_int_equal(judgement->verdict, *names ? CV_VIOLATED : CV_HELD);
    assert_true(*names ? *judgement->reason != '\0' : *judgement->reason == '\0');
}

#endif
