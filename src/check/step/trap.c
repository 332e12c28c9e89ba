// SPDX-License-Identifier: MIT
/*
 * assert() ends in a function of the C library, __assert_fail(). The program has one of its own, which the dynamic
 * linker prefers for everybody, so also for an algorithm that was loaded. While a handler is being called it leads back
 * to the caller, as does a signal that the handler has earned; at any other time both do what they always do.
 */
#include "check/step/trap.h"

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct guard {
    sigjmp_buf back;
    struct mishap *mishap;
};

static _Thread_local struct guard *guard;

/* ---- signals ---- */

static const struct {
    int number;
    const char *text;
} fatal[] = {
    {SIGSEGV, "a handler reads or writes where nothing is, or calls itself for ever (SIGSEGV)"},
    {SIGBUS, "a handler reads or writes where nothing is (SIGBUS)"},
    {SIGFPE, "a handler divides by zero (SIGFPE)"},
    {SIGILL, "a handler runs into what is no code (SIGILL)"},
    {SIGABRT, "a handler calls abort()"},
};

#define SPARE_STACK ((size_t)1 << 15)
#define FATAL (sizeof fatal / sizeof *fatal)

static struct sigaction before[FATAL];

static void caught(int number)
{
    for (size_t i = 0; i < FATAL; i++) {
        if (fatal[i].number != number)
            continue;
        if (guard) {
            snprintf(guard->mishap->text, sizeof guard->mishap->text, "%s", fatal[i].text);
            siglongjmp(guard->back, 1);
        }
        sigaction(number, &before[i], NULL); /* it happens again, and then as it would have without us */
        if (number == SIGABRT)
            raise(number);
    }
}

/* A signal must be able to come again after the jump, so it is not blocked. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = caught, .sa_flags = SA_NODEFER | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < FATAL; i++)
        sigaction(fatal[i].number, &action, &before[i]);
}

/* Where they are caught if a thread has no stack left. Somebody else, a sanitizer say, may have thought of it. */
static void lend_stack(void)
{
    static _Thread_local unsigned char spare[SPARE_STACK];
    static _Thread_local bool lent;
    stack_t known;
    if (!lent && sigaltstack(NULL, &known) == 0 && known.ss_flags & SS_DISABLE)
        sigaltstack(&(stack_t){.ss_sp = spare, .ss_size = sizeof spare}, NULL);
    lent = true;
}

/* ---- calls ---- */

bool guard_call(void (*function)(void *context), void *context, struct mishap *mishap)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct guard here = {.mishap = mishap};
    pthread_once(&once, catch_signals);
    lend_stack();
    guard = &here;
    if (sigsetjmp(here.back, 0)) {
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
        snprintf(guard->mishap->text, sizeof guard->mishap->text, "%s() asserts %s", function, assertion);
        siglongjmp(guard->back, 1);
    }
    fprintf(stderr, "%s:%u: %s: assertion failed: %s\n", file, line, function, assertion);
    abort();
}
