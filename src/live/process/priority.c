// SPDX-License-Identifier: MIT
#include "live/process/priority.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE (-10)
#define RESTLESS_US 500000u

/* A real-time thread that never rests starves all others. The kernel sends it SIGXCPU, and it returns to normal
 * priority. By then it has lost its lease anyway. */
static void step_back(int signal)
{
    const struct sched_param none = {0};
    (void)signal;
    sched_setscheduler(0, SCHED_OTHER, &none);
}

static bool become_realtime(void)
{
    const struct sched_param parameters = {.sched_priority = 1};
    struct sigaction restless = {.sa_handler = step_back, .sa_flags = SA_RESTART};
    struct rlimit limit;
    /* The threads that write to the disk inherit the priority. libuv may spin until one of them has woken the loop, and
     * a thread of lower priority would not get the processor for that. */
    if (sched_setscheduler(0, SCHED_RR, &parameters))
        return false;
    sigemptyset(&restless.sa_mask);
    sigaction(SIGXCPU, &restless, NULL);
    if (getrlimit(RLIMIT_RTTIME, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max < RESTLESS_US ? limit.rlim_max : RESTLESS_US;
        setrlimit(RLIMIT_RTTIME, &limit);
    }
    return true;
}

/* The kernel wants the capability in the initial user namespace, whatever a process may do in its own. */
static bool in_first_namespace(void)
{
    const ino_t first = 0xEFFFFFFDu; /* PROC_USER_INIT_INO */
    struct stat info;
    return stat("/proc/self/ns/user", &info) == 0 && info.st_ino == first;
}

static bool may_lock_memory(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY)
        return true;
    memset(data, 0, sizeof data);
    return in_first_namespace() && syscall(SYS_capget, &header, data) == 0 && data[0].effective & 1u << CAP_IPC_LOCK;
}

/* Locks memory only if there is no limit: beyond a limit every allocation would fail. */
static bool lock_memory(void)
{
    return may_lock_memory() && mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
}

bool cv_priority_set(enum cv_priority priority, char text[CV_PRIORITY_BYTES])
{
    if (priority == CV_PRIORITY_NORMAL) {
        snprintf(text, CV_PRIORITY_BYTES, "as started");
        return true;
    }
    const bool realtime = priority == CV_PRIORITY_REALTIME && become_realtime();
    const bool nicer = !realtime && (getpriority(PRIO_PROCESS, 0) <= NICE || !setpriority(PRIO_PROCESS, 0, NICE));
    snprintf(text, CV_PRIORITY_BYTES, "%s, memory %s",
             realtime ? "rr 1"
             : nicer  ? "nice -10"
                      : "as started",
             lock_memory() ? "locked" : "not locked");
    return realtime || priority != CV_PRIORITY_REALTIME;
}
