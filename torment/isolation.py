# SPDX-License-Identifier: MIT
"""Isolation: a campaign runs in new network, mount and process namespaces. So all that it leaves, even after SIGKILL,
ends with its first process, and it can neither see nor signal other processes."""

import ctypes
import os
import signal
import subprocess
import sys
import traceback

NEW_MOUNTS, NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x00020000, 0x10000000, 0x20000000, 0x40000000
SET_DEATH_SIGNAL = 1

libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """In a child, before it becomes another program."""
    libc.prctl(SET_DEATH_SIGNAL, signal.SIGKILL)


def become_root():
    """A user that is not root can be root in a user namespace, where the kernel allows that."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(NEW_USER):
        return False
    for path, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{path}", "w", encoding="ascii") as file:
            file.write(text)
    return True


def settle_in():
    """The first process of the new world makes the mounts that it needs. True if it could."""
    try:
        for command in (["mount", "--make-rprivate", "/"], ["mount", "-t", "proc", "proc", "/proc"],
                        ["mount", "-t", "tmpfs", "torment", "/run"], ["mkdir", "/run/netns"],
                        ["ip", "link", "set", "lo", "up"], ["ip", "link", "add", "hub", "type", "bridge"],
                        ["ip", "link", "add", "spare", "type", "bridge"]):
            subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def run_isolated(main):
    """Runs main(isolated) and returns its exit status: in a world of its own, or right here where there is none."""
    if not possible():
        return main(False)
    if os.getuid() != 0:
        become_root()
    libc.unshare(NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK)
    child = os.fork()
    if child == 0:
        die_with_parent()
        os._exit(run_as_first(main))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(child, number))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_as_first(main):
    """The first process has no caller that would catch its exceptions or flush its output."""
    try:
        return main(settle_in())
    except BaseException:  # whatever it is
        traceback.print_exc()
        return 2
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def possible():
    """Tries in a child whether isolation works."""
    child = os.fork()
    if child == 0:
        good = (os.getuid() == 0 or become_root()) and not libc.unshare(NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK)
        grandchild = os.fork() if good else -1
        if grandchild == 0:
            os._exit(0 if settle_in() else 1)
        os._exit(os.waitpid(grandchild, 0)[1] != 0 if good else 1)
    return os.waitpid(child, 0)[1] == 0
