// SPDX-License-Identifier: MIT
#include "property/properties.h"

#include <string.h>

const struct cv_property *cv_property(enum cv_property_number number)
{
    static const struct cv_property rows[] = {
#define X(constant, name, kind, problem, claim, checked) [constant] = {name, kind, problem, claim, checked},
        CV_PROPERTIES(X)
#undef X
    };
    return &rows[number];
}

bool cv_property_is_checked(const char *name)
{
    for (uint32_t i = 0; i < CV_PROPERTY_COUNT; i++)
        if (strcmp(cv_property((enum cv_property_number)i)->name, name) == 0)
            return cv_property((enum cv_property_number)i)->checked;
    return false;
}
