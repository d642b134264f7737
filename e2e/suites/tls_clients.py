"""redis-py by TLS with certificates on both sides: small commands, long pipelines and large values.

Usage: tls_clients.py HOST PORT FOLDER, where the folder has ca.crt, client.crt and client.key. Each check is
counted; the last line sums them up.
"""

import sys
import threading

import redis

HOST, PORT, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def connect(**more):
    return redis.Redis(
        host=HOST,
        port=PORT,
        ssl=True,
        ssl_check_hostname=True,
        ssl_cert_reqs="required",
        ssl_ca_certs=f"{FOLDER}/ca.crt",
        ssl_certfile=f"{FOLDER}/client.crt",
        ssl_keyfile=f"{FOLDER}/client.key",
        **more,
    )


def small_commands():
    for protocol in (2, 3):
        with connect(protocol=protocol) as r:
            assert r.ping()
            assert r.set("s", "v") and r.get("s") == b"v"
            assert r.hset("h", mapping={"f": "v", "g": "w"}) >= 0 and r.hgetall("h") == {b"f": b"v", b"g": b"w"}


def long_pipelines():
    with connect() as r:
        for count in (1, 1000, 50_000):
            with r.pipeline(transaction=False) as p:
                for n in range(count):
                    p.set(f"k:{n}", f"value-{n}-" + "x" * (n % 50))
                assert all(p.execute())
            with r.pipeline(transaction=False) as p:
                for n in range(count):
                    p.get(f"k:{n}")
                assert p.execute() == [f"value-{n}-".encode() + b"x" * (n % 50) for n in range(count)]


def large_values():
    with connect() as r:
        for size in (1, 16_383, 16_384, 16_385, 65_536, 1_000_000, 10_000_000):
            value = bytes(n * 7 % 251 for n in range(1000)) * (size // 1000 + 1)
            value = value[:size]
            assert r.set("large", value) and r.get("large") == value, size
            assert r.echo(value) == value, size


def who_waits_and_who_listens():
    with connect() as waits, connect() as gives:
        timer = threading.Timer(0.2, lambda: gives.lpush("q", "job"))
        timer.start()
        assert waits.blpop("q", timeout=5) == (b"q", b"job")
        timer.join()
        with waits.pubsub() as listener:
            listener.subscribe("c")
            assert listener.get_message(timeout=5)["type"] == "subscribe"
            assert gives.publish("c", "m" * 100_000) == 1
            assert len(listener.get_message(timeout=5)["data"]) == 100_000


def many_connections():
    clients = [connect(single_connection_client=True) for _ in range(100)]
    assert [c.incr("together") for c in clients] == list(range(1, 101))
    for c in clients:
        c.close()


def a_client_that_reads_slowly():
    with connect() as r:
        r.set("slow", "y" * 1_000_000)
        connection = r.connection_pool.get_connection("GET")
        try:
            for _ in range(30):
                connection.send_command("GET", "slow")
            for _ in range(30):
                assert len(connection.read_response()) == 1_000_000
        finally:
            r.connection_pool.release(connection)


CHECKS = [
    small_commands,
    long_pipelines,
    large_values,
    who_waits_and_who_listens,
    many_connections,
    a_client_that_reads_slowly,
]


def main():
    failed = 0
    with connect() as r:
        r.flushall()
    for check in CHECKS:
        try:
            check()
        except Exception as error:
            failed += 1
            print(f"{check.__name__}: {error!r:.500}")
    print(f"redis-py by TLS: {len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
