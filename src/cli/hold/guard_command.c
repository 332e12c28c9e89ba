// SPDX-License-Identifier: MIT
/* `conclave guard`: replaces a file by the output of a command, unless it was replaced with a higher fence. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/hold/hold.h"
#include "core/parse.h"

struct guard_request {
    const char *file; /* first */
    uint64_t fence;
};

static const struct option_row rows[] = {
    {"fence", "N", OPTION_NUMBER, offsetof(struct guard_request, fence),
     .help = "the fence of the lock that is held ($CONCLAVE_FENCE)", .least = 1, .most = INT64_MAX},
    {0},
};

const struct options guard_options = {
    .name = "guard",
    .failure = HOLD_TROUBLE,
    .usage = "FILE [OPTION...] -- COMMAND [ARGUMENT...]",
    .about = "Runs COMMAND and, if it ends with 0, puts its output in the place of FILE: at once, as a whole, and only "
             "if FILE was never replaced with a higher fence. FILE.fence keeps the highest.",
    .rows = rows,
    .more = "conclave lock NAME -- conclave guard FILE -- COMMAND: a COMMAND that hung until the lock was another's "
            "changes nothing.\n"
            "Exit codes: COMMAND's, 128 and the signal if one ended it; 121 a higher fence was there, and FILE is as "
            "it was; 125 wrong usage, FILE cannot be written, or a failure of conclave itself; 126, 127 COMMAND cannot "
            "be run, or was not found.",
    .lenient = true,
    .runs_command = true,
};

static int explain(const struct guard_request *request, int error)
{
    const int reason = errno;
    uint64_t highest = 0;
    if (error != CONCLAVE_STALE) {
        command_refuse("guard %s: %s", cv_brief(request->file).text,
                       error == CONCLAVE_INVALID ? "expected a file, and a fence from 1 on"
                       : reason == EBADMSG       ? "expected 20 digits and a newline in its .fence, and nothing else"
                       : reason == EINVAL        ? "expected a regular file, or none"
                                                 : strerror(reason));
        return HOLD_TROUBLE;
    }
    conclave_guard_highest(request->file, &highest);
    command_refuse("guard %s: fence %llu is lower than %llu, which was there: the file is as it was",
                   cv_brief(request->file).text, (unsigned long long)request->fence, (unsigned long long)highest);
    return HOLD_STALE;
}

static bool read_request(int argc, char **argv, struct guard_request *request, char ***command, int *code)
{
    const int next = options_take(&guard_options, argc, argv, request, code);
    const char *given = getenv("CONCLAVE_FENCE");
    const char *wrong = NULL;
    if (!next) {
        *code = *code == EXIT_HELD ? EXIT_HELD : HOLD_TROUBLE;
        return false;
    }
    *command = argv + next;
    if (!request->file || next >= argc)
        wrong = "expected FILE -- COMMAND";
    else if (!request->fence && !given)
        wrong = "expected --fence N, or CONCLAVE_FENCE as conclave lock sets it";
    else if (!request->fence && (!cv_parse_number(cv_text(given), INT64_MAX, &request->fence) || !request->fence))
        wrong = "CONCLAVE_FENCE: expected a number from 1 on";
    if (wrong)
        command_refuse("guard%s%s: %s; see conclave guard --help", request->file ? " " : "",
                       request->file ? cv_brief(request->file).text : "", wrong);
    *code = HOLD_TROUBLE;
    return !wrong;
}

/* Starts it with its output into the descriptor. 0, or an errno. */
static int start(char **command, int output, const sigset_t *mask, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        if (!error)
            error = posix_spawnattr_setsigmask(&attributes, mask);
        if (!error)
            error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (!error)
            error = posix_spawnp(pid, command[0], &actions, &attributes, command, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Signals that would end this process go to the command, which decides. */
static int await(pid_t pid, const sigset_t *signals)
{
    int status;
    for (;;) {
        const pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return WIFSIGNALED(status) ? HOLD_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
        siginfo_t told;
        if (sigwaitinfo(signals, &told) > 0 && told.si_signo != SIGCHLD)
            kill(pid, told.si_signo);
    }
}

/* The command's exit code, or this process's own. */
static int run(char **command, int output)
{
    sigset_t signals, before;
    pid_t pid;
    sigemptyset(&signals);
    for (size_t i = 0; i < 5; i++)
        sigaddset(&signals, ((const int[]){SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT})[i]);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &signals, &before);
    const int error = start(command, output, &before, &pid);
    if (!error)
        return await(pid, &signals);
    command_refuse("%s: %s", cv_brief(command[0]).text, strerror(error));
    return error == ENOENT ? HOLD_NOT_FOUND : HOLD_CANNOT_RUN;
}

int command_guard(int argc, char **argv)
{
    struct guard_request request = {0};
    struct conclave_guarded *guarded;
    char **command;
    int code;
    if (!read_request(argc, argv, &request, &command, &code))
        return code;
    int error = conclave_guard_open(&guarded, request.file, request.fence);
    if (error)
        return explain(&request, error);
    code = run(command, conclave_guard_fd(guarded));
    if (code) {
        conclave_guard_abandon(guarded);
        return code;
    }
    error = conclave_guard_commit(guarded);
    return error ? explain(&request, error) : EXIT_HELD;
}
