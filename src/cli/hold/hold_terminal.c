// SPDX-License-Identifier: MIT
/*
 * The shell's job is `conclave`, not the command, which has a process group of its own. So the terminal belongs to
 * `conclave`'s group at first, and Ctrl-C reaches a whole pipeline or script. When the command reads from the terminal
 * or sets it, the system stops the command; then `conclave` lends it the terminal. When the command is suspended,
 * `conclave` suspends itself, and the shell sees its job suspended. A `conclave` that is the command of another one may
 * be in the background itself. It then stops by the signal that stopped its own command: the outer one lends it the
 * terminal, and it lends it on.
 */
#include "cli/hold/hold_terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void hold_terminal_open(struct hold_terminal *terminal)
{
    *terminal = (struct hold_terminal){.fd = open("/dev/tty", O_RDWR | O_CLOEXEC)};
}

static void take_back(struct hold_terminal *terminal)
{
    sigset_t output, before;
    sigemptyset(&output);
    sigaddset(&output, SIGTTOU); /* a background group may take the terminal only while this is blocked */
    sigprocmask(SIG_BLOCK, &output, &before);
    if (terminal->lent)
        tcsetpgrp(terminal->fd, getpgrp());
    sigprocmask(SIG_SETMASK, &before, NULL);
    terminal->lent = false;
}

void hold_terminal_close(struct hold_terminal *terminal)
{
    take_back(terminal);
    if (terminal->fd >= 0)
        close(terminal->fd);
}

static bool in_foreground(const struct hold_terminal *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == getpgrp();
}

static void lend(struct hold_terminal *terminal, pid_t command)
{
    if (tcsetpgrp(terminal->fd, command) == 0)
        terminal->lent = true;
}

/* Stops this process. If the command had the terminal, stops the whole group: the terminal stopped only the command. */
static void suspend(struct hold_terminal *terminal)
{
    const bool was_lent = terminal->lent;
    terminal->returning = was_lent;
    take_back(terminal);
    if (was_lent) {
        const struct sigaction ignore = {.sa_handler = SIG_IGN};
        struct sigaction before;
        sigaction(SIGTSTP, &ignore, &before);
        kill(0, SIGTSTP);
        sigaction(SIGTSTP, &before, NULL);
    }
    raise(SIGSTOP);
}

bool hold_terminal_stopped(struct hold_terminal *terminal, const struct guard *guard, pid_t command, int signal)
{
    if (terminal->fd < 0)
        return false; /* no shell could continue the command through this process, so this process goes on */
    const bool wants_it = signal == SIGTTIN || signal == SIGTTOU, foreground = in_foreground(terminal);
    if (wants_it && (foreground || terminal->lent)) {
        if (foreground)
            lend(terminal, command);
        guard_signal(guard, SIGCONT); /* also if it stopped just before it got the terminal */
        return false;
    }
    if (wants_it)
        raise(signal);
    else
        suspend(terminal);
    return true;
}

void hold_terminal_go_on(struct hold_terminal *terminal, const struct guard *guard, pid_t command)
{
    if (terminal->returning && in_foreground(terminal))
        lend(terminal, command);
    terminal->returning = false;
    guard_signal(guard, SIGCONT);
}
