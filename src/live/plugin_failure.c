// SPDX-License-Identifier: MIT
#include "live/plugin_failure.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "live/host/host.h"
#include "live/process/event_log.h"

static const struct {
    int number;
    const char *text;
} fatal[] = {
    {SIGSEGV, "it reads or writes where nothing is, or calls itself for ever (SIGSEGV)"},
    {SIGBUS, "it reads or writes where nothing is (SIGBUS)"},
    {SIGFPE, "it divides by zero (SIGFPE)"},
    {SIGILL, "it runs into what is no code (SIGILL)"},
    {SIGABRT, "it calls abort(), or an assertion failed (SIGABRT)"},
};

#define FATAL (sizeof fatal / sizeof *fatal)
#define SPARE_STACK ((size_t)1 << 16)

static struct sigaction before[FATAL];

static void tell(const struct cv_step_mark *mark, const char *why)
{
    static const char *const subjects[] = {[CV_SUBJECT_GROUP] = "group",
                                           [CV_SUBJECT_LOCK] = "lock",
                                           [CV_SUBJECT_LEADER] = "election",
                                           [CV_SUBJECT_ELECTION] = "election"};
    const struct cv_instance *instance = mark->instance;
    cv_log(CV_LOG_PLUGIN_FAILED, {"plugin", .text = instance->policy->file},
           {"algorithm", .text = instance->policy->algorithm->name}, {"handler", .text = mark->handler},
           {"detail", .text = mark->detail ? mark->detail : "none"}, {"subject", .text = subjects[instance->subject]},
           {"name", .text = instance->name}, {"why", .text = mark->fault ? mark->fault : why});
}

/* The thread was in the plugin, so it is in none of our functions, and the log can be used. */
static void caught(int number)
{
    const struct cv_step_mark mark = cv_step_mark;
    cv_step_mark.instance = NULL;
    for (size_t i = 0; i < FATAL; i++) {
        if (fatal[i].number != number)
            continue;
        if (mark.instance && mark.instance->policy->file)
            tell(&mark, fatal[i].text);
        sigaction(number, &before[i], NULL); /* the signal comes again, with the former action */
        if (number == SIGABRT)
            raise(number);
    }
}

/* After each second of processor time of the thread: is the handler running that was running a second ago? */
static void second_passed(int number)
{
    static uint64_t step;
    const struct cv_instance *instance = cv_step_mark.instance;
    const bool plugin = instance && instance->policy->file;
    (void)number;
    if (plugin && cv_step_mark.number == step) {
        cv_step_mark.fault = "it has not returned after a second of processor time";
        abort();
    }
    step = plugin ? cv_step_mark.number : 0;
}

static void watch_time(void)
{
    const struct itimerspec second = {{1, 0}, {1, 0}};
    struct sigaction action = {.sa_handler = second_passed, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGVTALRM};
    timer_t timer;
    event._sigev_un._tid = gettid();
    sigemptyset(&action.sa_mask);
    sigaction(SIGVTALRM, &action, NULL);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0)
        timer_settime(timer, 0, &second, NULL);
}

void cv_plugin_failure_tell(void)
{
    static unsigned char spare[SPARE_STACK];
    struct sigaction action = {.sa_handler = caught, .sa_flags = SA_NODEFER | SA_ONSTACK};
    stack_t known;
    tzset(); /* later the log's time needs no memory */
    /* A stack that is full has no room for a signal. A sanitizer may have set another one already. */
    if (sigaltstack(NULL, &known) == 0 && known.ss_flags & SS_DISABLE)
        sigaltstack(&(stack_t){.ss_sp = spare, .ss_size = sizeof spare}, NULL);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < FATAL; i++)
        sigaction(fatal[i].number, &action, &before[i]);
    watch_time();
}
