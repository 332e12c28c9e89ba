// SPDX-License-Identifier: MIT
#include "core/event.h"

#include <string.h>

static const char *const names[] = {
#define X(constant, name) [constant] = name,
    CV_EVENTS(X)
#undef X
};

const char *cv_event_name(enum cv_event_type type)
{
    return names[type];
}

bool cv_event_find(const char *name, enum cv_event_type *type)
{
    for (uint32_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *type = (enum cv_event_type)i;
            return true;
        }
    return false;
}
