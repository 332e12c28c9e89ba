// SPDX-License-Identifier: MIT
/*
 * assert() calls __assert_fail() of the C library. This program defines its own, and the dynamic linker prefers it,
 * also for a loaded algorithm. While a handler runs, it jumps back to the caller; so does a fatal signal. At any other
 * time both do what they always do.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "guard/shared_object.h"
#include "guard/step_timer.h"
#include "guard/trap_frame.h"

#define SPARE_STACK ((size_t)1 << 15)
#define LOWEST_PAGES ((uintptr_t)1 << 16)

_Thread_local struct trap *trap_current;

static _Thread_local bool prepared;
static _Thread_local uint64_t steps;

/* ---- signals ---- */

static const struct {
    int number;
    const char *text;
} fatal[] = {
    {SIGSEGV, "reads or writes where nothing is (SIGSEGV)"},
    {SIGBUS, "reads or writes where nothing is (SIGBUS)"},
    {SIGFPE, "divides by zero (SIGFPE)"},
    {SIGILL, "runs into what is no code (SIGILL)"},
    {SIGABRT, "calls abort()"},
};

#define FATAL (sizeof fatal / sizeof *fatal)

static struct sigaction before[FATAL];

_Noreturn void trap_spring(struct trap *trap, enum trap_reason reason)
{
    trap->reason = reason;
    siglongjmp(trap->back, 1);
}

static void caught(int number, siginfo_t *info, void *context)
{
    (void)context;
    struct trap *trap = trap_current;
    if (trap) {
        trap->number = number;
        trap->address = info->si_addr;
        trap_spring(trap, TRAP_SIGNAL);
    }
    if (number == SIGSEGV && shared_object_open(info->si_addr))
        return; /* it was the object's own, at the program's end */
    for (size_t i = 0; i < FATAL; i++) {
        if (fatal[i].number != number)
            continue;
        sigaction(number, &before[i], NULL); /* it comes again, with the former action */
        if (number == SIGABRT)
            raise(number);
    }
}

/* SA_NODEFER: the signal must be able to come again after the jump. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < FATAL; i++)
        sigaction(fatal[i].number, &action, &before[i]);
    step_timer_catch();
}

static void forget_thread(void)
{
    prepared = false; /* a fork has no timers */
}

static void prepare_process(void)
{
    catch_signals();
    pthread_atfork(NULL, NULL, forget_thread);
}

/* Signals need a stack of their own if the thread's is full. A sanitizer may have set one already. */
static void lend_stack(void)
{
    static _Thread_local unsigned char spare[SPARE_STACK];
    stack_t known;
    if (sigaltstack(NULL, &known) == 0 && known.ss_flags & SS_DISABLE)
        sigaltstack(&(stack_t){.ss_sp = spare, .ss_size = sizeof spare}, NULL);
}

void trap_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (prepared)
        return;
    pthread_once(&once, prepare_process);
    lend_stack();
    step_timer_start();
    prepared = true;
}

/* ---- calls ---- */

bool trap_run(struct trap *trap, void (*function)(void *context), void *context)
{
    trap_prepare();
    trap->outer = trap_current;
    trap->step = ++steps;
    trap->failure->interrupted = false;
    const bool stopped = sigsetjmp(trap->back, 0);
    if (!stopped) {
        trap_current = trap;
        function(context);
    }
    trap_current = trap->outer;
    if (trap->outer)
        trap->outer->step = ++steps; /* its own time begins anew */
    if (stopped)
        trap->failure->interrupted = trap->reason == TRAP_INTERRUPTED;
    return !stopped;
}

/* A stack that is full ends below the frames that are on it. */
static bool is_stack_full(const struct trap *trap)
{
    struct rlimit limit;
    const uintptr_t here = (uintptr_t)trap, address = (uintptr_t)trap->address;
    return trap->number == SIGSEGV && getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           address < here && here - address <= limit.rlim_cur + LOWEST_PAGES;
}

void trap_explain(const struct trap *trap, char *text, size_t room)
{
    if (trap->reason == TRAP_LATE)
        snprintf(text, room, "does not return within %llu ms of processor time (--step-limit)",
                 (unsigned long long)step_timer_limit_ms());
    if (trap->reason == TRAP_INTERRUPTED)
        snprintf(text, room, "is interrupted");
    if (trap->reason != TRAP_SIGNAL)
        return;
    for (size_t i = 0; i < FATAL; i++)
        if (fatal[i].number == trap->number)
            snprintf(text, room, "%s", fatal[i].text);
    if (is_stack_full(trap))
        snprintf(text, room, "calls itself for ever: its stack is full (SIGSEGV)");
    else if (trap->number == SIGSEGV && (uintptr_t)trap->address < LOWEST_PAGES)
        snprintf(text, room, "follows a null pointer (SIGSEGV)");
}

static bool call(void (*function)(void *context), void *context, bool unlimited, struct cv_failure *failure)
{
    struct trap trap;
    char why[CV_FAILURE_BYTES];
    trap.failure = failure;
    trap.object = NULL;
    trap.unlimited = unlimited;
    if (trap_run(&trap, function, context))
        return true;
    if (trap.reason == TRAP_ACCUSED)
        snprintf(why, sizeof why, "%s", failure->text);
    else
        trap_explain(&trap, why, sizeof why);
    if (trap.reason != TRAP_TOLD && trap.reason != TRAP_ASSERTION)
        snprintf(failure->text, sizeof failure->text, "a handler %.600s", why);
    return false;
}

bool cv_trap_call(void (*function)(void *context), void *context, struct cv_failure *failure)
{
    return call(function, context, false, failure);
}

bool cv_trap_call_long(void (*function)(void *context), void *context, struct cv_failure *failure)
{
    return call(function, context, true, failure);
}

void trap_accuse(const char *what)
{
    struct trap *trap = trap_current;
    if (!trap)
        return;
    snprintf(trap->failure->text, sizeof trap->failure->text, "%s", what);
    trap_spring(trap, TRAP_ACCUSED);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is the library's
void __assert_fail(const char *assertion, const char *file, unsigned line, const char *function)
{
    struct trap *trap = trap_current;
    if (trap) {
        snprintf(trap->failure->text, sizeof trap->failure->text, "%s() asserts %s", function, assertion);
        trap_spring(trap, TRAP_ASSERTION);
    }
    fprintf(stderr, "%s:%u: %s: assertion failed: %s\n", file, line, function, assertion);
    abort();
}
