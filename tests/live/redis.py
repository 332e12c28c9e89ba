#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What lock libraries for Redis say, by hand: SET, GET, DEL, times to live and scripts, beside a real Redis where one is installed;
over the death of a node; and what a stranger might try."""

import hashlib
import pathlib
import random
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from group import Group
from harness import PATIENCE, Client, Cluster, Gone, Node, Refused, main
import private_redis

RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then\n    return redis.call("del",KEYS[1])\nelse\n    return 0\nend'
EXTEND = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end'
EXTEND_S = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('EXPIRE', KEYS[1], ARGV[2]) end; return 0 -- seconds"
LONG_MS = 60000


def refused(client, *words):
    """The error, which is one line."""
    try:
        answer = client.ask(*words)
    except Refused as error:
        return str(error)
    raise AssertionError(f"{words} was answered by {answer!r}")


def patiently(client, *words):
    """Asks again while the group has no majority, or no view, for it."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return client.ask(*words)
        except Refused as error:
            assert str(error).startswith(("NOQUORUM", "LOADING")) and time.monotonic() < end, error
            time.sleep(0.02)


def set_and_release():
    with Node() as node:
        one, other = node.client(), node.client(protocol=2)
        assert one.ask("SET", "a", "mine", "NX", "PX", LONG_MS) == "OK"
        assert other.ask("SET", "a", "other", "NX", "PX", LONG_MS) is None
        assert one.ask("SET", "a", "mine", "PX", LONG_MS, "NX") is None, "it is held, whoever asks"
        assert other.ask("GET", "a") == "mine" and other.ask("EXISTS", "a", "b", "a") == 2
        assert 0 < other.ask("PTTL", "a") <= LONG_MS and other.ask("TTL", "a") in (59, 60)
        assert other.ask("EVAL", RELEASE, 1, "a", "other") == 0, "a wrong token releases nothing"
        assert other.ask("GET", "a") == "mine"
        assert other.ask("EVAL", RELEASE, 1, "a", "mine") == 1, "the token may be shown by any connection"
        assert other.ask("EVAL", RELEASE, 1, "a", "mine") == 0
        assert one.ask("GET", "a") is None and one.ask("PTTL", "a") == -2 and one.ask("EXISTS", "a") == 0
        assert other.ask("SET", "a", "other", "EX", 60, "nx") == "OK"
        assert refused(one, "DEL", "a").startswith("NOPERM another connection holds 'a'")
        assert refused(one, "PEXPIRE", "a", 5).startswith("NOPERM")
        assert other.ask("DEL", "a") == 1 and other.ask("DEL", "a") == 0 and other.ask("PEXPIRE", "a", 5) == 0


def fences():
    """A lock that a library took has a fence, which rises; UNLOCK and RENEW go by it as ever."""
    with Node() as node:
        one, other = node.client(), node.client()
        assert one.ask("SET", "a", "t1", "NX", "PX", LONG_MS) == "OK"
        fence = other.ask("FENCE", "a", "t1")
        assert fence > 0 and other.ask("FENCE", "a", "t2") is None and other.ask("FENCE", "b", "t1") is None
        assert one.ask("RENEW", "a", fence) == LONG_MS
        assert other.ask("RENEW", "a", fence, "SECRET", "t1") == LONG_MS, "the token is the secret"
        assert refused(other, "UNLOCK", "a", fence, "SECRET", "t2").startswith("NOPERM")
        assert one.ask("UNLOCK", "a", fence) == 1 and one.ask("GET", "a") is None
        assert other.ask("SET", "a", "t2", "NX", "PX", LONG_MS) == "OK"
        assert other.ask("FENCE", "a", "t2") > fence


def mixed_with_lock():
    with Node() as node:
        one, other, third = node.client(), node.client(), node.client()
        fence = one.ask("LOCK", "a", "SECRET", "s", "TTL", LONG_MS)
        assert other.ask("SET", "a", "t", "NX", "PX", 1000) is None
        assert other.ask("GET", "a") == f"fence:{fence}", "the secret is nobody's to read"
        assert other.ask("EXISTS", "a") == 1 and 0 < other.ask("PTTL", "a") <= LONG_MS
        assert other.ask("EVAL", RELEASE, 1, "a", f"fence:{fence}") == 0
        third.say("LOCK", "a", "WAIT", 30000)
        assert other.ask("EVAL", RELEASE, 1, "a", "s") == 1, "its secret is a token"
        later = third.hear()
        assert later > fence and one.ask("PTTL", "a") == -1, "held as long as its connection lasts"
        other.say("SET", "b", "t", "NX", "PX", 300)
        assert other.hear() == "OK"
        assert one.ask("LOCK", "b", "WAIT", 30000) > 0, "it waits until the time of SET is over"
        assert other.ask("PING") == "PONG", "nobody tells a client of Redis that its time is over"
        readers = [node.client() for _ in range(2)]
        for reader in readers:
            assert reader.ask("LOCK", "c", "SHARED") > 0
        assert other.ask("SET", "c", "t", "NX", "PX", 1000) is None and other.ask("GET", "c").startswith("fence:")
        assert third.ask("DEL", "a") == 1, "of its own connection"


def times_to_live():
    with Node() as node:
        one, other = node.client(), node.client(protocol=2)
        assert other.ask("SET", "a", "t", "NX", "PX", 400) == "OK"
        assert other.ask("EVAL", EXTEND, 1, "a", "t", LONG_MS) == 1, "longer than it was"
        assert LONG_MS - 20000 < other.ask("PTTL", "a") <= LONG_MS
        assert one.ask("EVAL", EXTEND, 1, "a", "u", 1) == 0
        assert one.ask("EVAL", EXTEND_S, 1, "a", "t", 90) == 1 and 70000 < one.ask("PTTL", "a") <= 90000
        assert one.ask("EVAL", EXTEND, 1, "a", "t", 200) == 1, "and shorter"
        assert one.ask("PTTL", "a") <= 200
        assert one.ask("LOCK", "a", "WAIT", 30000) > 0
        assert other.ask("EVAL", RELEASE, 1, "a", "t") == 0 and other.ask("EVAL", EXTEND, 1, "a", "t", 1000) == 0, "expired"
        assert other.ask("SET", "b", "t", "NX") == "OK" and other.ask("PTTL", "b") == other.ask("TTL", "b") == -1
        assert other.ask("PEXPIRE", "b", LONG_MS) == 1 and 0 < one.ask("PTTL", "b") <= LONG_MS
        other.close()
        assert one.ask("GET", "b") == "t", "with a time to live it outlasts its connection"
        assert one.ask("SET", "c", "t", "NX") == "OK"
        third = node.client()
        assert third.ask("GET", "c") == "t"
        one.close()
        assert third.ask("LOCK", "c", "WAIT", 30000) > 0, "without one it ends with its connection"


def scripts():
    with Node() as node:
        one = node.client()
        name = hashlib.sha1(RELEASE.encode()).hexdigest()
        assert refused(one, "EVALSHA", name, 1, "a", "t").startswith("NOSCRIPT")
        assert one.ask("SCRIPT", "EXISTS", name, "0" * 40) == [0, 0]
        assert one.ask("SCRIPT", "LOAD", RELEASE) == name and one.ask("SCRIPT", "EXISTS", name.upper(), "x") == [1, 0]
        assert one.ask("SET", "a", "t", "NX", "PX", LONG_MS) == "OK" and one.ask("EVALSHA", name, 1, "a", "t") == 1
        odd = "  --[[ a comment\n]]if redis.call('GET',KEYS[1])==ARGV[1]then--\n\treturn redis.call( 'DEL' , KEYS[1] )else return 0;end\n\n"
        assert one.ask("EVAL", odd, 1, "a", "t") == 0, "the same, written otherwise"
        for other in (RELEASE.replace("0", "1"), RELEASE.replace("==", "~="), RELEASE.replace("del", "get"), "return 1", "",
                      RELEASE + RELEASE, RELEASE.replace("ARGV[1]", "ARGV[2]"), "x" * 5000):
            assert refused(one, "EVAL", other, 1, "a", "t").startswith("ERR unknown script ("), other
            assert "no Lua" in refused(one, "SCRIPT", "LOAD", other)
        for words in (("0", "a", "t"), ("2", "a", "t"), ("x", "a", "t"), ("1", "a"), ("1", "a", "t", "u"), ("-1", "a", "t"), ("1",), ("99", "a")):
            assert "numkeys" in refused(one, "EVAL", RELEASE, *words), words
        assert one.ask("SCRIPT", "FLUSH") == "OK" and one.ask("SCRIPT", "EXISTS", name) == [0]
        assert "SCRIPT 'KILL'" in refused(one, "SCRIPT", "KILL")
        for i in range(200):  # a stranger's variants of a script push each other out, no more
            one.ask("SCRIPT", "LOAD", RELEASE + " " * i)
        assert one.ask("SCRIPT", "EXISTS", name) == [0]


def strangers():
    """One clear line each, and the lock stays as it is."""
    with Node() as node:
        one, other = node.client(), node.client()
        assert one.ask("SET", "a", "t", "NX", "PX", LONG_MS) == "OK"
        for words, part in ((("SET", "a", "u"), "without NX"), (("SET", "a", "u", "PX", 1000), "without NX"), (("SET", "a", "u", "XX"), "'XX'"),
                            (("SET", "a", "u", "NX", "PX", 0), "PX '0'"), (("SET", "b", "u", "NX", "PX", -1), "PX '-1'"),
                            (("SET", "b", "u", "NX", "PX", 86400001), "1 to 86400000, the longest time to live"), (("SET", "b", "u", "NX", "EX", 2 ** 40), "EX '"),
                            (("SET", "b", "u", "NX", "PX"), "PX ''"), (("SET", "b", "u", "NX", "PX", "1.5"), "PX '1.5'"),
                            (("SET", "b", "u", "NX", "PX", 5, "EX", 5), "'EX'"), (("SET", "b", "u", "NX", "GET"), "'GET'"),
                            (("SET", "b", "u", "NX", "KEEPTTL"), "'KEEPTTL'"), (("SET", "b", "u", "NX", "PXAT", 1), "'PXAT'"),
                            (("SET", "b", "", "NX"), "a token of 0 bytes"), (("SET", "b", "u" * 1025, "NX"), "a token of 1025 bytes"),
                            (("SET", "b" * 513, "u", "NX"), "TOOBIG"), (("SET", "", "u", "NX"), "name ''"), (("SET", "b\n", "u", "NX"), "control"),
                            (("PEXPIRE", "a", 0), "PEXPIRE '0'"), (("EXPIRE", "a", "x"), "EXPIRE 'x'"), (("GET",), "number of arguments"),
                            (("SELECT", 1), "expected 0"), (("SUBSCRIBE", "a"), "unknown command 'SUBSCRIBE'"), (("MULTI",), "unknown command"),
                            (("HSET", "a", "b", "c"), "unknown command"), (("FENCE", "a", ""), "a token of 0"), (("DEL", "b", ""), "name ''"),
                            (("EVAL", EXTEND, 1, "a", "t", 0), "time to live '0'"), (("EVAL", EXTEND, 1, "a", "t", 2 ** 41), "time to live")):
            error = refused(other, *words)
            assert part in error and "\n" not in error, (words, error)
        assert other.ask("GET", "a") == "t" and other.ask("GET", "b") is None and other.ask("SELECT", 0) == "OK"
        assert other.ask("SET", "b", "u" * 1024, "NX", "PX", 86400000) == "OK" and other.ask("GET", "b") == "u" * 1024
        assert "typed by hand" in by_hand(node, b"SET c u NX\r\n") and "typed by hand" in by_hand(node, b"DEL a\r\n")


def by_hand(node, line):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(node.address())
    client.sendall(line)
    answer = client.recv(1000).decode()
    client.close()
    return answer


def binary_tokens():
    token = bytes(range(256)) + b"\r\n$5\r\n\0"
    with Cluster(3, record=False) as cluster:
        cluster.await_view([1, 2, 3])
        one, other = cluster.client(1), cluster.client(3)
        assert one.ask("SET", "a", token, "NX", "PX", LONG_MS) == "OK"
        other.say("GET", "a")
        assert other.file.readline() == b"$%d\r\n" % len(token) and other.file.read(len(token) + 2) == token + b"\r\n"
        assert other.ask("EVAL", RELEASE, 1, "a", token[:-1]) == 0 and other.ask("EVAL", RELEASE, 1, "a", token) == 1
    cluster.check()


def several_names():
    """redlock's scripts take many names at once; all or none. Only tests/client/redis_libraries.py has the texts."""
    with Node() as node:
        one, other = node.client(), node.client()
        acquire, release, extend = (script for script in redlock_scripts())
        assert one.ask("EVAL", acquire, 3, "a", "b", "a", "t", LONG_MS) == 3 and one.ask("EXISTS", "a", "b") == 2
        assert other.ask("EVAL", acquire, 3, "c", "d", "b", "u", LONG_MS) == 0
        assert other.ask("EXISTS", "c", "d") == 0, "what was taken before the one that is held is free again"
        assert one.ask("EVAL", extend, 2, "a", "b", "t", 2 * LONG_MS) == 2 and one.ask("PTTL", "b") > LONG_MS
        assert one.ask("EVAL", extend, 2, "a", "c", "t", LONG_MS) == 0
        assert other.ask("EVAL", release, 3, "a", "b", "c", "u") == 0 and other.ask("EVAL", release, 3, "a", "c", "b", "t") == 2
        one.say("EVAL", acquire, 2, "a", "b", "t", LONG_MS)
        one.say("PING")
        assert one.hear() == 2 and one.hear() == "PONG", "answers come in order"
        half = node.client()
        half.say("EVAL", acquire, 3, "e", "f", "a", "v", LONG_MS)
        half.close()
        assert other.ask("LOCK", "e", "WAIT", 30000) > 0


def redlock_scripts():
    """Acquire, release and extend, as npm's redlock does it, in words of our own: only their sense has to be the same."""
    acquire = """for i, key in ipairs(KEYS) do if redis.call("exists", key) == 1 then return 0 end end
        for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS"""
    extend = acquire.replace('redis.call("exists", key) == 1', 'redis.call("get", key) ~= ARGV[1]')
    release = """local count = 0 for i, key in ipairs(KEYS) do if redis.call("get", key) == ARGV[1] then
        redis.pcall("del", key) count = count + 1 end end return count"""
    return acquire, release, extend


# ---- beside a real Redis ----


def as_redis_answers(client, words):
    try:
        answer = client.ask(*words)
    except Refused:
        return "refused"
    if words[0] == "PTTL" and answer > 0:
        return "some time"
    return answer


def beside_redis():
    """Random commands get the same answers from a node as from Redis, as long as nothing expires and nobody forces anything."""
    if not private_redis.find():
        print("Redis (redis-tools) is not installed: beside_redis is left out")
        return
    acquire, release, extend = redlock_scripts()
    choose = random.Random(7)
    with private_redis.Redis(PATIENCE) as path, Cluster(3, record=False) as cluster:
        redis = Client(path)
        cluster.await_view([1, 2, 3])
        clients = [cluster.client(node) for node in (1, 2, 3)]
        counts = {}
        for number in range(1500):
            name, token = choose.choice("abc"), choose.choice("tuv")
            names = choose.sample("abc", choose.randint(1, 3))
            words = choose.choice([("SET", name, token, "NX", "PX", LONG_MS), ("SET", name, token, "NX", "EX", 60), ("GET", name),
                                   ("EXISTS", *names), ("PTTL", name), ("EVAL", RELEASE, 1, name, token), ("EVAL", EXTEND, 1, name, token, LONG_MS + number),
                                   ("EVAL", acquire, len(names), *names, token, LONG_MS), ("EVAL", release, len(names), *names, token),
                                   ("EVAL", extend, len(names), *names, token, LONG_MS)])
            expected, answer = as_redis_answers(redis, words), as_redis_answers(choose.choice(clients), words)
            assert answer == expected, (number, words, expected, answer)
            counts[answer] = counts.get(answer, 0) + 1
        assert min(counts.get(each, 0) for each in ("OK", None, 0, 1, 2, 3, "t", "some time")) > 20, counts
    cluster.check()


# ---- nodes that die ----


def over_the_death_of_a_node():
    """What a Redis would forget: the lock, its token and its longer time to live."""
    with Group(3) as group:
        for victim in (1, 2):
            others = [node for node in (1, 2, 3) if node != victim]
            one = group.client(victim)
            assert patiently(one, "SET", f"a{victim}", "token", "NX", "PX", 500) == "OK"
            assert patiently(one, "EVAL", EXTEND, 1, f"a{victim}", "token", LONG_MS) == 1
            fence = one.ask("FENCE", f"a{victim}", "token")
            group.kill(victim)
            for node in others:
                other = group.client(node)
                assert patiently(other, "GET", f"a{victim}") == "token"
                assert patiently(other, "SET", f"a{victim}", "u", "NX", "PX", LONG_MS) is None
                assert patiently(other, "PTTL", f"a{victim}") > LONG_MS / 2, "the longer time, not the one that it was taken with"
                assert patiently(other, "FENCE", f"a{victim}", "token") == fence
            assert patiently(other, "EVAL", EXTEND, 1, f"a{victim}", "token", 2 * LONG_MS) == 1
            assert patiently(other, "EVAL", RELEASE, 1, f"a{victim}", "u") == 0
            assert patiently(other, "EVAL", RELEASE, 1, f"a{victim}", "token") == 1
            assert patiently(other, "SET", f"a{victim}", "u", "NX", "PX", LONG_MS) == "OK"
            assert patiently(other, "FENCE", f"a{victim}", "u") > fence
            group.start(victim)
            group.await_view()


def lengthened_by_another():
    """The member that keeps a hold makes it longer for a client of another, and every member knows."""
    with Group(3) as group:
        one, other = group.client(1), group.client(2)
        assert patiently(one, "SET", "a", "t", "NX", "PX", 2000) == "OK"
        for ms in (LONG_MS, 3 * LONG_MS, 2 * LONG_MS):
            assert patiently(other, "EVAL", EXTEND, 1, "a", "t", ms) == 1
            for node in (1, 2, 3):
                left = patiently(group.client(node), "PTTL", "a")
                assert ms - 20000 < left <= ms, (ms, left)
        assert patiently(one, "SET", "b", "t", "NX") == "OK" and patiently(other, "PTTL", "b") == -1 and patiently(other, "GET", "b") == "t"
        assert patiently(other, "EVAL", EXTEND, 1, "b", "t", LONG_MS) == 1, "what ended with its connection has a time to live"
        group.kill(1)
        assert patiently(other, "GET", "b") == "t" and patiently(other, "EVAL", RELEASE, 1, "b", "t") == 1
        assert patiently(other, "GET", "a") == "t" and patiently(other, "PTTL", "a") > LONG_MS
        try:
            one.ask("PING")
        except (Gone, OSError):
            pass


if __name__ == "__main__":
    sys.exit(main([set_and_release, fences, mixed_with_lock, times_to_live, scripts, strangers, binary_tokens, several_names,
                   beside_redis, over_the_death_of_a_node, lengthened_by_another]))
