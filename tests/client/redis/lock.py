# SPDX-License-Identifier: MIT
"""redis-py's Lock, unchanged. Arguments: the sockets of three nodes and a file; the first node dies when the file is there."""

import pathlib
import sys
import time

import redis
from redis.exceptions import LockError, LockNotOwnedError, ResponseError
from redis.lock import Lock

# pylint: disable=missing-function-docstring


def refuses(error, function, *arguments):
    try:
        function(*arguments)
    except error as complaint:
        return str(complaint)
    raise AssertionError(f"{function} was not refused")


def until(condition):
    while not condition():
        time.sleep(0.01)


def locks(client, other):
    lock = client.lock("job", timeout=60)
    assert lock.acquire(blocking=False) and lock.locked() and lock.owned()
    assert not other.lock("job", timeout=60).acquire(blocking=False)
    assert not other.lock("job", timeout=60).acquire(blocking_timeout=0.05)
    assert lock.extend(60) and 100000 < client.pttl("job") <= 120000, client.pttl("job")
    assert lock.extend(90, replace_ttl=True) and 80000 < client.pttl("job") <= 90000
    assert lock.reacquire() and 50000 < client.pttl("job") <= 60000
    thief = other.lock("job", timeout=60)
    thief.local.token = b"guessed"
    assert "no longer owned" in refuses(LockNotOwnedError, thief.extend, 5)
    assert "no longer owned" in refuses(LockNotOwnedError, thief.release)
    lock.release()
    refuses(LockError, lock.release)
    assert other.get("job") is None
    with other.lock("job", timeout=60, blocking_timeout=30) as held:
        assert held.owned() and client.execute_command("FENCE", "job", held.local.token) > 0
    with client.lock("plain"):  # without a timeout it belongs to the connection
        assert other.exists("plain") and other.pttl("plain") == -1
    short = client.lock("short", timeout=0.2)
    assert short.acquire()
    until(lambda: not other.exists("short"))
    refuses(LockNotOwnedError, short.release)


def others(client):
    assert client.ping() and client.select(0) and client.info()
    assert "unknown command" in refuses(ResponseError, client.incr, "job")
    assert "without NX" in refuses(ResponseError, client.set, "job", "x")
    assert "unknown script" in refuses(ResponseError, client.eval, "return 1", 0, "x")
    assert "unknown command" in refuses(ResponseError, client.publish, "channel", "x")
    named = redis.Redis(unix_socket_path=sys.argv[1], client_name="worker", db=0)
    assert named.ping()


def survives(sockets, sign):
    first, second = (redis.Redis(unix_socket_path=socket) for socket in sockets[:2])
    lock = Lock(first, "survivor", timeout=60)
    assert lock.acquire()
    sign.touch()
    again = Lock(second, "survivor", timeout=60)
    again.local.token = lock.local.token
    for _ in range(3000):
        try:
            again.reacquire()
            break
        except ResponseError as error:
            assert str(error).startswith(("NOQUORUM", "LOADING")), error
            time.sleep(0.01)
    until(lambda: not alive(first))
    assert again.owned() and not Lock(second, "survivor", timeout=60).acquire(blocking=False)
    again.release()


def alive(client):
    try:
        return client.ping()
    except (redis.exceptions.ConnectionError, OSError):
        return False


def main():
    clients = [redis.Redis(unix_socket_path=socket) for socket in sys.argv[1:4]]
    locks(clients[0], clients[0])
    locks(clients[0], clients[2])
    others(clients[1])
    survives(sys.argv[1:4], pathlib.Path(sys.argv[4]))
    print(f"redis-py {redis.__version__}")


main()
