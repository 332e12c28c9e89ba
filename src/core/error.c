// SPDX-License-Identifier: MIT
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

const char *cv_error_text(int error)
{
    switch (error) {
#define X(name, number, text)                                                                                          \
    case name:                                                                                                         \
        return text;
        CV_ERRORS(X)
#undef X
    default:
        return "no error";
    }
}

int cv_complain(struct cv_complaint *complaint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(complaint->text, sizeof complaint->text, format, arguments);
    va_end(arguments);
    return CV_EINPUT;
}
