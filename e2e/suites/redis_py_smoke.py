"""redis-py, unmodified, over both protocols: what an application does on its first day.

Usage: redis_py_smoke.py PORT. Each check is counted; the last line sums them up.
"""

import logging
import sys
import threading
import time

import redis


def strings(r):
    assert r.set("s", "v", ex=100) is True
    assert r.get("s") == b"v"
    assert 98 <= r.ttl("s") <= 100
    assert r.set("s", "w", nx=True) is None
    assert r.set("s", "w", get=True) == b"v"
    assert r.mset({"a": 1, "b": 2}) and r.mget("a", "b", "none") == [b"1", b"2", None]
    assert r.incrbyfloat("f", 1.5) == 1.5
    assert r.getdel("s") == b"w"


def collections(r):
    assert r.hset("h", mapping={"f": "v", "g": "w"}) == 2
    assert r.hgetall("h") == {b"f": b"v", b"g": b"w"}
    assert r.rpush("l", *range(5)) == 5
    assert r.lrange("l", 1, -2) == [b"1", b"2", b"3"]
    assert r.sadd("t", "a", "b") == 2 and r.smembers("t") == {b"a", b"b"}
    assert r.zadd("z", {"m": 1.5, "n": float("inf")}) == 2
    # Pairs are tuples over RESP2 and lists over RESP3.
    assert [tuple(p) for p in r.zrange("z", 0, -1, withscores=True)] == [(b"m", 1.5), (b"n", float("inf"))]
    assert r.zadd("z", {"m": 1}, gt=True, incr=True) == 2.5
    assert r.pfadd("p", "a", "b") == 1 and r.pfcount("p") == 2
    assert r.setbit("bits", 7, 1) == 0 and r.bitcount("bits") == 1


def iteration(r):
    r.mset({f"scan:{n}": n for n in range(500)})
    assert len(set(r.scan_iter("scan:*", count=50))) == 500
    r.hset("big", mapping={f"f{n}": n for n in range(500)})
    assert len(dict(r.hscan_iter("big"))) == 500
    r.sadd("bigset", *range(500))
    assert len(set(r.sscan_iter("bigset"))) == 500
    r.zadd("bigzset", {f"m{n}": n for n in range(500)})
    assert len(dict(r.zscan_iter("bigzset"))) == 500


def pipelines(r):
    with r.pipeline(transaction=False) as p:
        for n in range(1000):
            p.incr("counter")
        assert p.execute() == list(range(1, 1001))
    with r.pipeline() as p:
        p.set("x", 1).lpush("x", 2).incr("x")
        replies = p.execute(raise_on_error=False)
    assert replies[0] is True and isinstance(replies[1], redis.ResponseError) and replies[2] == 2


def optimistic_locking(r):
    def add_one(p):
        value = int(p.get("watched") or 0)
        p.multi()
        p.set("watched", value + 1)

    threads = [threading.Thread(target=lambda: [r.transaction(add_one, "watched") for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert r.get("watched") == b"80"


def blocking(r):
    def push():
        time.sleep(0.05)
        r.rpush("queue", "job")

    thread = threading.Thread(target=push)
    thread.start()
    key, job = r.blpop("queue", timeout=5)
    thread.join()
    assert (key, job) == (b"queue", b"job")
    start = time.monotonic()
    assert r.blpop("queue", timeout=0.1) is None
    assert time.monotonic() - start >= 0.1


def publishing(r):
    p = r.pubsub(ignore_subscribe_messages=True)
    p.subscribe("ch")
    p.psubscribe("c*")
    deadline = time.monotonic() + 5
    while r.pubsub_numsub("ch") != [(b"ch", 1)] or r.pubsub_numpat() != 1:
        assert time.monotonic() < deadline
        p.get_message(timeout=0.01)
    assert r.publish("ch", "hi") == 2
    kinds = []
    while len(kinds) < 2:
        assert time.monotonic() < deadline
        message = p.get_message(timeout=0.1)
        if message:
            kinds.append((message["type"], message["data"]))
    assert sorted(kinds) == [("message", b"hi"), ("pmessage", b"hi")]
    p.close()


def server(r):
    assert r.ping() and r.echo("x") == b"x"
    assert int(r.info("server")["uptime_in_seconds"]) >= 0
    assert r.config_get("maxmemory") == {"maxmemory": "0"}
    assert r.client_setname("me") and r.client_getname() in ("me", b"me")
    assert any(c["name"] == "me" for c in r.client_list())
    assert r.dbsize() >= 0 and len(r.time()) == 2
    assert r.command_count() > 200
    assert r.object("encoding", "nothing") is None


def errors(r):
    r.set("str", "v")
    for wrong in (lambda: r.lpush("str", 1), lambda: r.execute_command("NOSUCH"), lambda: r.incr("str")):
        try:
            wrong()
        except redis.ResponseError:
            continue
        raise AssertionError("no error")


CHECKS = [strings, collections, iteration, pipelines, optimistic_locking, blocking, publishing, server, errors]


def main():
    # redis-py logs every push it sees.
    logging.disable(logging.INFO)
    port = int(sys.argv[1])
    failed = 0
    for protocol in (2, 3):
        for check in CHECKS:
            client = redis.Redis(port=port, protocol=protocol)
            client.flushall()
            try:
                check(client)
            except Exception as error:
                failed += 1
                print(f"{check.__name__} (RESP{protocol}): {type(error).__name__}: {error}")
            finally:
                client.close()
    print(f"suite redis-py: {2 * len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
