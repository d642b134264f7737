"""Certificates and the authority that signs them change under load, as an operator would do it: first everybody trusts
both authorities, then the new certificates are put in place, then the old authority is dropped. No connection ends,
no command fails, and new connections see the new certificate.

Usage: tls_rotation.py HOST PORT FOLDER. The server reads ca.crt, node.crt and node.key of the folder; what they are
replaced with is ca1.crt, ca2.crt, node1/node2 and client1/client2 (.crt and .key).
"""

import os
import ssl
import sys
import threading
import time

import redis

HOST, PORT, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
# Longer than it takes until files that changed are seen.
SEEN_SECONDS = 3.0
WORKERS = 8


def path(name):
    return f"{FOLDER}/{name}"


def put(name, *parts):
    text = "".join(open(path(part)).read() for part in parts)
    with open(path(f"{name}.next"), "w") as file:
        file.write(text)
    os.replace(path(f"{name}.next"), path(name))


def connect(client, authorities):
    return redis.Redis(
        host=HOST,
        port=PORT,
        ssl=True,
        ssl_check_hostname=True,
        ssl_cert_reqs="required",
        ssl_ca_certs=path(authorities),
        ssl_certfile=path(f"{client}.crt"),
        ssl_keyfile=path(f"{client}.key"),
        socket_timeout=10,
        single_connection_client=True,
    )


class Load:
    """Workers that keep one connection each, and one that makes new ones all the time."""

    def __init__(self):
        self.client = "client1"
        self.errors, self.commands, self.connections = [], 0, 0
        self.signers = set()
        self.ends = threading.Event()
        self.counts = [0] * WORKERS
        self.threads = [threading.Thread(target=self.work, args=(n,)) for n in range(WORKERS)]
        self.threads.append(threading.Thread(target=self.come_and_go))
        for thread in self.threads:
            thread.start()

    def work(self, number):
        try:
            with connect("client1", "both.crt") as r:
                me = r.client_id()
                while not self.ends.is_set():
                    self.counts[number] += 1
                    assert r.incr(f"rotation:{number}") == self.counts[number]
                    assert len(r.echo("x" * 20_000)) == 20_000
                assert r.client_id() == me, "it was connected anew"
        except Exception as error:
            self.errors.append(f"worker {number}: {error!r}")

    def come_and_go(self):
        while not self.ends.is_set():
            try:
                with connect(self.client, "both.crt") as r:
                    assert r.ping()
                    issuer = dict(part[0] for part in r.connection._sock.getpeercert()["issuer"])
                    self.signers.add(issuer["commonName"])
                    self.connections += 1
            except Exception as error:
                self.errors.append(f"a new connection as {self.client}: {error!r}")

    def see_more(self):
        """Some connections begin and end from here on, however slow the machine is."""
        self.signers.clear()
        enough, patience = self.connections + 4, time.monotonic() + 30
        while self.connections < enough and time.monotonic() < patience:
            time.sleep(0.05)

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()


def is_refused(client):
    try:
        with connect(client, "both.crt") as r:
            r.ping()
        return False
    except (redis.ConnectionError, ssl.SSLError):
        return True


def main():
    put("both.crt", "ca1.crt", "ca2.crt")
    with connect("client1", "both.crt") as r:
        r.flushall()
    load = Load()
    failed = []

    def check(name, is_so):
        if not is_so:
            failed.append(name)

    time.sleep(1)
    check("at first others are not known", is_refused("client2"))
    put("ca.crt", "ca1.crt", "ca2.crt")
    time.sleep(SEEN_SECONDS)
    check("both authorities are known", not is_refused("client1") and not is_refused("client2"))
    load.see_more()
    check("the certificate is the first one", load.signers == {"first"})
    load.client = "client2"
    # Not in one step: in between the key is another's.
    put("node.crt", "node2.crt")
    time.sleep(0.3)
    put("node.key", "node2.key")
    for part in ("crt", "key"):
        put(f"client.{part}", f"client2.{part}")
    time.sleep(SEEN_SECONDS)
    load.see_more()
    check("the certificate is the second one", load.signers == {"second"})
    put("ca.crt", "ca2.crt")
    time.sleep(SEEN_SECONDS)
    check("the first authority is gone", is_refused("client1") and not is_refused("client2"))
    load.see_more()
    load.stop()
    check(f"no error: {load.errors[:3]}", not load.errors)
    check("all had their turn", min(load.counts) > 5 and load.connections >= 12)
    for name in failed:
        print(name)
    print(f"{sum(load.counts)} commands over {WORKERS} connections, {load.connections} connections that came and went")
    print(f"rotation: {6 - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
