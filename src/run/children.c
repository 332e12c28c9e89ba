// SPDX-License-Identifier: MIT
/* Starts, tells and ends the processes of an experiment. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/scenario/label.h"
#include "run/address.h"
#include "run/experiment_parts.h"
#include "run/process.h"

#define PATIENCE_MS 10000u  /* how long a process may take to end */
#define IMPATIENCE_MS 1000u /* and if the user wants to stop */

static int refuse_call(struct cv_experiment *experiment, const char *call)
{
    return cv_complain(experiment->complaint, "%s: %s; expected to start %u processes", call, strerror(errno),
                       experiment->scenario->group.nodes);
}

/* ---- starting ---- */

static int by_number(const void *left, const void *right)
{
    const int x = *(const int *)left, y = *(const int *)right;
    return (x > y) - (x < y);
}

/* A process keeps its three files and the standard ones, so that it holds open nothing of the others. */
static void close_others(int one, int two, int three)
{
    int kept[] = {one, two, three};
    unsigned from = 3;
    qsort(kept, 3, sizeof *kept, by_number);
    for (int i = 0; i < 3; i++) {
        if ((unsigned)kept[i] > from)
            close_range(from, (unsigned)kept[i] - 1, 0);
        from = (unsigned)kept[i] + 1;
    }
    close_range(from, ~0u, 0);
}

static int make_listener(const struct cv_experiment *experiment, uint32_t slot)
{
    struct sockaddr_storage address;
    const socklen_t length = run_address(&address, &experiment->network, slot);
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        return -1;
    if (bind(made, (const struct sockaddr *)&address, length) == 0 && listen(made, SOMAXCONN) == 0)
        return made;
    const int error = errno;
    close(made);
    errno = error;
    return -1;
}

static _Noreturn void become(const struct cv_experiment *experiment, uint32_t slot, bool returned, int control,
                             int listener)
{
    static struct process process;
    const int file = experiment->children[slot].file;
    close_others(control, listener, file);
    process = (struct process){.scenario = experiment->scenario,
                               .network = &experiment->network,
                               .board = experiment->board,
                               .slot = &experiment->board->slot[slot],
                               .index = slot,
                               .node = experiment->board->slot[slot].node,
                               .returned = returned,
                               .view = experiment->views.view,
                               .traced = experiment->options.observer.state != NULL,
                               .control = control,
                               .listener = listener,
                               .file = file};
    process_run(&process);
}

int child_start(struct cv_experiment *experiment, uint32_t slot, bool returned)
{
    struct child *child = &experiment->children[slot];
    struct process_slot *shared = &experiment->board->slot[slot];
    int pair[2];
    if (experiment->machines) {
        machines_start(experiment, slot, returned);
        return 0;
    }
    const int listener = child->listener >= 0 ? child->listener : make_listener(experiment, slot);
    child->listener = -1;
    if (listener < 0)
        return refuse_call(experiment, "socket");
    child->file = memfd_create("conclave run", MFD_CLOEXEC);
    if (child->file < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
        close(listener);
        return refuse_call(experiment, "socketpair");
    }
    child->control = pair[0];
    shared->state = SLOT_LIVE;
    shared->own_opened = shared->client_opened = 1; /* its first steps, in which clients may begin */
    experiment->board->current[shared->node] = slot;
    child->pid = fork();
    if (child->pid == 0)
        become(experiment, slot, returned, pair[1], listener);
    const int error = errno;
    close(pair[1]);
    close(listener);
    errno = error;
    if (child->pid > 0)
        return 0;
    child->pid = 0;
    return refuse_call(experiment, "fork");
}

bool child_lives(const struct cv_experiment *experiment, uint32_t slot)
{
    return experiment->children[slot].pid && experiment->board->slot[slot].state == SLOT_LIVE;
}

void child_tell(struct cv_experiment *experiment, uint32_t slot, enum control_type type, uint32_t index,
                const void *content, size_t bytes)
{
    const struct control control = {.type = type,
                                    .index = index,
                                    .count = type == CONTROL_GONE ? *board_sent(experiment->board, slot, index) : 0,
                                    .ns = experiment_ns(experiment)};
    if (!child_lives(experiment, slot))
        return;
    if (experiment->machines)
        machines_order(experiment, slot, &control, content, bytes);
    else
        child_order(experiment, slot, &control, content, bytes);
}

void child_order(struct cv_experiment *experiment, uint32_t slot, const struct control *control, const void *content,
                 size_t bytes)
{
    struct iovec pieces[] = {{(void *)(uintptr_t)control, sizeof *control}, {(void *)(uintptr_t)content, bytes}};
    const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    if (!child_lives(experiment, slot))
        return;
    if (control->type != CONTROL_START && control->type != CONTROL_BEGIN && control->type != CONTROL_END)
        experiment->board->slot[slot].own_opened++;
    if (control->type == CONTROL_VIEW) /* clients may go on in it */
        experiment->board->slot[slot].client_opened++;
    sendmsg(experiment->children[slot].control, &message, MSG_NOSIGNAL); /* if it fails, the process has ended */
}

void child_signal(struct cv_experiment *experiment, uint32_t slot, int number)
{
    if (!experiment->children[slot].pid)
        return;
    experiment->children[slot].paused = number == SIGSTOP;
    if (experiment->machines)
        machines_signal(experiment, slot, number);
    else
        kill(experiment->children[slot].pid, number);
}

/* ---- ending ---- */

void child_forget(struct cv_experiment *experiment, uint32_t slot)
{
    struct child *child = &experiment->children[slot];
    child->pid = 0;
    if (child->control >= 0)
        close(child->control);
    child->control = -1;
    experiment->board->slot[slot].state = SLOT_DEAD;
    if (experiment->board->current[experiment->board->slot[slot].node] == slot)
        experiment->board->current[experiment->board->slot[slot].node] = NO_SLOT;
}

void child_kill(struct cv_experiment *experiment, uint32_t slot)
{
    const pid_t pid = experiment->children[slot].pid;
    if (!pid)
        return;
    if (experiment->machines) {
        machines_kill(experiment, slot);
        return;
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    child_forget(experiment, slot);
}

/* A process has ended that should not have: what happened, in one line. */
static int explain(struct cv_experiment *experiment, uint32_t slot, int status)
{
    const struct process_slot *it = &experiment->board->slot[slot];
    const struct cv_algorithm *algorithm = experiment->scenario->algorithm;
    const char *name = cv_name(experiment->scenario, it->node).text;
    const uint32_t kind = it->kind;
    char step[64];
    if (it->handles == CV_EVENT_RECEIVE && kind < cv_algorithm_kinds(algorithm))
        snprintf(step, sizeof step, "received `%s`", algorithm->kinds[kind].name);
    else
        snprintf(step, sizeof step, "handled `%s`", cv_event_name((enum cv_event_type)it->handles));
    if (WIFSIGNALED(status))
        return cv_complain(experiment->complaint,
                           "node %s: its process died by signal %d (%s), as it %s; expected a "
                           "handler that returns",
                           name, WTERMSIG(status), strsignal(WTERMSIG(status)), step);
    if (it->failed)
        return cv_complain(experiment->complaint, "node %s: %s: %s; its process had to end", name,
                           it->failed_call ? it->failed_call : "system call", strerror((int)it->failed));
    return cv_complain(experiment->complaint, "node %s: its process ended by itself with code %d, as it %s", name,
                       WEXITSTATUS(status), step);
}

static uint32_t slot_of(const struct cv_experiment *experiment, pid_t pid)
{
    for (uint32_t slot = 0; slot < experiment->board->slots; slot++)
        if (experiment->children[slot].pid == pid)
            return slot;
    return NO_SLOT;
}

int children_reap(struct cv_experiment *experiment)
{
    int status;
    if (experiment->machines)
        return machines_hear(experiment, 0);
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
        const uint32_t slot = slot_of(experiment, pid);
        if (slot == NO_SLOT)
            continue;
        const bool planned = experiment->board->slot[slot].state == SLOT_DYING;
        child_forget(experiment, slot);
        if (!planned)
            return explain(experiment, slot, status);
        experiment->died(experiment, slot);
    }
    return 0;
}

static bool is_interrupted(const struct cv_experiment *experiment)
{
    return experiment->options.interrupted && *experiment->options.interrupted;
}

/* Waits until a process has ended; kills it when patience is over. */
static int await_end(struct cv_experiment *experiment, uint32_t slot, uint64_t deadline_ms)
{
    struct child *child = &experiment->children[slot];
    int status = 0;
    for (;;) {
        const pid_t ended = waitpid(child->pid, &status, WNOHANG);
        if (ended == child->pid || (ended < 0 && errno == ECHILD))
            break;
        if (experiment_ms(experiment) > deadline_ms) {
            child_kill(experiment, slot);
            if (is_interrupted(experiment))
                return 0;
            return cv_complain(experiment->complaint,
                               "node %s: its process did not end within %u ms of the run's end; expected handlers "
                               "that return",
                               cv_name(experiment->scenario, experiment->board->slot[slot].node).text, PATIENCE_MS);
        }
        poll(NULL, 0, 1);
    }
    const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const bool planned = experiment->board->slot[slot].state == SLOT_DYING;
    child_forget(experiment, slot);
    return well || planned ? 0 : explain(experiment, slot, status);
}

int children_end(struct cv_experiment *experiment)
{
    if (experiment->machines)
        return machines_finish(experiment);
    const uint64_t deadline_ms = experiment_ms(experiment) + (is_interrupted(experiment) ? IMPATIENCE_MS : PATIENCE_MS);
    int error = 0;
    for (uint32_t slot = 0; slot < experiment->board->slots; slot++) {
        if (experiment->children[slot].paused && experiment->children[slot].pid)
            kill(experiment->children[slot].pid, SIGCONT);
        child_tell(experiment, slot, CONTROL_END, 0, NULL, 0);
    }
    for (uint32_t slot = 0; slot < experiment->board->slots; slot++)
        if (experiment->children[slot].pid && await_end(experiment, slot, deadline_ms) && !error)
            error = CV_EINPUT;
    return error;
}
