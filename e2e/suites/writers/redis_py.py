"""redis-py writes known keys while the servers' leaders change, and tells what was acknowledged.

Usage: redis_py.py plain|cluster NAME HOST:PORT… (what is said: README.md, "writers").
"""

import sys
import threading
import time

import redis
from redis.cluster import ClusterNode, RedisCluster

WORKERS = 4
PAUSE_S = 0.002

say_lock = threading.Lock()
phase = "start"
ends = threading.Event()


def say(*words):
    with say_lock:
        print(*words, flush=True)


def connect(kind, doors):
    if kind == "cluster":
        nodes = [ClusterNode(host, int(port)) for host, port in doors]
        return RedisCluster(startup_nodes=nodes, socket_timeout=20)
    host, port = doors[0]
    return redis.Redis(host=host, port=int(port), socket_timeout=60)


class Worker(threading.Thread):
    def __init__(self, client, name, number):
        super().__init__()
        self.client, self.name, self.number = client, name, number
        self.tried, self.lost, self.counted, self.uncounted = 0, [], 0, 0
        self.has_begun = threading.Event()

    def attempt(self, *words):
        """The reply, or None: then it is told what went wrong."""
        try:
            return self.client.execute_command(*words)
        except (redis.RedisError, OSError) as error:
            say("failed", phase, words[0], f"{type(error).__name__}: {error}".replace("\n", " "))
            return None

    def run(self):
        while not ends.is_set():
            number, key = self.tried, f"{self.name}:{self.number}:{self.tried}"
            self.tried += 1
            if self.attempt("SET", key, number) is None:
                self.lost.append(number)
            else:
                found = self.attempt("GET", key)
                if found is not None and int(found) != number:
                    say("wrong", key, found)
            if self.attempt("INCR", f"{self.name}:count:{self.number}") is None:
                self.uncounted += 1
            else:
                self.counted += 1
            self.has_begun.set()
            time.sleep(PAUSE_S)


def main():
    global phase
    kind, name, *doors = sys.argv[1:]
    client = connect(kind, [door.rsplit(":", 1) for door in doors])
    workers = [Worker(client, name, number) for number in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.has_begun.wait()
    say("ready")
    for line in sys.stdin:
        phase = line.strip()
        say("phase", phase)
    ends.set()
    for worker in workers:
        worker.join()
        say("set", worker.number, worker.tried, ",".join(map(str, worker.lost)) or "-")
        say("count", worker.number, worker.counted, worker.uncounted)
    say("done")


if __name__ == "__main__":
    main()
