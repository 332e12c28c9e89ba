// SPDX-License-Identifier: MIT
#include "cli/hold/hold.h"
#include "cli/hold/hold_name.h"
#include "cli/hold/hold_terminal.h"
#include "cli/hold/recipe_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "client/acquire.h"
#include "client/client_session.h"
#include "client/line.h"
#include "core/parse.h"
#include "core/printable.h"
#include "core/wall_clock.h"
#include "live/net/heap.h"
#include "live/net/loop.h"
#include "secure/key.h"

#define ANSWER_MS 2000 /* a server that takes longer is suspected */
#define TELL_AFTER_S 2u

/* Signals that are passed on to the whole process group. */
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP};
#define PASSED_ON (sizeof passed_on / sizeof *passed_on)
#define ENDING 4u /* the first of them end a wait */

static struct conclave *waiting;
static volatile sig_atomic_t interrupted_by;
static volatile sig_atomic_t typed; /* the signal that Ctrl-C or Ctrl-\ sent last */

struct run {
    const struct hold *hold;
    struct conclave *session;
    uint64_t fences[CONCLAVE_NAMES]; /* of its names, in their order */
    struct guard guard;
    struct hold_terminal terminal;
    pid_t command;
    int signals;
    int64_t ends_ms; /* the lock is sure until then */
    int64_t kill_ms; /* when the command is ended */
    bool lost;
    bool forced;      /* by an operator, who waits until the command has ended */
    char reason[256]; /* the operator's */
    int code;         /* to exit with; -1: not yet */
};

/* ---- words ---- */

static const char *what(const struct hold *hold)
{
    return hold->campaign ? "election" : hold->every_ms ? "once" : hold->joins ? "members" : "lock";
}

static size_t count_of(const struct hold *hold)
{
    return hold->name_count ? hold->name_count : 1;
}

static const char *name_of(const struct hold *hold, size_t which)
{
    return hold->name_count ? hold->names[which] : hold->name;
}

/* As messages name it: of several the first. */
static struct cv_brief brief(const struct hold *hold)
{
    struct cv_brief text = cv_brief(name_of(hold, 0));
    if (count_of(hold) > 1 && strlen(text.text) + sizeof " and others" <= sizeof text.text)
        strcat(text.text, " and others"); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): there is room */
    return text;
}

int hold_explain(const struct conclave *session, const char *whose, int error)
{
    static const struct {
        int error;
        enum hold_exit code;
    } codes[] = {
        {CONCLAVE_TIMEOUT, HOLD_TIMEOUT},
        {CONCLAVE_NO_SERVER, HOLD_NO_SERVER},
        {CONCLAVE_NO_QUORUM, HOLD_NO_SERVER},
        {CONCLAVE_LOST, HOLD_LOST},
    };
    if (error == CONCLAVE_INTERRUPTED)
        return HOLD_SIGNAL + interrupted_by; /* the sender knows why */
    command_refuse("%s: %s: %s", whose, conclave_error_text(error), conclave_explain(session));
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].error == error)
            return (int)codes[i].code;
    return HOLD_TROUBLE;
}

/* ---- waiting for the lock ---- */

static void interrupt(int signal, siginfo_t *info, void *context)
{
    const int before = errno;
    (void)context;
    interrupted_by = signal;
    typed = info->si_code == SI_KERNEL ? signal : 0;
    if (waiting)
        conclave_interrupt(waiting);
    errno = before;
}

/* Ignored signals stay ignored, as nohup and shells without job control expect. */
static void catch_ending_signals(void)
{
    for (size_t i = 0; i < ENDING; i++) {
        struct sigaction before, action = {.sa_sigaction = interrupt, .sa_flags = SA_SIGINFO};
        sigaction(passed_on[i], NULL, &before);
        if (before.sa_handler != SIG_IGN)
            sigaction(passed_on[i], &action, NULL);
    }
}

static char patience[160];              /* shows a line to a person who waits */
static volatile sig_atomic_t impatient; /* it has been shown */

static void ask_for_patience(int signal)
{
    const int before = errno;
    (void)signal;
    impatient = 1;
    if (write(STDERR_FILENO, patience, strlen(patience)) < 0)
        patience[0] = '\0';
    errno = before;
}

/* The place in the queue is a part of that line, and each new one is another line. */
static void see_position(void *context, const char *name, uint64_t position)
{
    const struct hold *hold = context;
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGALRM);
    sigprocmask(SIG_BLOCK, &one, &before);
    snprintf(patience, sizeof patience, "conclave: waiting for %s %s, position %" PRIu64 "\n", what(hold),
             cv_brief(name).text, position);
    if (impatient)
        ask_for_patience(0);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A longer wait is shown on a terminal. */
static void expect_a_wait(struct conclave *session, const struct hold *hold)
{
    const struct sigaction action = {.sa_handler = ask_for_patience};
    if (!isatty(STDERR_FILENO))
        return;
    snprintf(patience, sizeof patience, "conclave: waiting for %s %s\n", what(hold), brief(hold).text);
    conclave_on_position(session, see_position, (void *)(uintptr_t)hold);
    sigaction(SIGALRM, &action, NULL);
    alarm(TELL_AFTER_S);
}

static void expect_no_wait(struct conclave *session)
{
    conclave_on_position(session, NULL, NULL);
    if (!*patience)
        return;
    alarm(0);
    signal(SIGALRM, SIG_DFL);
}

int hold_open(struct conclave **session, const struct hold *hold)
{
    struct conclave_options options = hold->server;
    char name[CONCLAVE_CLIENT_BYTES + 1];
    options.timeout_ms = ANSWER_MS;
    hold_name(name, hold->command ? hold->command[0] : "conclave");
    options.client = hold->client ? hold->client : name;
    struct cv_tls_files files;
    if (cv_line_files(&options, &files)) {
        cv_key_forbid_dumps();
        if (cv_heap_begin(HOLD_TROUBLE)) {
            command_refuse("%s", cv_error_text(CV_ENOMEM));
            return HOLD_TROUBLE;
        }
    }
    const int error = conclave_open_with(session, &options);
    return error ? hold_explain(*session, "server", error) : 0;
}

/* The first error counts, and the others are given back all the same. */
static int give_up(const struct run *run)
{
    const struct hold *hold = run->hold;
    if (recipe_holds(hold))
        return recipe_give_up(run->session, hold, run->fences[0], run->code == 0);
    int error = hold->campaign ? conclave_resign(run->session, hold->name) : 0;
    for (size_t i = 0; i < count_of(hold) && !hold->campaign; i++) {
        const int its = conclave_unlock(run->session, name_of(hold, i), run->fences[i]);
        error = error ? error : its;
    }
    return error;
}

static int renew(const struct run *run)
{
    int error = 0;
    for (size_t i = 0; i < count_of(run->hold) && !error; i++)
        error = conclave_renew(run->session, name_of(run->hold, i), run->fences[i], NULL);
    return error;
}

/* All of them are sure to last that long; -1: they do not run out. */
static int64_t left_ms(const struct run *run)
{
    int64_t least_ms = -1;
    for (size_t i = 0; i < count_of(run->hold); i++) {
        const int64_t its_ms = conclave_left_ms(run->session, name_of(run->hold, i));
        if (its_ms >= 0 && (least_ms < 0 || its_ms < least_ms))
            least_ms = its_ms;
    }
    return least_ms;
}

static bool is_about(const struct run *run, const struct conclave_event *event)
{
    for (size_t i = 0; i < count_of(run->hold); i++)
        if (event->fence == run->fences[i] && strcmp(event->name, name_of(run->hold, i)) == 0)
            return true;
    return false;
}

static int acquire(struct run *run)
{
    const struct hold *hold = run->hold;
    const struct conclave_candidate candidate = {.wait_ms = hold->want.wait_ms,
                                                 .priority = hold->priority,
                                                 .try_once = hold->want.try_once,
                                                 .ttl_ms = hold->want.ttl_ms,
                                                 .ends_with_session = hold->want.ends_with_session,
                                                 .value = hold->value,
                                                 .value_length = hold->value ? strlen(hold->value) : 0};
    if (recipe_holds(hold))
        return recipe_acquire(run->session, hold, run->fences);
    expect_a_wait(run->session, hold);
    int error = hold->campaign ? conclave_campaign(run->session, hold->name, &candidate, run->fences)
                : hold->name_count
                    ? conclave_lock_all(run->session, hold->names, hold->name_count, &hold->want, run->fences)
                    : conclave_lock(run->session, hold->name, &hold->want, run->fences);
    if (!error && hold->want.ends_with_session)
        error = renew(run); /* how long does it last? */
    expect_no_wait(run->session);
    if (error && interrupted_by) {
        /* Closing the session gives up the wait, but not a lock with a TTL that was just granted. */
        if (run->fences[0] && !hold->want.ends_with_session)
            give_up(run);
        return HOLD_SIGNAL + interrupted_by;
    }
    if (error == CONCLAVE_TIMEOUT) {
        command_refuse("%s %s: waited too long", what(hold), brief(hold).text);
        return HOLD_TIMEOUT;
    }
    return error ? hold_explain(run->session, brief(hold).text, error) : 0;
}

/* ---- limits ---- */

/*
 * Tells the guard how long the lock is sure to last. The guard sends SIGTERM a third of that time earlier, and SIGKILL
 * a fifth earlier. That margin covers clocks that are wrong by a tenth, and a busy machine.
 */
static void tell_limit(struct run *run)
{
    const int64_t sure_ms = left_ms(run);
    const int64_t now_ms = cv_boot_ms();
    const int64_t ends_ms = sure_ms < 0 ? GUARD_NEVER : now_ms + sure_ms;
    if (run->lost || ends_ms - 1 <= run->ends_ms)
        return; /* nothing new */
    run->ends_ms = ends_ms;
    run->kill_ms = sure_ms < 0 ? GUARD_NEVER : ends_ms - sure_ms / 5;
    guard_limit(&run->guard, sure_ms < 0 ? GUARD_NEVER : ends_ms - sure_ms / 3, run->kill_ms);
}

/*
 * Only a lock that ends with its session, or that an operator has ended, leaves the command time to end: other clients
 * wait for the lease, or for the time to live.
 */
static void lose(struct run *run)
{
    const bool in_peace = (run->forced || run->hold->want.ends_with_session) && run->kill_ms != GUARD_NEVER;
    if (run->lost)
        return;
    run->lost = true;
    guard_limit(&run->guard, 0, in_peace ? run->kill_ms : 0);
}

static void lose_by_force(struct run *run, const struct conclave_event *event)
{
    run->forced = event->has_value;
    cv_show(run->reason, sizeof run->reason, (struct cv_text){event->value, event->value_length});
    lose(run);
}

/* Somebody asks for the lock. The command may be told, and a person who looks on is. */
static void hear_request(const struct run *run, const struct conclave_event *event)
{
    const struct cv_text client = {event->value, event->value_length};
    if (run->hold->on_ask_back)
        guard_signal(&run->guard, run->hold->on_ask_back);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "conclave: %s asks for %s %s back\n",
                event->has_value ? cv_brief_text(client).text : "somebody", what(run->hold),
                cv_brief(event->name).text);
}

static void attend_session(struct run *run)
{
    struct conclave_event event;
    for (;;) {
        const int result = run->lost ? 0 : conclave_next_event(run->session, &event, 0);
        if (result == 1 && event.kind == CONCLAVE_EVENT_LOST && is_about(run, &event))
            lose_by_force(run, &event);
        else if (result == 1 && event.kind == CONCLAVE_EVENT_ASKED_BACK && is_about(run, &event))
            hear_request(run, &event);
        else if (result < 0 && result != CONCLAVE_INTERRUPTED)
            lose(run);
        if (result != 1)
            break;
    }
    tell_limit(run);
}

/* ---- running the command ---- */

/* Of several locks the names are lines, and the fences stand in their order. */
static void describe_to_command(const struct run *run)
{
    char digits[24], numbered[40], names[CONCLAVE_NAMES * (CONCLAVE_NAME_BYTES + 1)], fences[CONCLAVE_NAMES * 24];
    const int64_t now_ms = cv_unix_ms();
    const int64_t sure_ms = left_ms(run);
    size_t names_end = 0, fences_end = 0;
    for (size_t i = 0; i < count_of(run->hold); i++) {
        const char *name = name_of(run->hold, i);
        names_end += (size_t)snprintf(names + names_end, sizeof names - names_end, "%s%s", i ? "\n" : "", name);
        snprintf(digits, sizeof digits, "%" PRIu64, run->fences[i]);
        fences_end += (size_t)snprintf(fences + fences_end, sizeof fences - fences_end, "%s%s", i ? " " : "", digits);
        snprintf(numbered, sizeof numbered, "CONCLAVE_FENCE_%zu", i + 1);
        if (run->hold->name_count)
            setenv(numbered, digits, 1);
    }
    setenv("CONCLAVE_LOCK", names, 1);
    setenv("CONCLAVE_FENCE", fences, 1);
    snprintf(digits, sizeof digits, "%" PRId64, sure_ms < 0 ? INT64_MAX : now_ms + sure_ms);
    setenv("CONCLAVE_DEADLINE", digits, 1);
}

/* Blocks the signals that are passed on, to read them from a descriptor. Returns the mask before that. */
static sigset_t collect_signals(struct run *run)
{
    sigset_t wanted, before;
    sigemptyset(&wanted);
    for (size_t i = 0; i < PASSED_ON; i++)
        sigaddset(&wanted, passed_on[i]);
    sigaddset(&wanted, SIGCONT);
    sigprocmask(SIG_BLOCK, &wanted, &before);
    run->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    /* The command starts with the signal dispositions that this process had. */
    for (size_t i = 0; i < ENDING; i++) {
        struct sigaction now, action = {.sa_handler = SIG_DFL};
        sigaction(passed_on[i], NULL, &now);
        if (now.sa_sigaction == interrupt)
            sigaction(passed_on[i], &action, NULL);
    }
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, waitpid() would not work */
    return before;
}

/* After a stop: was the lock lost meanwhile? If so, the command must not go on. */
static void resume(struct run *run)
{
    const bool ends_with_session = run->hold->want.ends_with_session;
    const int64_t sure_ms = left_ms(run);
    const int error = sure_ms >= 0 && !run->lost ? renew(run) : 0;
    if (error == CONCLAVE_LOST || (error && (ends_with_session || sure_ms == 0)))
        lose(run);
    attend_session(run);
    if (!run->lost)
        hold_terminal_go_on(&run->terminal, &run->guard, run->command);
}

static void attend_signals(struct run *run)
{
    struct signalfd_siginfo info;
    while (read(run->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCONT) {
            resume(run);
            continue;
        }
        typed = info.ssi_code == SI_KERNEL ? (int)info.ssi_signo : 0;
        guard_signal(&run->guard, (int)info.ssi_signo);
    }
}

static int code_of_ended(struct run *run, const struct guard_report *report)
{
    if (run->lost || report->overdue) {
        run->lost = true;
        command_refuse("%s %s: lost, so the command was ended%s%s", what(run->hold), brief(run->hold).text,
                       run->forced ? "; an operator forced it: " : "", run->reason);
        return HOLD_LOST;
    }
    return WIFSIGNALED(report->value) ? HOLD_SIGNAL + WTERMSIG(report->value) : WEXITSTATUS(report->value);
}

static void attend_guard(struct run *run)
{
    struct guard_report report;
    if (!guard_hear(&run->guard, &report)) {
        command_refuse("the guard of the command was killed, so the command was, too");
        guard_end_all(run->command ? run->command : run->guard.pid);
        run->code = HOLD_TROUBLE;
        return;
    }
    switch (report.kind) {
    case GUARD_STARTED:
        run->command = report.value;
        break;
    case GUARD_FAILED:
        command_refuse("%s: %s", cv_brief(run->hold->command[0]).text, strerror(report.value));
        run->code = report.value == ENOENT ? HOLD_NOT_FOUND : HOLD_CANNOT_RUN;
        break;
    case GUARD_STOPPED:
        if (hold_terminal_stopped(&run->terminal, &run->guard, run->command, report.value))
            resume(run);
        break;
    case GUARD_ENDED:
        run->code = code_of_ended(run, &report);
        break;
    }
}

/*
 * Runs in the guard, which has a copy of the session. The connection belongs to the conclave process, so locks that end
 * with the session end with it. For the others the guard has the secret.
 */
static void let_go(void *context)
{
    struct run *run = context;
    if (run->hold->want.ends_with_session) {
        shutdown(conclave_fd(run->session), SHUT_RDWR);
        return;
    }
    cv_client_disconnect(run->session);
    give_up(run);
}

static void run_command(struct run *run)
{
    const sigset_t before = collect_signals(run);
    if (interrupted_by) {
        /* An interruption just after the grant. It is cleared here, so that the lock can be released. */
        struct conclave_event event;
        conclave_next_event(run->session, &event, 0);
        run->code = HOLD_SIGNAL + interrupted_by;
        return;
    }
    describe_to_command(run);
    const struct guard_heir heir = {let_go, run};
    if (run->signals < 0 || !guard_start(&run->guard, run->hold->command, &before, &heir)) {
        command_refuse("cannot run anything: %s", strerror(errno));
        run->code = HOLD_TROUBLE;
        return;
    }
    hold_terminal_open(&run->terminal);
    tell_limit(run);
    while (run->code < 0) {
        struct pollfd ready[] = {
            {.fd = run->guard.fd, .events = POLLIN},
            {.fd = run->signals, .events = POLLIN},
            {.fd = run->lost ? -1 : conclave_fd(run->session), .events = POLLIN},
        };
        if (poll(ready, 3, run->lost ? -1 : conclave_next_ms(run->session)) < 0 && errno != EINTR) {
            command_refuse("poll: %s", strerror(errno)); /* the guard ends the command when its socket is closed */
            run->code = HOLD_TROUBLE;
        }
        if (ready[1].revents)
            attend_signals(run);
        attend_session(run);
        if (ready[0].revents)
            attend_guard(run);
    }
    hold_terminal_close(&run->terminal);
    close(run->guard.fd);
    waitpid(run->guard.pid, NULL, 0);
}

/* ---- the whole ---- */

/* If the lock was lost before the end, the command's success does not count. */
static void give_back(struct run *run)
{
    const struct hold *hold = run->hold;
    for (size_t i = 0; i < count_of(hold) && run->forced; i++) /* the next holder need not wait for the time to live */
        cv_client_end(run->session, hold->campaign ? "RESIGN" : "UNLOCK", name_of(hold, i), run->fences[i], true);
    if (run->lost)
        return;
    const int error = give_up(run);
    if (error != CONCLAVE_LOST)
        return;
    command_refuse("%s %s: had been lost before the command ended", what(hold), brief(hold).text);
    run->code = HOLD_LOST;
}

/*
 * A script ends at Ctrl-C only if its command dies by the signal; an exit code would mean that the signal was handled.
 */
static void die_as_the_command_did(int code)
{
    sigset_t one;
    if (!typed || code != HOLD_SIGNAL + typed)
        return;
    sigemptyset(&one);
    sigaddset(&one, typed);
    signal(typed, SIG_DFL);
    raise(typed);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* If one of these were closed, a connection could take its number, and output would go there. */
static void fill_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int hold_run(const struct hold *hold)
{
    struct run run = {.hold = hold, .signals = -1, .code = -1};
    fill_standard_descriptors();
    catch_ending_signals();
    int code = hold_open(&waiting, hold);
    run.session = waiting;
    if (!code && interrupted_by)
        conclave_interrupt(waiting); /* by a signal that came before there was a session */
    if (!code)
        code = acquire(&run);
    if (code == HOLD_TIMEOUT && hold->every_ms) {
        code = 0; /* it has been done in this period, or somebody does it */
    } else if (!code) {
        run_command(&run);
        give_back(&run);
        code = run.code;
    }
    waiting = NULL;
    conclave_close(run.session);
    if (run.signals >= 0)
        close(run.signals);
    die_as_the_command_did(code);
    return code;
}
