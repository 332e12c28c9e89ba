// SPDX-License-Identifier: MIT
/*
 * assert() ends in a function of the C library, __assert_fail(). The program has one of its own, which the dynamic
 * linker prefers for everybody, so also for an algorithm that was loaded. While a handler is being called it leads back
 * to the caller; at any other time it does what the library's does.
 */
#include "check/assertion.h"

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

struct guard {
    jmp_buf back;
    struct assertion *failed;
};

static _Thread_local struct guard *guard;

bool assertion_guard(void (*function)(void *context), void *context, struct assertion *failed)
{
    struct guard here = {.failed = failed};
    guard = &here;
    if (setjmp(here.back)) {
        guard = NULL;
        return false;
    }
    function(context);
    guard = NULL;
    return true;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is the library's
void __assert_fail(const char *assertion, const char *file, unsigned line, const char *function)
{
    if (guard) {
        snprintf(guard->failed->text, sizeof guard->failed->text, "%s() asserts %s", function, assertion);
        longjmp(guard->back, 1);
    }
    fprintf(stderr, "%s:%u: %s: assertion failed: %s\n", file, line, function, assertion);
    abort();
}
