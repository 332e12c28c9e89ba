// SPDX-License-Identifier: MIT
/*
 * In WebAssembly no call can jump back over others. A failed assertion is told to the caller of the module, which ends
 * the call by an exception of its own, and then calls "failed": the explorer completes the step.
 */
#include <stdio.h>

#include "guard/trap.h"

__attribute__((import_module("env"), import_name("cv_failed"))) void cv_failed(const char *text);

bool cv_trap_call(void (*function)(void *context), void *context, struct cv_failure *failure)
{
    (void)failure;
    function(context);
    return true;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is the library's
_Noreturn void __assert_fail(const char *assertion, const char *file, int line, const char *function)
{
    static char text[128];
    (void)file;
    (void)line;
    snprintf(text, sizeof text, "%s() asserts %s", function, assertion);
    cv_failed(text);
    __builtin_trap();
}
