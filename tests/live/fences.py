# SPDX-License-Identifier: MIT
"""Fences that every language keeps: below 2^53, and rising whatever is restarted."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

from harness import CONCLAVE, PATIENCE, Cluster, Node, main

# A client as JavaScript has them: numbers are doubles, and what is not exact there is rounded.
JAVASCRIPT = r"""
const net = require("net");
const addresses = process.argv.slice(1);
const command = (...words) => `*${words.length}\r\n` + words.map((w) => `$${w.length}\r\n${w}\r\n`).join("");
let asked = 0, ended = 0, last = 0;
function turn(sockets) {
  if (asked === 50) { sockets.forEach((s) => s.destroy()); console.log(`${ended} of ${asked}, up to ${last}`); return; }
  const socket = sockets[asked++ % sockets.length];
  socket.once("data", (data) => {
    const fence = Number(data.toString().slice(1));
    if (!Number.isSafeInteger(fence) || fence <= last) throw new Error(`after ${last}: ${data}`);
    last = fence;
    socket.once("data", (answer) => { ended += answer.toString() === ":1\r\n"; turn(sockets); });
    socket.write(command("UNLOCK", "name", String(fence)));
  });
  socket.write(command("LOCK", "name"));
}
const sockets = addresses.map((path) => net.connect(path));
Promise.all(sockets.map((s) => new Promise((resolve) => s.once("connect", resolve)))).then(() => turn(sockets));
"""


def in_javascript(*addresses):
    if not shutil.which("node"):
        print("skipped: there is no node")
        return
    result = subprocess.run(["node", "-e", JAVASCRIPT, *addresses], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert result.returncode == 0 and result.stdout.startswith("50 of 50"), result


def javascript_alone():
    """Every number that a lone node gives comes back from a JavaScript client as it was."""
    with Node() as node:
        in_javascript(node.address())


def javascript_of_three():
    """The same from three nodes in turn, and the numbers rise from one to the next."""
    with Cluster(3) as cluster:
        in_javascript(*(cluster.address(node) for node in (1, 2, 3)))
    cluster.check()
    cluster.judge()
    cluster.remove()


def alone_without_a_directory():
    """A lone node that forgets everything goes on with higher fences, by the time of day."""
    last = 0
    for _ in range(3):
        with Node() as node:
            client = node.client()
            for _ in range(10):
                fence = client.ask("LOCK", "name")
                assert last < fence < 1 << 53, (last, fence)
                assert client.ask("UNLOCK", "name", fence) == 1
                last = fence
            client.close()


def clock_before_the_numbering():
    """By a clock before 2025 every start would give the same fences, so such a node says so and does not start."""
    if not shutil.which("faketime"):
        print("skipped: there is no faketime")
        return
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as place:
        words = ["faketime", "-f", "@2001-09-09 01:46:40", CONCLAVE, "node", "--listen", f"{place}/node.sock"]
        environment = {**os.environ, "ASAN_OPTIONS": "verify_asan_link_order=0"}  # faketime comes before it
        result = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert result.returncode and "clock says 2001-09-" in result.stderr and result.stderr.count("\n") == 1, result


def no_number_is_lost():
    """In a group, a grant costs one place of the view's block: eight numbers, wherever the name goes."""
    with Cluster(3) as cluster:
        clients = [cluster.client(node) for node in (1, 2, 3)]
        fences = []
        for turn in range(30):
            client = clients[turn % 3]
            fences.append(client.ask("LOCK", "name"))
            assert client.ask("UNLOCK", "name", fences[-1]) == 1
        epochs = {fence >> 23 for fence in fences}
        assert len(epochs) > 1 or fences[-1] - fences[0] < 8 * 30, fences
        for client in clients:
            client.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


def spend(client, name, times):
    """LOCK and UNLOCK so many times, many at once. The fences."""
    fences = []
    for _ in range(times // 500):
        for each in range(500):
            client.say("LOCK", f"{name}")
            fences.append(client.hear())
            client.say("UNLOCK", name, fences[-1])
            client.hear()
    return fences


def blocks_are_used_up():
    """Only by name, as it takes long: more grants of one name than a view has fences for. The next view has more."""
    with Cluster(3) as cluster:
        client = cluster.client(cluster.await_view([1, 2, 3])[1])
        begun, last, count = time.monotonic(), 0, 0
        while count < (1 << 20) + 50000:
            fences = spend(client, "name", 5000)
            assert fences[0] > last and fences == sorted(set(fences))
            last, count = fences[-1], count + len(fences)
        print(f"{count} grants in {time.monotonic() - begun:.0f} s, epoch {cluster.views()[1]['epoch']}, last fence {last}")
        client.close()
    cluster.check()


if __name__ == "__main__":
    TESTS = [javascript_alone, javascript_of_three, alone_without_a_directory, clock_before_the_numbering, no_number_is_lost]
    sys.exit(main(TESTS + [blocks_are_used_up] if "blocks_are_used_up" in sys.argv else TESTS))
