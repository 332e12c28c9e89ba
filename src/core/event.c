// SPDX-License-Identifier: MIT
#include "core/event.h"

const char *cv_event_name(enum cv_event_type type)
{
    static const char *const names[] = {
#define X(constant, name) [constant] = name,
        CV_EVENTS(X)
#undef X
    };
    return names[type];
}
