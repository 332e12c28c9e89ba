// SPDX-License-Identifier: MIT
#include "cli/hold/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wall_clock.h"

#define LEFTOVER_MS 2000 /* how long processes that the command left may take to end by themselves */
#define AGAIN_MS 20      /* between attempts to end a process */

struct order {
    int32_t signal; /* for the process group; 0: the order sets the limits below */
    int64_t term_ms, kill_ms;
};

/* The state of the guard process. */
struct watch {
    int fd;       /* to the conclave process */
    int children; /* where SIGCHLD is read */
    pid_t command;
    bool ended;   /* the command itself has ended */
    bool overdue; /* its time was over */
    int status;
    int64_t term_ms, kill_ms;
    int64_t leftover_ms; /* when processes that the command left are ended, whatever the lock's limits are */
};

/* ---- ending things ---- */

/* Signals this process's own children that have left the command's process group. */
static void signal_strays(pid_t group, int signal)
{
    FILE *children = fopen("/proc/thread-self/children", "re");
    char *list = NULL;
    size_t size = 0;
    if (children && getline(&list, &size, children) > 0) {
        char *rest = list;
        for (long child; (child = strtol(rest, &rest, 10)) > 0;)
            if (getpgid((pid_t)child) != group)
                kill((pid_t)child, signal);
    }
    free(list);
    if (children)
        fclose(children);
}

/* A stopped process ends only after SIGCONT. */
static void signal_all(pid_t group, int signal)
{
    kill(-group, signal);
    signal_strays(group, signal);
    if (signal != SIGKILL) {
        kill(-group, SIGCONT);
        signal_strays(group, SIGCONT);
    }
}

void guard_end_all(pid_t group)
{
    /* Orphans become children of this process and are signalled in the next round. */
    for (;;) {
        signal_all(group, SIGKILL);
        const pid_t reaped = waitpid(-1, NULL, WNOHANG);
        if (reaped < 0 && errno == ECHILD)
            return;
        if (reaped == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* ---- the command ---- */

static _Noreturn void become_command(char *const *command, const sigset_t *mask, pid_t guard, int failed)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard)
        _exit(1); /* it was gone before that took effect */
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    const int error = errno;
    if (write(failed, &error, sizeof error) != sizeof error)
        _exit(126);
    _exit(127);
}

/* The command's process id; 0, with errno set, if it could not be started. */
static pid_t start_command(char *const *command, const sigset_t *mask)
{
    int failed[2], error = 0;
    const pid_t guard = getpid();
    if (pipe2(failed, O_CLOEXEC) < 0)
        return 0;
    const pid_t pid = fork();
    if (pid == 0)
        become_command(command, mask, guard, failed[1]);
    if (pid < 0)
        error = errno;
    close(failed[1]);
    if (pid > 0)
        setpgid(pid, pid);
    if (pid > 0 && read(failed[0], &error, sizeof error) == sizeof error)
        waitpid(pid, NULL, 0);
    close(failed[0]);
    errno = error;
    return error ? 0 : pid;
}

/* ---- the guard ---- */

static void report(const struct watch *watch, enum guard_report_kind kind, int value)
{
    const struct guard_report report = {kind, value, watch->overdue};
    /* If the other side is gone, the next read shows it. */
    send(watch->fd, &report, sizeof report, MSG_NOSIGNAL);
}

static void obey(struct watch *watch)
{
    struct order order;
    const ssize_t size = recv(watch->fd, &order, sizeof order, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size != sizeof order) {
        /* The conclave process is gone, and with it the lock. */
        watch->kill_ms = 0;
        watch->fd = -1;
    } else if (order.signal) {
        kill(-watch->command, order.signal);
    } else if (!watch->overdue) {
        watch->term_ms = watch->ended ? GUARD_NEVER : order.term_ms;
        watch->kill_ms = order.kill_ms < watch->leftover_ms ? order.kill_ms : watch->leftover_ms;
    }
}

/* Reaps children. False when no process of the command is left. */
static bool look_after_children(struct watch *watch)
{
    struct signalfd_siginfo siginfo;
    while (read(watch->children, &siginfo, sizeof siginfo) > 0)
        continue;
    for (;;) {
        int status;
        const pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid <= 0)
            return pid == 0;
        if (pid != watch->command)
            continue;
        if (WIFSTOPPED(status)) {
            report(watch, GUARD_STOPPED, WSTOPSIG(status));
        } else {
            watch->ended = true;
            watch->status = status;
        }
    }
}

/* Returns how long to sleep. */
static int act_in_time(struct watch *watch)
{
    const int64_t now_ms = cv_boot_ms();
    if (now_ms >= watch->kill_ms) {
        watch->overdue = watch->overdue || !watch->ended;
        signal_all(watch->command, SIGKILL);
        return AGAIN_MS; /* its orphans follow as soon as their parent is reaped */
    }
    if (now_ms >= watch->term_ms) {
        watch->overdue = watch->overdue || !watch->ended;
        watch->term_ms = GUARD_NEVER;
        signal_all(watch->command, SIGTERM);
    }
    const int64_t next_ms = watch->term_ms < watch->kill_ms ? watch->term_ms : watch->kill_ms;
    return next_ms == GUARD_NEVER ? -1 : next_ms - now_ms > INT32_MAX ? INT32_MAX : (int)(next_ms - now_ms);
}

/* The command has ended, so the processes that it left must end, too. */
static void clear_up(struct watch *watch)
{
    const int64_t now_ms = cv_boot_ms();
    watch->term_ms = now_ms;
    watch->leftover_ms = now_ms + LEFTOVER_MS;
    if (watch->kill_ms > watch->leftover_ms)
        watch->kill_ms = watch->leftover_ms;
}

static void keep_watch(struct watch *watch)
{
    bool cleared = false;
    while (look_after_children(watch)) {
        if (watch->ended && !cleared) {
            clear_up(watch);
            cleared = true;
        }
        struct pollfd ready[] = {{.fd = watch->fd, .events = POLLIN}, {.fd = watch->children, .events = POLLIN}};
        const int sleep_ms = act_in_time(watch);
        if (poll(ready, 2, sleep_ms) > 0 && ready[0].revents)
            obey(watch);
    }
    report(watch, GUARD_ENDED, watch->status);
}

static _Noreturn void be_guard(int fd, char *const *command, const sigset_t *mask, const struct guard_heir *heir)
{
    struct watch watch = {.fd = fd, .term_ms = GUARD_NEVER, .kill_ms = GUARD_NEVER, .leftover_ms = GUARD_NEVER};
    sigset_t all, child;
    sigfillset(&all);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &all, NULL);
    /* The guard keeps all descriptors open, the session's connection among them. So if the conclave process is
     * killed, its lock becomes free only after the guard has ended everything. */
    setpgid(0, 0); /* signals from the terminal are for the job, not for the guard */
    prctl(PR_SET_NAME, "conclave-guard");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    watch.children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    watch.command = watch.children < 0 ? 0 : start_command(command, mask);
    if (watch.command) {
        report(&watch, GUARD_STARTED, watch.command);
        keep_watch(&watch);
        if (watch.fd < 0 || watch.overdue)
            heir->let_go(heir->context);
    } else {
        report(&watch, GUARD_FAILED, errno);
    }
    _exit(0);
}

/* ---- the conclave process's side ---- */

bool guard_start(struct guard *guard, char *const *command, const sigset_t *mask, const struct guard_heir *heir)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
        return false;
    /* If the guard is killed, this process adopts its orphans. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fflush(NULL);
    guard->pid = fork();
    if (guard->pid == 0) {
        close(fd[0]);
        be_guard(fd[1], command, mask, heir);
    }
    const int error = errno;
    close(fd[1]);
    guard->fd = fd[0];
    if (guard->pid < 0)
        close(fd[0]);
    errno = error;
    return guard->pid > 0;
}

static void give_order(const struct guard *guard, const struct order *order)
{
    /* If the guard is gone, the next read shows it. */
    while (send(guard->fd, order, sizeof *order, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

void guard_signal(const struct guard *guard, int signal)
{
    give_order(guard, &(struct order){.signal = signal});
}

void guard_limit(const struct guard *guard, int64_t term_ms, int64_t kill_ms)
{
    give_order(guard, &(struct order){.term_ms = term_ms, .kill_ms = kill_ms});
}

bool guard_hear(const struct guard *guard, struct guard_report *report)
{
    /* A guard that ended before it read its last order resets the connection. Its last reports are still to be read. */
    ssize_t size;
    do
        size = recv(guard->fd, report, sizeof *report, 0);
    while (size < 0 && (errno == EINTR || errno == ECONNRESET));
    return size == sizeof *report;
}
