// SPDX-License-Identifier: MIT
#include "guard/step_timer.h"

#include <pthread.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "guard/shared_object.h"
#include "guard/trap_frame.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define TICK_SIGNAL SIGVTALRM
#define TICK_NS 10000000
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define MOST_TRIES 100u /* ticks after the end of its time, until the step's own code runs */

static uint64_t limit_ns = CV_USUAL_STEP_LIMIT_MS * NS_PER_MS;
static const volatile sig_atomic_t *interrupted_flag;

static pthread_key_t thread_key;

static _Thread_local timer_t timer;

/* The step that the last tick met. */
static _Thread_local struct {
    uint64_t step;
    uint64_t since_ns; /* processor time of the first tick that met it */
    unsigned tries;
} met;

void cv_step_limit(uint64_t ms)
{
    limit_ns = ms * NS_PER_MS;
}

void cv_step_interruptible(const volatile sig_atomic_t *interrupted)
{
    interrupted_flag = interrupted;
}

uint64_t step_timer_limit_ms(void)
{
    return limit_ns / NS_PER_MS;
}

static uint64_t processor_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Is it the object's own code that the signal came upon? A library that it called may hold locks. */
static bool is_in_own_code(const struct trap *trap, const ucontext_t *context)
{
    if (!trap->object)
        return true;
#if defined __x86_64__
    return shared_object_has_code(trap->object, (const void *)context->uc_mcontext.gregs[REG_RIP]);
#elif defined __aarch64__
    return shared_object_has_code(trap->object, (const void *)context->uc_mcontext.pc);
#else
    (void)context;
    return true;
#endif
}

static void tick(int number, siginfo_t *info, void *context)
{
    struct trap *trap = trap_current;
    (void)number;
    (void)info;
    if (!trap || trap->unlimited)
        return;
    const uint64_t now_ns = processor_ns();
    if (met.step != trap->step) {
        met.step = trap->step;
        met.since_ns = now_ns;
        met.tries = 0;
        return;
    }
    const bool interrupted = interrupted_flag && __atomic_load_n(interrupted_flag, __ATOMIC_RELAXED);
    if (!interrupted && now_ns - met.since_ns < limit_ns)
        return;
    if (!is_in_own_code(trap, context) && met.tries++ < MOST_TRIES)
        return;
    trap_spring(trap, interrupted ? TRAP_INTERRUPTED : TRAP_LATE);
}

static void stop(void *unused)
{
    (void)unused;
    timer_delete(timer);
}

/* SA_NODEFER: it must be able to come again after the jump. */
void step_timer_catch(void)
{
    struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(TICK_SIGNAL, &action, NULL);
    pthread_key_create(&thread_key, stop);
}

/* Without a timer there is no limit, and all else works. */
void step_timer_start(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK_SIGNAL};
    const struct itimerspec every = {.it_interval = {.tv_nsec = TICK_NS}, .it_value = {.tv_nsec = TICK_NS}};
    event.sigev_notify_thread_id = gettid();
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer))
        return;
    pthread_setspecific(thread_key, &timer);
    timer_settime(timer, 0, &every, NULL);
}
