// SPDX-License-Identifier: MIT
/*
 * assert() calls __assert_fail() of the C library. This program defines its own, and the dynamic linker prefers it,
 * also for a loaded algorithm. While a handler runs, it jumps back to the caller; so does a fatal signal. At any other
 * time both do what they always do.
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
    struct failure *failure;
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
            snprintf(guard->failure->text, sizeof guard->failure->text, "%s", fatal[i].text);
            siglongjmp(guard->back, 1);
        }
        sigaction(number, &before[i], NULL); /* it comes again, with the former action */
        if (number == SIGABRT)
            raise(number);
    }
}

/* SA_NODEFER: the signal must be able to come again after the jump. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = caught, .sa_flags = SA_NODEFER | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < FATAL; i++)
        sigaction(fatal[i].number, &action, &before[i]);
}

/* Signals need a stack of their own if the thread's is full. A sanitizer may have set one already. */
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

bool trap_call(void (*function)(void *context), void *context, struct failure *failure)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct guard here = {.failure = failure};
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
        snprintf(guard->failure->text, sizeof guard->failure->text, "%s() asserts %s", function, assertion);
        siglongjmp(guard->back, 1);
    }
    fprintf(stderr, "%s:%u: %s: assertion failed: %s\n", file, line, function, assertion);
    abort();
}
