// SPDX-License-Identifier: MIT
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

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

void cv_out_of_memory(int code)
{
    static const char line[] = "conclave: out of memory\n";
    if (write(STDERR_FILENO, line, sizeof line - 1) < 0)
        errno = 0; /* there is nowhere to say it */
    _exit(code);
}

int cv_complain(struct cv_complaint *complaint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(complaint->text, sizeof complaint->text, format, arguments);
    va_end(arguments);
    return CV_EINPUT;
}
