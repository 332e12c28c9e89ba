# SPDX-License-Identifier: MIT
"""Who holds a name, who waits for it, who leads and what it publishes: told by every member, whatever its clients say."""

import getpass
import json
import socket
import subprocess
import sys
import time

from harness import CONCLAVE, PATIENCE, Cluster, Gone, Node, Refused, main

NAME = "alice@web:4242:make"
SECRET = ("SECRET", "s")


def refused(client, *words):
    try:
        answer = client.ask(*words)
    except Refused as error:
        return str(error)
    raise AssertionError(f"{words} was answered {answer}")


def until(condition, what):
    """The condition's first answer that is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"never {what}")


def items(client, *words):
    """The items of LOCKS or WAITERS, and the members that did not answer."""
    answer = client.ask(*words)
    return ([it for it in answer if it["kind"] not in ("unanswered", "more")],
            {it["node"] for it in answer if it["kind"] == "unanswered"})


def names_of_clients():
    """CLIENT SETNAME and HELLO SETNAME take what Redis takes, and refuse the rest. A name stays with what its client holds."""
    with Node() as node:
        client, other = node.client(), node.client(protocol=2)
        assert client.ask("CLIENT", "GETNAME") is None
        assert client.ask("CLIENT", "SETNAME", NAME) == "OK" and client.ask("CLIENT", "GETNAME") == NAME
        for bad in ("two words", "line\nbreak", "\x1b[2J", "tab\t", b"\xff\xfe", "\u00e9", "\x7f", b"nul\0"):
            assert refused(client, "CLIENT", "SETNAME", bad).startswith("ERR Client names cannot contain"), bad
            assert refused(client, "HELLO", 3, "SETNAME", bad).startswith("ERR Client names cannot contain"), bad
        assert refused(client, "CLIENT", "SETNAME", "x" * 129).startswith("TOOBIG")
        assert refused(client, "CLIENT", "SETNAME", "x" * 15000).startswith("TOOBIG")
        assert refused(client, "CLIENT", "SETNAME").startswith("ERR wrong number")
        assert client.ask("CLIENT", "GETNAME") == NAME, "what was refused changed nothing"
        longest = "".join(chr(33 + i % 94) for i in range(128))  # every character that is allowed, quotes and backslashes too
        assert other.ask("HELLO", 2, "SETNAME", longest) is not None and other.ask("CLIENT", "GETNAME") == longest
        held = other.ask("LOCK", "b")
        fence = client.ask("LOCK", "a", "TTL", 60000, *SECRET)
        locks = {it["name"]: it for it in client.ask("LOCKS")}
        assert locks["a"]["client"] == NAME and locks["b"]["client"] == longest and locks["b"]["fence"] == held, locks
        assert client.ask("CLIENT", "SETNAME", "") == "OK" and client.ask("CLIENT", "GETNAME") is None
        assert client.ask("LOCKS", "a")[0]["client"] is None
        client.ask("CLIENT", "SETNAME", "later")
        listed = [dict(pair.split("=", 1) for pair in line.split(" ")) for line in client.ask("CLIENT", "LIST").splitlines()]
        assert {it["name"] for it in listed} == {"later", longest} and all(it["held"] == "1" for it in listed), listed
        assert "name=later" in client.ask("CLIENT", "INFO")
        for words in (("KILL", "ID", 1), ("PAUSE", 9), ("REPLY", "OFF"), ("tracking", "ON"), ("UNBLOCK", 1)):
            assert refused(client, "CLIENT", *words).startswith(f"ERR CLIENT '{words[0]}'"), words
        assert client.ask("CLIENT", "SETINFO", "LIB-NAME", "x") == "OK" and refused(client, "CLIENT").startswith("ERR wrong number")
        client.close()
        until(lambda: len(other.ask("CLIENT", "LIST").splitlines()) == 1, "one client alone")
        flat, = other.ask("LOCKS", "a")
        lock = dict(zip(flat[::2], flat[1::2]))
        assert lock["client"] == "later" and lock["fence"] == fence, "the name stays with a hold that outlasts its connection"
        other.close()


def listed_everywhere():
    """Every member tells what the clients of all members hold and wait for. LOCAL tells what its own do."""
    with Cluster(3, record=False) as cluster:
        one, two, three = (cluster.client(index) for index in (1, 2, 3))
        one.ask("CLIENT", "SETNAME", NAME)
        two.ask("CLIENT", "SETNAME", "bob")
        fence = one.ask("LOCK", "a/build")
        lead = one.ask("CAMPAIGN", "b/boss")
        two.say("LOCK", "a/build")
        watchers = [cluster.client(index) for index in (1, 2, 3)]
        for watcher in watchers:
            until(lambda look=watcher: sum(it["waiters"] for it in look.ask("LOCKS")), "a client waits")
            told, silent = items(watcher, "LOCKS")
            assert not silent and sorted((it["name"], it["node"]) for it in told) == [("a/build", 1), ("a/build", 2), ("b/boss", 1)]
            held = next(it for it in told if it["name"] == "a/build" and it["holder"])
            assert (held["node"], held["client"], held["fence"]) == (1, NAME, fence) and held["holder"].startswith("1/"), held
            assert [it["fence"] for it in items(watcher, "LOCKS", "b/*")[0]] == [lead]
            assert items(watcher, "LOCKS", "c*") == ([], set())
            waiter, = watcher.ask("WAITERS", "a/build")
            assert waiter["client"] == "bob" and waiter["node"] == 2 and waiter["position"] == 1, waiter
            assert waiter["waiter"].startswith("2/") and waiter["waited_ms"] >= 0 and waiter["kind"] == "lock", waiter
            assert watcher.ask("WAITERS", "b/boss") == [] and watcher.ask("WAITERS", "nobody") == []
        assert [it["name"] for it in watchers[1].ask("LOCKS", "LOCAL")] == ["a/build"]
        assert watchers[2].ask("LOCKS", "LOCAL") == [] and watchers[0].ask("LOCKS", "local", "zzz") == []
        assert refused(watchers[0], "LOCKS", "a*", "b*").startswith("ERR 'b*': expected LOCKS")
        # Many names, of more than one page each, and each of them once.
        words = [f"many/{i:04}-" + "x" * 300 for i in range(400)]
        for client in (one, three):
            for word in words[:200] if client is one else words[200:]:
                client.say("LOCK", word)
            for _ in range(200):
                client.hear()
        for watcher in watchers:
            told, silent = items(watcher, "LOCKS", "many/*")
            assert not silent and sorted(it["name"] for it in told) == words, (len(told), silent)
        for client in (one, two, three, *watchers):
            client.close()
    cluster.check()


def waiters_in_order():
    """Clients of one node in the order of its queue; thousands of them are counted, not all told."""
    with Cluster(2, record=False) as cluster:
        holder = cluster.client(1)
        holder.ask("LOCK", "a")
        waiting = []
        for i in range(6):
            client = cluster.client(1 + i % 2)
            client.ask("CLIENT", "SETNAME", f"w{i}")
            client.say("LOCK", "a")
            until(lambda count=i: len(holder.ask("WAITERS", "a")) == count + 1, "it waits")
            time.sleep(0.02)
            waiting.append(client)
        for index in (1, 2):
            looker = cluster.client(index)
            told = looker.ask("WAITERS", "a")
            assert [it["client"] for it in told] == [f"w{i}" for i in range(6)], told
            assert [it["position"] for it in told] == list(range(1, 7)) and [it["node"] for it in told] == [1, 2] * 3, told
        crowd = []
        for _ in range(600):
            client = cluster.client(2)
            client.say("LOCK", "a")
            crowd.append(client)
        until(lambda: sum(it["waiters"] for it in holder.ask("LOCKS", "a")) == 606, "all of them wait")
        answer = holder.ask("WAITERS", "a")
        told = [it for it in answer if it["kind"] == "lock"]
        more, = [it for it in answer if it["kind"] == "more"]
        assert len([it for it in told if it["node"] == 2]) + more["waiters"] == 603 and more["node"] == 2, (len(told), more)
        assert [it["position"] for it in told] == list(range(1, len(told) + 1))
        for client in (holder, looker, *waiting, *crowd):
            client.close()
    cluster.check()


def a_member_that_dies():
    """A member that does not answer is named, soon, and the others' items are there."""
    with Cluster(3, record=False) as cluster:
        one, two = cluster.client(1), cluster.client(2)
        one.ask("LOCK", "a")
        three = cluster.client(3)
        three.ask("CLIENT", "SETNAME", NAME)
        three.ask("LOCK", "b", "TTL", 60000)
        assert items(one, "LOCKS")[1] == set()
        cluster.kill(3)
        told, silent = items(one, "LOCKS")
        assert silent == {3} and "a" in [it["name"] for it in told], (told, silent)
        cluster.await_view([1, 2])
        told = until(lambda: [it for it in items(two, "LOCKS", "b")[0] if it["holder"]], "another member keeps it")
        assert told[0]["holder"].startswith("3/") and told[0]["node"] in (1, 2) and told[0]["client"] == NAME, told
        three.close()
        one.close()
        two.close()


def asking_back():
    """The holder hears of it if it can, everybody sees it, and nothing else happens."""
    with Cluster(2, record=False) as cluster:
        holder, old, asker = cluster.client(1), cluster.client(1, protocol=2), cluster.client(2)
        assert asker.ask("ASKBACK", "a") == 0
        fence = holder.ask("LOCK", "a")
        asker.ask("CLIENT", "SETNAME", "bob")
        assert asker.ask("LOCKS", "a")[0]["asked_back_ms"] == -1
        assert asker.ask("ASKBACK", "a") == 1 and holder.push() == ["askback", "a", fence, "bob"]
        for _ in range(50):
            assert asker.ask("ASKBACK", "a") == 1
        assert asker.ask("LOCKS", "a")[0]["asked_back_ms"] >= 0
        assert holder.ask("RENEW", "a", fence) is not None and len(holder.pushes) <= 5, "not one push for each question"
        old.ask("LOCK", "old", "SHARED")
        holder.ask("LOCK", "old", "SHARED")
        assert asker.ask("ASKBACK", "old") == 2 and old.ask("PING") == "PONG"
        assert holder.ask("UNLOCK", "a", fence) == 1
        asker.ask("LOCK", "a")
        assert asker.ask("LOCKS", "a")[0]["asked_back_ms"] == -1, "the next holder was not asked"
        for client in (holder, old, asker):
            client.close()
    cluster.check()


def asking_a_client_that_moved():
    """A client that renews at another member than the one that keeps its hold hears of it when it renews."""
    with Cluster(2, record=False) as cluster:
        first, moved, asker = cluster.client(1), cluster.client(2), cluster.client(1)
        fence = first.ask("LOCK", "a", "TTL", 60000, *SECRET)
        first.close()
        assert asker.ask("ASKBACK", "a") == 1
        assert moved.ask("RENEW", "a", fence, *SECRET) == 60000 and moved.pushes == [["askback", "a", fence, None]], moved.pushes
        # At the member that keeps it, a client that renews it is told like the one that got it.
        back = cluster.client(1)
        assert back.ask("RENEW", "a", fence, *SECRET) == 60000 and not back.pushes
        time.sleep(1.05)
        assert asker.ask("ASKBACK", "a") == 1 and back.push() == ["askback", "a", fence, None]
        assert asker.ask("FORCE", "a", fence, "now") == "OK" and back.push() == ["lost", "a", fence, "now"]
        for client in (moved, asker, back):
            client.close()


def forcing():
    """An operator ends a hold at any member. The holder is told, cannot renew, and nobody is let in before it has stopped."""
    with Cluster(3, record=False) as cluster:
        one, two, admin = cluster.client(1), cluster.client(2), cluster.client(3)
        one.ask("CLIENT", "SETNAME", NAME)
        assert refused(admin, "FORCE", "a", 5, "why") == "NOTHELD fence 5: nobody holds the name"
        fence = one.ask("LOCK", "a", "TTL", 60000, *SECRET)
        assert refused(admin, "FORCE", "a", fence + 1, "why") == f"NOTHELD fence {fence + 1}: the name is held under another fence"
        assert refused(one, "FORCE", "a", fence + 1, "why").startswith("NOTHELD")
        assert refused(admin, "FORCE", "a", fence, "").startswith("ERR reason of 0 bytes")
        assert refused(admin, "FORCE", "a", fence, "x" * 257).startswith("ERR reason of 257 bytes")
        assert refused(admin, "FORCE", "a", "x", "why").startswith("ERR fence 'x'")
        two.say("LOCK", "a")
        until(lambda: admin.ask("WAITERS", "a"), "node 2 waits")
        assert admin.ask("FORCE", "a", fence, "it\nhangs") == "OK"
        assert one.push() == ["lost", "a", fence, "it\nhangs"]
        assert one.ask("RENEW", "a", fence) is None and admin.ask("RENEW", "a", fence, *SECRET) is None, "nobody renews it"
        held, = [it for it in admin.ask("LOCKS", "a") if it["holder"]]
        assert held["forced"] == 1 and held["fence"] == fence, "the holder has not stopped, and nobody else is let in"
        assert len(admin.ask("WAITERS", "a")) == 1
        assert admin.ask("FORCE", "a", fence, "again") == "OK" and not one.pushes
        assert one.ask("UNLOCK", "a", fence) == 1
        later = two.hear()
        assert later > fence
        # Without a time to live the node's lease decides. A RESP2 connection is closed.
        old = cluster.client(1, protocol=2)
        fence = old.ask("CAMPAIGN", "boss", "VALUE", "old:1")
        left = old.ask("RENEW", "boss", fence)
        begun = time.monotonic()
        one.say("CAMPAIGN", "boss")
        assert admin.ask("FORCE", "boss", fence, "too old") == "OK"
        try:
            raise AssertionError(f"a RESP2 connection should be over: {old.hear()}")
        except (Gone, ConnectionError):
            pass
        assert one.hear() > fence
        assert time.monotonic() - begun >= left / 1000 * 0.9 - 0.02, "not before the lease that it was told of is over"
        for client in (one, two, admin, old):
            client.close()
    lines = [line for line in cluster.problems.splitlines() if "event=forced" in line]
    assert len(lines) == 3, cluster.problems
    assert f"fence={held['fence']}" in lines[0] and f"client={NAME}" in lines[0] and "admin=local" in lines[0], lines
    assert "hangs" in lines[0] and "x0a" in lines[0] and 'reason="too old"' in lines[2], lines
    cluster.check()


def forced_is_not_taken_again():
    """Who takes a hold again that an operator has ended is told so, and promised nothing."""
    with Cluster(3, record=False) as cluster:
        holder, admin, waiter = (cluster.client(node) for node in (1, 2, 3))
        for options, words in (((), ()), (("TTL", 60000), ()), (("TTL", 60000), ("PERMITS", 1)), ((), ("SHARED",))):
            fence = holder.ask("LOCK", "a", *options, *words)
            assert holder.ask("LOCK", "a", "REENTRANT", *words) == fence
            assert admin.ask("FORCE", "a", fence, "it hangs") == "OK"
            for more in ((), ("DEADLINE",), ("TTL", 60000, "DEADLINE"), ("WAIT", 0)):
                told = refused(holder, "LOCK", "a", "REENTRANT", *words, *more)
                assert told == f"NOTHELD fence {fence}: this connection has lost the hold", told
            assert holder.ask("RENEW", "a", fence) is None
            assert [holder.ask("UNLOCK", "a", fence) for _ in range(3)] == [1, 1, 0], "twice taken"
            later = waiter.ask("LOCK", "a", "WAIT", 10000)
            assert later > fence and waiter.ask("UNLOCK", "a", later) == 1
        for client in (holder, admin, waiter):
            client.close()


def forced_for_good():
    """A new view does not undo it: the member that keeps the hold then knows."""
    with Cluster(3, record=False) as cluster:
        holder, admin = cluster.client(3), cluster.client(1)
        fence = holder.ask("LOCK", "a", "TTL", 1500, *SECRET)
        assert admin.ask("FORCE", "a", fence, "it hangs") == "OK"
        epoch = admin.ask("VIEW")["epoch"]
        cluster.kill(3)
        until(lambda: admin.ask("VIEW")["epoch"] > epoch and admin.ask("VIEW")["coordinator"], "another view")
        assert admin.ask("RENEW", "a", fence, *SECRET) is None, "whoever keeps it"
        assert admin.ask("LOCK", "a") > fence
        holder.close()
        admin.close()


def forced_alone():
    """A node without leases: the holder has a second to stop."""
    with Node() as node:
        holder, admin, waiter = (node.client() for _ in range(3))
        fence = holder.ask("LOCK", "a")
        waiter.say("LOCK", "a")
        until(lambda: admin.ask("WAITERS", "a"), "it waits")
        begun = time.monotonic()
        node.expected = "event=forced"
        assert admin.ask("FORCE", "a", fence, "it hangs") == "OK" and holder.push()[3] == "it hangs"
        assert waiter.hear() > fence and time.monotonic() - begun >= 0.9
        assert not holder.pushes and holder.ask("UNLOCK", "a", fence) == 0
        for client in (holder, admin, waiter):
            client.close()


HOSTILE = [b"", b"host:1", b"a\r\n+OK\r\n", b"\x1b[2J\x1b]0;owned\x07", b"\xff\xfe\0", b'"}]}\\', "\u202e\u00e9".encode(), b"v" * 1024]


def raw(client, *words):
    """An array of bulk strings and numbers, with the bytes as they are."""
    client.say(*words)
    line = client.file.readline()
    answer = []
    for _ in range(int(line[1:]) if line[:1] == b"*" else 0):
        line = client.file.readline()
        answer.append(int(line[1:]) if line[:1] == b":" else client.file.read(int(line[1:]) + 2)[:-2])
    return answer


def values():
    """A leader's value is told as it is, by every member and to every observer."""
    with Cluster(2, record=False) as cluster:
        leader, other, watcher = cluster.client(1), cluster.client(2), cluster.client(2)
        assert refused(leader, "CAMPAIGN", "x", "VALUE", "v" * 1025).startswith("TOOBIG VALUE")
        assert refused(leader, "CAMPAIGN", "x", "VALUE").startswith("ERR VALUE")
        assert refused(leader, "LOCK", "x", "VALUE", "v").startswith("ERR 'VALUE'")
        assert watcher.ask("OBSERVE", "boss") is None
        for value in HOSTILE:
            fence = leader.ask("CAMPAIGN", "boss", "VALUE", value, "PRIORITY", 3)
            told = raw(leader, "LEADER", "boss")
            assert told[1:] == [fence, 1, value], (told, value)
            until(lambda now=told: raw(other, "LEADER", "boss") == now, f"node 2 tells {told}")
            assert leader.ask("RESIGN", "boss") == 1
            until(lambda: other.ask("LEADER", "boss") is None, "nobody leads")
        fence = leader.ask("CAMPAIGN", "boss")
        assert len(leader.ask("LEADER", "boss")) == 3, "without a value the answer is as it was"
        leader.ask("RESIGN", "boss")
        for client in (leader, other, watcher):
            client.close()
    cluster.check()


def values_live_on():
    """A value is told after its node has died, when it has a time to live, and after new members have come."""
    with Cluster(3, record=False) as cluster:
        leader, watcher = cluster.client(3), cluster.client(1)
        fence = leader.ask("CAMPAIGN", "boss", "VALUE", "host:1", "TTL", 60000, *SECRET)
        session = until(lambda: watcher.ask("OBSERVE", "boss"), "node 1 knows the leader")
        assert session[1:] == [fence, 3, "host:1"], session
        epoch = watcher.ask("VIEW")["epoch"]
        cluster.kill(3)
        until(lambda: watcher.ask("VIEW")["epoch"] > epoch and watcher.ask("VIEW")["coordinator"], "another view")
        assert watcher.ask("LEADER", "boss") == session, "the leader still leads, with its value"
        assert watcher.ask("RENEW", "boss", fence, *SECRET) == 60000
        held, = [it for it in items(watcher, "LOCKS", "boss")[0] if it["holder"]]
        assert held["holder"] == session[0] and held["fence"] == fence, held
        assert watcher.ask("RESIGN", "boss", fence, *SECRET) == 1
        until(lambda: watcher.ask("LEADER", "boss") is None, "nobody leads")
        leader.close()
        watcher.close()


def positions():
    """Whoever waits is told its place, and told again as it comes nearer; not by a push for each change."""
    with Node() as node:
        holder = node.client()
        fence = holder.ask("LOCK", "a")
        waiting = []
        for i in range(40):
            client = node.client(protocol=2 if i == 1 else 3)
            client.say("LOCK", "a")
            waiting.append(client)
            until(lambda count=i: holder.ask("LOCKS", "a")[0]["waiters"] == count + 1, "it waits")
        for place, client in enumerate(waiting, 1):
            assert place == 2 or client.push() == ["position", "a", place]
        for place, client in enumerate(waiting[:-1], 1):
            holder.ask("UNLOCK", "a", fence)
            fence = client.hear()
            holder = client
        assert holder.ask("UNLOCK", "a", fence) == 1 and waiting[-1].hear() > fence
        places = [push[2] for push in waiting[-1].pushes]
        assert all(push[:2] == ["position", "a"] for push in waiting[-1].pushes) and places == sorted(places, reverse=True), places
        assert len(places) < 39 and not any(push[2] > 40 for client in waiting if client is not waiting[1] for push in client.pushes)
        tries = node.client()
        assert tries.ask("LOCK", "a", "WAIT", 0) is None and not tries.pushes
        for client in (*waiting, tries):
            client.close()


def command(*words, **options):
    return subprocess.Popen([CONCLAVE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def ended(process, code):
    """What a command said until it ended."""
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, (process.returncode, out, err)
    return out, err


def held(client, name):
    return until(lambda: next((it for it in client.ask("LOCKS", name) if it.get("holder")), None), f"{name} is held")


def commands_name_themselves():
    """conclave lock tells who it is, and conclave status shows it; a name that no server takes is refused."""
    with Node() as node:
        client = node.client()
        first = command("lock", "a", "--server", node.address(), "--", "sleep", "60")
        lock = held(client, "a")
        user, rest = lock["client"].split("@")
        assert user == getpass.getuser() and rest.split(":")[1:] == [str(first.pid), "sleep"], lock
        assert rest.split(":")[0] == socket.gethostname().split(".")[0][:40], lock
        second = command("lock", "a", "--client", "me", "--server", node.address(), "--", "true")
        until(lambda: [it["client"] for it in client.ask("WAITERS", "a")] == ["me"], "it waits by that name")
        shown = ended(command("status", "--server", node.address()), 0)[0]
        assert lock["client"] in shown and " held" in shown, shown
        told, = json.loads(ended(command("status", "--json", "--server", node.address()), 0)[0])["locks"]
        assert told["client"] == lock["client"] and told["held_ms"] >= 0 and told["forced"] is False, told
        assert told["asked_back_ms"] is None and told["waiters"] == 1, told
        for bad in ("two words", "x" * 129, "line\nbreak"):
            assert "a client's name" in ended(command("lock", "b", "--client", bad, "--server", node.address(), "--", "true"), 125)[1]
        first.terminate()
        ended(first, 128 + 15)
        ended(second, 0)
        client.close()


def commands_are_forced():
    """conclave lock ends its command when an operator forces the lock, and the next one is let in long before the TTL is over."""
    with Node() as node:
        node.expected = "event=forced"
        client, waiter = node.client(), node.client()
        for words in (["lock"], ["elect"]):
            process = command(*words, "a", "--ttl", "600", "--server", node.address(), "--", "sleep", "600")
            lock = held(client, "a")
            waiter.say("LOCK" if words == ["lock"] else "CAMPAIGN", "a")
            assert client.ask("FORCE", "a", lock["fence"], "it hangs \x1b[2J") == "OK"
            out, err = ended(process, 122)
            assert "an operator forced it: it hangs \\x1b[2J" in err and not out, err
            fence = waiter.hear()
            assert fence > lock["fence"]
            waiter.ask("UNLOCK" if words == ["lock"] else "RESIGN", "a", fence)
        client.close()
        waiter.close()


def commands_are_asked():
    """By default a command goes on; with --on-askback it gets the signal."""
    with Node() as node:
        client = node.client()
        script = "trap 'exit 7' TERM; trap 'exit 8' USR1; echo ready; while :; do sleep 0.05; done"
        for action, code in (("term", 7), ("usr1", 8)):
            process = command("lock", "a", "--on-askback", action, "--server", node.address(), "--", "sh", "-c", script)
            assert process.stdout.readline() == "ready\n"
            assert client.ask("ASKBACK", "a") == 1
            ended(process, code)
        process = command("lock", "a", "--server", node.address(), "--", "sh", "-c", "sleep 1; exit 9")
        held(client, "a")
        assert client.ask("ASKBACK", "a") == 1
        ended(process, 9)
        assert "--on-askback hurry: expected ignore, term" in ended(command("lock", "a", "--on-askback", "hurry", "--", "true"), 125)[1]
        client.close()


def values_are_exact():
    """A value that is one harmless line is printed as it was published; of another a line on stderr says how it is shown."""
    with Node() as node:
        server, client = ("--server", node.address()), node.client()
        for value in ("C:\\temp\\x41", "\\x09", "\\\\", "gr\u00fcn \"x\"", "a\tb\\x41", "\x1b[2J", "two\nlines", "nul\0\\", "\u202e"):
            client.ask("CAMPAIGN", "boss", "VALUE", value)
            assert client.ask("MEMBERS", "m", "JOIN", "VALUE", value)
            out, err = ended(command("leader", "boss", *server), 0)
            harmless = value.isprintable()
            assert out == (value if harmless else shown(value)) + "\n", (value, out)
            assert err.count("\n") == (not harmless) and ("--json has the value" in err) == (not harmless), (value, err)
            assert json.loads(ended(command("leader", "boss", "--json", *server), 0)[0])["value"] == value
            member, = json.loads(ended(command("members", "m", "--json", *server), 0)[0])["members"]
            assert member["value"] == value, member
            line = ended(command("members", "m", *server), 0)[0]
            assert line.split("\t")[2] == shown(value) + "\n", line
            client.ask("RESIGN", "boss")
            client.ask("MEMBERS", "m", "LEAVE")
        client.close()


def shown(value):
    """As a terminal gets it, with backslashes as two."""
    return "".join("\\\\" if letter == "\\" else letter if letter.isprintable() else
                   f"\\u{ord(letter):04x}" if letter > "\x7f" else f"\\x{ord(letter):02x}" for letter in value)


def leaders_are_found():
    """conclave elect --value publishes, conclave leader and elect --observe find it, in one safe line whatever it is."""
    with Node() as node:
        server = ("--server", node.address())
        assert "nobody leads" in ended(command("leader", "boss", *server), 1)[1]
        assert json.loads(ended(command("leader", "boss", "--json", *server), 1)[0]) == {
            "name": "boss", "leader": None, "fence": 0, "value": None}
        assert "waited too long" in ended(command("leader", "boss", "--wait", "50ms", *server), 124)[1]
        waits = command("leader", "boss", "--wait", "60s", *server)
        watcher = command("elect", "--observe", "boss", "--json", *server)
        assert json.loads(watcher.stdout.readline())["leader"] is None
        leads = command("elect", "boss", "--value", "web1:8080", *server, "--", "sleep", "600")
        assert ended(waits, 0)[0] == "web1:8080\n" and ended(command("leader", "boss", *server), 0)[0] == "web1:8080\n"
        told = json.loads(ended(command("leader", "boss", "--json", *server), 0)[0])
        assert told["value"] == "web1:8080" and told["leader"].startswith("1/") and told["fence"] > 0, told
        assert json.loads(watcher.stdout.readline()) == told
        leads.terminate()
        ended(leads, 128 + 15)
        assert json.loads(watcher.stdout.readline())["leader"] is None
        client = node.client()
        for value in HOSTILE[1:]:
            client.ask("CAMPAIGN", "boss", "VALUE", value)
            line, = ended(command("leader", "boss", *server), 0)[0].splitlines()
            assert line.isprintable() or "\u202e" not in line and "\x1b" not in line, line
            published = value.decode(errors="backslashreplace")
            assert json.loads(ended(command("leader", "boss", "--json", *server), 0)[0])["value"] == published
            assert json.loads(watcher.stdout.readline())["value"] == published
            client.ask("RESIGN", "boss")
            assert json.loads(watcher.stdout.readline())["value"] is None
        fence = client.ask("CAMPAIGN", "boss")
        assert ended(command("leader", "boss", *server), 0)[0] == client.ask("LEADER", "boss")[0] + "\n" and fence
        watcher.terminate()
        ended(watcher, -15)
        assert "--value of 1025 bytes" in ended(command("elect", "boss", "--value", "v" * 1025, *server, "--", "true"), 125)[1]
        assert "expected a NAME" in ended(command("leader", *server), 125)[1]
        client.close()


TESTS = [names_of_clients, listed_everywhere, waiters_in_order, a_member_that_dies, asking_back, asking_a_client_that_moved, forcing, forced_is_not_taken_again, forced_for_good, forced_alone,
         values, values_live_on, positions, commands_name_themselves, commands_are_forced, commands_are_asked,
         leaders_are_found, values_are_exact]

if __name__ == "__main__":
    sys.exit(main(TESTS))
