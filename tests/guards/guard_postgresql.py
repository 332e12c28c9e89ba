#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""guards/postgresql.sql with a real server: a lower fence is refused, whichever transaction began first, and whatever it was before."""

import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/live"), str(ROOT / "tests/support")]
from harness import PATIENCE, main  # pylint: disable=wrong-import-position
import private_postgresql  # pylint: disable=wrong-import-position

GUARD = (ROOT / "guards/postgresql.sql").read_text(encoding="utf-8")


def present(fence, resource="lock"):
    return f"SELECT conclave.present('{resource}', {fence})"


def failed(lines, state):
    return bool(lines) and lines[0].startswith(state)


def await_blocked(watcher, count=1):
    """Until that many sessions wait for a lock of the database."""
    end = time.monotonic() + PATIENCE
    while watcher.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != [str(count)]:
        assert time.monotonic() < end, "nobody waits"
        time.sleep(0.01)


def guarded():
    with private_postgresql.PostgreSQL(PATIENCE) as server:
        one, other, watcher = server.session(), server.session(), server.session()
        assert one.ask(GUARD) == [] and one.ask(GUARD) == ["NOTICE:  42P06: schema \"conclave\" already exists, skipping",
                                                           "NOTICE:  42P07: relation \"fences\" already exists, skipping"]
        one.ask("CREATE TABLE orders (number int); CREATE TABLE other (number int)")
        assert one.ask("SELECT conclave.guard('orders', 'lock')")[-1:] in ([], ["NOTICE:  00000: trigger \"conclave_guard\" for relation \"orders\" does not exist, skipping"])
        in_order(one, other)
        both_at_once(one, other, watcher)
        first_of_all(one, other, watcher)
        rolled_back(one, other)
        strict_levels(one, other, watcher)
        strangers(server, one)


def in_order(one, other):
    assert failed(one.ask("INSERT INTO orders VALUES (1)"), "CF002"), "no fence"
    for statement in ("UPDATE orders SET number = 1", "DELETE FROM orders", "TRUNCATE orders", "COPY orders FROM '/dev/null'",
                      "WITH it AS (INSERT INTO orders VALUES (1) RETURNING 1) SELECT * FROM it"):
        assert failed(one.ask(statement), "CF002"), statement
    assert one.ask(f"BEGIN; {present(5)}; INSERT INTO orders VALUES (5); COMMIT") == []
    assert other.ask(f"BEGIN; {present(5)}; INSERT INTO orders VALUES (5); COMMIT") == [], "the same holder"
    assert failed(other.ask(f"BEGIN; {present(4)}; INSERT INTO orders VALUES (4); COMMIT"), "CF001")
    other.ask("ROLLBACK")
    assert one.ask(f"BEGIN; {present(6)}; COMMIT") == []
    assert failed(one.ask("INSERT INTO orders VALUES (6)"), "CF002"), "a fence lasts for its transaction"
    assert one.ask(f"BEGIN; {present(1, 'another')}; COMMIT") == [], "each resource has its own"
    assert failed(one.ask(f"BEGIN; {present(2, 'another')}; INSERT INTO orders VALUES (2); COMMIT"), "CF002")
    one.ask("ROLLBACK")
    assert one.ask("SELECT number FROM orders ORDER BY 1") == ["5", "5"]
    for fence in ("0", "-1", "NULL"):
        assert failed(one.ask(present(fence)), "22023"), fence
    assert failed(one.ask("SELECT conclave.present(NULL, 1)"), "22023")


def both_at_once(one, other, watcher):
    """Two transactions at READ COMMITTED: the stale one began first, read first, and comes last."""
    one.ask("BEGIN; SELECT count(*) FROM orders")
    assert other.ask(f"BEGIN; {present(20)}; INSERT INTO orders VALUES (20)") == []
    one.say(f"{present(10)}")
    await_blocked(watcher)
    assert other.ask("COMMIT") == []
    assert failed(one.hear(), "CF001"), "it compares itself with what was committed while it waited"
    one.ask("ROLLBACK")
    assert one.ask(f"BEGIN; {present(30)}; INSERT INTO orders VALUES (30)") == []
    other.say(f"BEGIN; {present(31)}; INSERT INTO orders VALUES (31); COMMIT")
    await_blocked(watcher)
    assert one.ask("COMMIT") == [] and other.hear() == [], "the higher one waits, and is next"
    assert one.ask(f"BEGIN; {present(40)}; INSERT INTO orders VALUES (40)") == []
    other.say(f"BEGIN; {present(35)}; INSERT INTO orders VALUES (35); COMMIT")
    await_blocked(watcher)
    assert one.ask("ROLLBACK") == [] and other.hear() == [], "what was not committed was not seen"
    assert one.ask("SELECT fence FROM conclave.fences WHERE resource = 'lock'") == ["35"]


def first_of_all(one, other, watcher):
    """Both are the first that present anything: there is no row yet that they could wait for."""
    assert one.ask(f"BEGIN; {present(9, 'new')}") == []
    other.say(f"BEGIN; {present(8, 'new')}; COMMIT")
    await_blocked(watcher)
    one.ask("COMMIT")
    assert failed(other.hear(), "CF001")
    other.ask("ROLLBACK")


def rolled_back(one, other):
    assert one.ask(f"BEGIN; SAVEPOINT a; {present(50)}; INSERT INTO orders VALUES (50)") == [], "in a savepoint"
    assert failed(one.ask("ROLLBACK TO a; INSERT INTO orders VALUES (51)"), "CF002"), "and not after it was rolled back"
    one.ask("ROLLBACK")
    assert one.ask(f"BEGIN; {present(52)}; SAVEPOINT a; INSERT INTO orders VALUES (52); RELEASE a; COMMIT") == []
    assert failed(other.ask(f"BEGIN; {present(51)}; COMMIT"), "CF001")
    other.ask("ROLLBACK")


def strict_levels(one, other, watcher):
    for number, level in ((60, "REPEATABLE READ"), (70, "SERIALIZABLE")):
        one.ask(f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM orders")
        assert other.ask(f"BEGIN; {present(number + 1)}; INSERT INTO orders VALUES ({number + 1})") == []
        one.say(present(number))
        await_blocked(watcher)
        other.ask("COMMIT")
        assert failed(one.hear(), "40001"), level
        one.ask("ROLLBACK")
        assert failed(one.ask(f"BEGIN ISOLATION LEVEL {level}; {present(number)}"), "CF001"), level
        one.ask("ROLLBACK")


def strangers(server, one):
    one.ask("CREATE ROLE app LOGIN; CREATE ROLE stranger LOGIN; GRANT ALL ON orders TO app, stranger; GRANT EXECUTE ON FUNCTION conclave.present TO app")
    app, stranger = server.session("app"), server.session("stranger")
    assert app.ask(f"BEGIN; {present(100)}; INSERT INTO orders VALUES (100); COMMIT") == []
    assert failed(stranger.ask(present(10 ** 15)), "42501"), "nobody can lock the others out who may not present"
    for statement in ("UPDATE conclave.fences SET fence = 1", "DELETE FROM conclave.fences", "INSERT INTO conclave.fences VALUES ('lock', 1, '1', now())"):
        assert failed(app.ask(statement), "42501"), statement
    assert failed(stranger.ask("INSERT INTO orders VALUES (101)"), "CF002")
    assert failed(app.ask("CREATE TEMP TABLE fences (resource text, fence bigint, writer xid8, since timestamptz); INSERT INTO orders VALUES (102)"), "CF002")
    assert failed(stranger.ask("SELECT conclave.guard('orders', 'x')"), "42501")
    assert app.ask("SELECT fence FROM conclave.fences WHERE resource = 'lock'") == ["100"]


def guard_postgresql():
    if not private_postgresql.find():
        print("PostgreSQL is not installed: left out")
        return
    guarded()


if __name__ == "__main__":
    sys.exit(main([guard_postgresql]))
