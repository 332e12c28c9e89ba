#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Can the tests of the client side fail? Each mutant changes a line of a source, is linked into the program or library of
the build in $CONCLAVE_BUILD, and must be caught by the check named with it."""

import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", HERE.parent.parent))
BUILD = pathlib.Path(os.environ.get("CONCLAVE_BUILD", SOURCE / "build"))
WORKERS = 4  # the tests mostly wait for what the mutant does not do

GUARD, HOLD, TERMINAL = "src/cli/hold/guard.c", "src/cli/hold/hold.c", "src/cli/hold/hold_terminal.c"
INTEREST, SESSION, LOCK = "src/client/interest.c", "src/client/client_session.c", "src/client/acquire.c"

# What is broken, where, the line, what it becomes, and which script and check find it.
MUTANTS = [
    ("orphans get away", GUARD, "    prctl(PR_SET_CHILD_SUBREAPER, 1);\n    watch.children", "    watch.children",
     "lock.py check_killed"),
    ("the command outlives everybody", GUARD, "    prctl(PR_SET_PDEATHSIG, SIGKILL);", "", "lock.py check_killed"),
    ("a dead conclave goes unnoticed", GUARD, "        watch->kill_ms = 0;", "", "lock.py check_killed"),
    ("the guard dies with the job", GUARD, "    setpgid(0, 0); /* signals from", "    /* signals from", "lock.py check_killed"),
    ("only the command is signalled", GUARD, "        kill(-watch->command, order.signal);",
     "        kill(watch->command, order.signal);", "lock.py check_signals"),
    ("what leaves the group is forgotten", GUARD, "            if (getpgid((pid_t)child) != group)", "            if (0)",
     "lock.py check_leftovers"),
    ("leftovers are left", GUARD, "            clear_up(watch);", "            break;", "lock.py check_leftovers"),
    ("the time does not run out", GUARD, "    if (now_ms >= watch->kill_ms) {", "    if (watch->kill_ms <= 0) {",
     "lock.py check_in_time"),
    ("signals stay blocked", GUARD, "    sigprocmask(SIG_SETMASK, mask, NULL);\n    execvp", "    execvp",
     "lock.py check_environment"),
    ("the exit code is dropped", HOLD, "WEXITSTATUS(report->value);", "0;", "lock.py check_exit_codes"),
    ("the signal is dropped", HOLD, "HOLD_SIGNAL + WTERMSIG(report->value)", "HOLD_SIGNAL", "lock.py check_exit_codes"),
    ("a loss is ignored", HOLD, "    guard_limit(&run->guard, 0, in_peace ? run->kill_ms : 0);", "", "lock.py check_lost"),
    ("no time to tidy up", HOLD, "in_peace ? run->kill_ms : 0", "0", "lock.py check_graceful"),
    ("killed only when it is too late", HOLD, "ends_ms - sure_ms / 5;", "ends_ms + sure_ms / 5;", "lock.py check_in_time"),
    ("not given back", HOLD, "    if (run->lost)\n        return;\n    const int error = give_up(run);", "    return;\n    const int error = give_up(run);",
     "lock.py check_ttl"),
    ("renewals push the end of leftovers away", GUARD, "order.kill_ms < watch->leftover_ms ? order.kill_ms : watch->leftover_ms",
     "order.kill_ms", "lock.py check_stubborn_leftovers"),
    ("no secret is shown", INTEREST, "    if (interest->ttl_ms)\n        cv_client_show_secret", "    if (0)\n        cv_client_show_secret",
     "library.py check_defaults"),
    ("a session that ends gives nothing back", SESSION, "    give_up_all(session);\n    hang_up", "    hang_up", "library.py check_defaults"),
    ("the terminal is not lent", TERMINAL, "        lend(terminal, command);\n        guard_signal", "        guard_signal", "terminal.py check_reading"),
    ("the shell's job is not suspended", TERMINAL, "    raise(SIGSTOP);", "", "terminal.py check_suspending"),
    ("Ctrl-C does not end a script", HOLD, "    raise(typed);", "", "terminal.py check_scripts_and_pipes"),
    ("nothing is renewed", INTEREST, "    interest->renew_ms = left_ms < 0 ? CV_CLIENT_NEVER : asked_ms + left_ms / 3;",
     "    interest->renew_ms = CV_CLIENT_NEVER;", "library.py check_losing"),
    ("a loss is not told", INTEREST, "    tell(session, CONCLAVE_EVENT_LOST, interest->name, interest->fence, \"\", reason);",
     "    (void)reason;",
     "library.py check_losing"),
    ("time is counted from the answer", LOCK, "    if (took_ms > (int64_t)ttl_ms / 10)", "    if (0)",
     "library.py check_ttl"),
    ("a loss waits for servers that do not answer", INTEREST, "left_ms > 1 ? (int)left_ms : 1", "session->timeout_ms",
     "library.py check_silence"),
    ("what was granted too long ago is not asked for again", LOCK, "        if (error != CONCLAVE_LOST || ", "        if (error || ",
     "library.py check_stale_grant"),
    ("a probe of a server that hangs is probed itself", SESSION, "soon ? CV_CLIENT_NEVER : now_ms + PROBE_MS", "now_ms + PROBE_MS",
     "library.py check_hanging"),
    ("the next server is not tried", SESSION, "    session->turn++;\n    memcpy(why", "    memcpy(why", "library.py check_servers"),
    ("a wait ends with its server", LOCK, "now_ms >= lost_ms + PATIENCE_MS;", "now_ms >= lost_ms;",
     "library.py check_waiting_for_a_server"),
]


def link_command(target):
    """The command by which the build links a target, as words."""
    done = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", target], capture_output=True, text=True, check=True)
    return shlex.split(done.stdout.splitlines()[-1])


def link(text, path, directory, library):
    """The program, or the library, with this text for that source."""
    source, thing = directory / pathlib.Path(path).name, directory / "mutant.o"
    source.write_text(text, encoding="utf-8")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-D_GNU_SOURCE", "-DCONCLAVE_VERSION=\"mutant\"", "-O1", "-w", "-fPIC", "-I",
                    str(SOURCE / "include"), "-I", str(SOURCE / "src"), "-c", "-o", str(thing), str(source)], check=True)
    command = link_command("src/client/libconclave.so.0.1.0" if library else "conclave")
    target = directory / ("libconclave.so" if library else "conclave")
    command[command.index("-o") + 1] = str(target)
    if library:
        stem = pathlib.Path(path).stem
        command = [word for word in command if not word.endswith(f"/{stem}.c.o")]
    # What is linked first wins over what lies in an archive.
    command.insert(command.index("-o") + 2, str(thing))
    subprocess.run(command, check=True, cwd=BUILD)
    return target


def try_mutant(mutant):
    """What is wrong with the tests, or None if they caught it."""
    what, path, before, after, test = mutant
    text = (SOURCE / path).read_text(encoding="utf-8")
    if text.count(before) != 1:
        return f"{what}: {before!r} stands {text.count(before)} times in {path}"
    script, *checks = test.split()
    with tempfile.TemporaryDirectory() as name:
        target = link(text.replace(before, after), path, pathlib.Path(name), script == "library.py")
        environment = {**os.environ, "LIBCONCLAVE" if script == "library.py" else "CONCLAVE": str(target),
                       "CONCLAVE_TEST_ATTEMPTS": "1", "CONCLAVE_TEST_PATIENCE": "20"}
        try:
            done = subprocess.run([sys.executable, str(HERE / script), *checks], env=environment, capture_output=True, text=True,
                                  check=False, timeout=100)
        except subprocess.TimeoutExpired:
            return None
    return None if done.returncode else f"{what}: {test} did not notice"


def main(wanted):
    mutants = [mutant for mutant in MUTANTS if not wanted or any(word in mutant[0] for word in wanted)]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        wrong = [text for text in pool.map(try_mutant, mutants) if text]
    for text in wrong:
        print(text)
    print(f"{len(mutants)} mutants, {len(wrong)} got away")
    return 1 if wrong or not mutants else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
