#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpirun over ssh between four hosts: the same bytes as without MPI. The hosts are network namespaces with names and ssh servers of
their own. Exit 77, which Meson calls skipped, where there is no MPI or no ssh server, or nobody may make namespaces."""

import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(SOURCE / "tests"))
from support import mpi  # noqa: E402  pylint: disable=wrong-import-position
from support.namespaces import Namespaces  # noqa: E402  pylint: disable=wrong-import-position

CONCLAVE = os.path.abspath(os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave")))
PATIENCE = 240
SKIPPED = 77
HOSTS = 4
PORT = 2222

# What is run: sweeps, a comparison, single runs, bad input; with the exit codes.
LINES = [
    (0, "sim chang-roberts -n 60 --ids random --start all --delay 1..9 --runs 400 --seed 5"),
    (1, "sim maekawa-plain -n 9 --delay 1..9 --runs 60 --json --threads 2"),
    (0, "compare mutex --nodes 4,9 --json"),
    (0, "sim franklin -n 2000 --ids random --start all --json"),
    (0, "sim alpha -n 60 --graph grid:6x10 --delay 1..4"),
    (2, "sim bully -n x --runs 5"),
]


def missing():
    """Why nothing can be tested here, or None."""
    for program in ("/usr/sbin/sshd", "ssh", "ssh-keygen", "ip", "unshare"):
        if not shutil.which(program):
            return f"no {program}"
    return mpi.missing(CONCLAVE)


class Hosts:
    """The namespaces, a key, and an ssh server in each. `ssh` is a program that reaches them."""

    def __init__(self, directory):
        self.directory = directory
        self.servers = []
        self.spaces = Namespaces("mpi", HOSTS, "10.213.8")

    def make_key(self, name):
        file = self.directory / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True, stdin=subprocess.DEVNULL)
        return file, (self.directory / f"{name}.pub").read_text(encoding="ascii")

    def start(self):
        key, public = self.make_key("user")
        (self.directory / "authorized").write_text(public, encoding="ascii")
        known = ""
        for name, address in zip(self.spaces.names, self.spaces.addresses):
            host_key, host_public = self.make_key(name)
            known += f"[{address}]:{PORT} {' '.join(host_public.split()[:2])}\n"
            self.start_server(name, address, host_key)
        (self.directory / "known").write_text(known, encoding="ascii")
        (self.directory / "config").write_text(f"""Host *
Port {PORT}
User {getpass.getuser()}
IdentityFile {key}
IdentitiesOnly yes
BatchMode yes
ConnectTimeout 20
StrictHostKeyChecking yes
UserKnownHostsFile {self.directory}/known
""", encoding="ascii")
        ssh = self.directory / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec ssh -F {self.directory}/config "$@"\n', encoding="ascii")
        ssh.chmod(0o755)
        (self.directory / "hosts").write_text("".join(f"{address}{'' if mpi.is_mpich() else ' slots=1'}\n" for address in self.spaces.addresses),
                                              encoding="ascii")

    def start_server(self, name, address, host_key):
        """With a name of its own, as MPI tells hosts by their names, and a /run of its own, which sshd wants. What a shell does when it
        starts may take any time, and is left out."""
        config = self.directory / f"{name}.config"
        config.write_text(f"""Port {PORT}
ListenAddress {address}
HostKey {host_key}
AuthorizedKeysFile {self.directory}/authorized
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
MaxStartups 50
PidFile none
""", encoding="ascii")
        prepare = (f"hostname {name} && mount -t tmpfs tmpfs /run && mkdir /run/sshd && for file in .bashrc .zshenv .cshrc; do "
                   "[ ! -e ~/$file ] || mount --bind /dev/null ~/$file; done; "
                   f"exec /usr/sbin/sshd -D -e -f {config}")
        with open(self.directory / f"{name}.log", "wb") as log:
            self.servers.append(subprocess.Popen(["ip", "netns", "exec", name, "unshare", "--uts", "--mount", "sh", "-c", prepare],
                                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def logs(self):
        return "".join((self.directory / f"{name}.log").read_text(errors="replace")[-2000:] for name in self.spaces.names)

    def inside(self, *command, **more):
        """The command, on the first host."""
        name = self.spaces.names[0]
        return subprocess.run(["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", f'hostname {name} && exec "$@"', "sh", *command],
                              capture_output=True, text=True, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL, **more)

    def wait_for_servers(self):
        """Why they cannot be reached, or None."""
        deadline = time.monotonic() + PATIENCE / 4
        for address in self.spaces.addresses:
            while True:
                done = self.inside(str(self.directory / "ssh"), address, "true")
                if done.returncode == 0:
                    break
                if time.monotonic() > deadline or any(server.poll() is not None for server in self.servers):
                    return f"ssh to {address}: {done.stderr.strip()}\n{self.logs()}"
                time.sleep(0.1)
        return None

    def mpirun(self, ranks, *words):
        ssh, hosts = str(self.directory / "ssh"), str(self.directory / "hosts")
        how = ["-iface", "v0", "-f", hosts, "-launcher", "ssh", "-launcher-exec", ssh] if mpi.is_mpich() else [
            "--mca", "plm_rsh_agent", ssh, "--hostfile", hosts, "--map-by", "node", "--oversubscribe"]
        return self.inside(mpi.MPIRUN, *how, "-n", str(ranks), *words, env={**os.environ, **mpi.ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0"})

    def end(self):
        for server in self.servers:
            with contextlib.suppress(ProcessLookupError):
                server.terminate()
            server.wait()
        self.spaces.remove()


def alone(line):
    done = subprocess.run([CONCLAVE, *line.split()], capture_output=True, text=True, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def ours(text):
    return "".join(line + "\n" for line in text.splitlines() if line.startswith("conclave: "))


def test(hosts):
    done = hosts.mpirun(HOSTS, "hostname")
    assert done.returncode == 0 and sorted(done.stdout.split()) == hosts.spaces.names, f"a rank on each host: {done}\n{hosts.logs()}"
    for code, line in LINES:
        expected = alone(line)
        assert expected[0] == code, (line, expected)
        for ranks in (HOSTS, HOSTS + 1) if line == LINES[0][1] else (HOSTS,):
            done = hosts.mpirun(ranks, CONCLAVE, *line.split())
            seen = done.returncode, done.stdout, ours(done.stderr)
            assert seen == expected, f"{ranks} ranks on {HOSTS} hosts: {line}\nexpected {expected}\nseen     {seen}\n{done.stderr}"
    left = set(hosts.spaces.processes()) - {server.pid for server in hosts.servers}
    deadline = time.monotonic() + PATIENCE / 4
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = set(hosts.spaces.processes()) - {server.pid for server in hosts.servers}
    assert not left, f"processes are left on the hosts: {left}"


def main():
    why = missing()
    if why:
        print(f"skipped: {why}")
        return SKIPPED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing is left behind
    with tempfile.TemporaryDirectory(prefix="conclave-hosts-") as name:
        directory = pathlib.Path(name)
        hosts = Hosts(directory)
        try:
            if not hosts.spaces.names:
                print("skipped: this user may not make network namespaces")
                return SKIPPED
            hosts.start()
            unreached = hosts.wait_for_servers()
            if unreached:
                print(f"skipped: {unreached}")
                return SKIPPED
            test(hosts)
        finally:
            hosts.end()
    print(f"ok: {HOSTS} hosts, from {socket.gethostname()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
