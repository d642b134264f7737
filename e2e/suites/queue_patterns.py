"""The patterns that queue libraries (RQ, Celery's transport, hand-made ones) build on, without scripts.

Usage: queue_patterns.py PORT [JOBS]. Workers take jobs with BLMOVE into a list of their own and finish them
in a transaction; others reserve under WATCH; delayed jobs wait in a sorted set. Every job is done once.
"""

import sys
import threading
import time

import redis

PORT = int(sys.argv[1])
JOBS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000


def connect():
    return redis.Redis(port=PORT, decode_responses=True)


def run(workers, target):
    threads = [threading.Thread(target=target, args=(n,)) for n in range(workers)]
    for thread in threads:
        thread.start()
    return threads


def reliable_queue():
    """BLMOVE to a processing list; the job's end removes it there and counts it, at once."""
    r = connect()
    with r.pipeline(transaction=False) as p:
        for n in range(JOBS):
            p.lpush("jobs", n)
        p.execute()

    def worker(number):
        c = connect()
        mine = f"processing:{number}"
        while (job := c.blmove("jobs", mine, 0.3, "RIGHT", "LEFT")) is not None:
            with c.pipeline() as p:
                p.lrem(mine, 1, job)
                p.hincrby("done", job, 1)
                p.execute()

    for thread in run(4, worker):
        thread.join()
    left = sum(r.llen(f"processing:{n}") for n in range(4)) + r.llen("jobs")
    return JOBS - left, set(r.hgetall("done").values()) == {"1"} and r.hlen("done") == JOBS and left == 0


def many_waiters():
    """BRPOP over queues of different priority, with more workers than jobs at the end."""
    r = connect()

    def worker(_):
        c = connect()
        while (taken := c.brpop(["high", "low"], timeout=1)) is not None:
            c.hincrby("popped", taken[1], 1)

    threads = run(8, worker)
    for n in range(500):
        r.lpush("high" if n % 3 else "low", n)
    for thread in threads:
        thread.join()
    return 500, set(r.hvals("popped")) == {"1"} and r.hlen("popped") == 500


def delayed_jobs():
    """Due jobs move from a sorted set to a list under WATCH; several schedulers race for them."""
    r = connect()
    now = time.time()
    r.zadd("delayed", {f"job{n}": now + n % 5 * 0.05 for n in range(200)})

    def scheduler(_):
        c = connect()
        while c.zcard("delayed"):
            with c.pipeline() as p:
                try:
                    p.watch("delayed")
                    due = p.zrangebyscore("delayed", "-inf", time.time(), start=0, num=10)
                    p.multi()
                    if due:
                        p.zrem("delayed", *due)
                        p.rpush("ready", *due)
                    p.execute()
                except redis.WatchError:
                    continue

    for thread in run(4, scheduler):
        thread.join()
    ready = r.lrange("ready", 0, -1)
    return 200, len(ready) == 200 and len(set(ready)) == 200


def main():
    connect().flushall()
    failed = passed = 0
    for pattern in (reliable_queue, many_waiters, delayed_jobs):
        jobs, right = pattern()
        passed += right
        failed += not right
        print(f"{pattern.__name__}: {jobs} jobs, {'each done once' if right else 'NOT each done once'}")
    print(f"suite queue-patterns: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
