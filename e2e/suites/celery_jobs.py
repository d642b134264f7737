"""Celery's queue over the server: jobs, a retry, delayed jobs, results. Every job's work is done once.

Usage: celery_jobs.py PORT [JOBS]. Broker and result store are the server; the worker runs here.
"""

import contextlib
import sys
import time

import kombu.transport.redis
import redis
from celery import Celery
from celery.contrib.testing.worker import start_worker

PORT = int(sys.argv[1])
JOBS = int(sys.argv[2]) if len(sys.argv) > 2 else 300
URL = f"redis://127.0.0.1:{PORT}"

app = Celery("jobs", broker=f"{URL}/0", backend=f"{URL}/1")
app.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=False, task_acks_late=True)
done = redis.Redis(port=PORT, db=2)


@app.task(name="work")
def work(number):
    return int(done.incr(f"done:{number}"))


@app.task(name="flaky", bind=True, max_retries=3)
def flaky(self, number):
    if done.incr(f"tried:{number}") < 3:
        raise self.retry(countdown=0)
    return number


def main():
    done.flushall()
    if done.execute_command("COMMAND INFO", "EVALSHA") in ([None], {}):
        # Several workers take turns to restore lost jobs, under a lock that a script releases.
        # There is one worker here.
        print("celery: the server has no scripts; the lock between workers is left out")
        kombu.transport.redis.Mutex = lambda *_, **__: contextlib.nullcontext()
    with start_worker(app, pool="threads", concurrency=4, perform_ping_check=False, loglevel="ERROR"):
        results = [work.delay(n) for n in range(JOBS)]
        results += [work.apply_async((JOBS + n,), countdown=0.2) for n in range(10)]
        retried = [flaky.delay(n) for n in range(10)]
        once = [r.get(timeout=120) for r in results]
        back = [r.get(timeout=60) for r in retried]
    failed = sum(count != 1 for count in once) + sum(b != n for n, b in enumerate(back))
    # What was acknowledged is gone from the queue and from the unacknowledged jobs.
    broker = redis.Redis(port=PORT, db=0)
    deadline = time.monotonic() + 10
    while (broker.llen("celery") or broker.hlen("unacked")) and time.monotonic() < deadline:
        time.sleep(0.05)
    failed += broker.llen("celery") + broker.hlen("unacked")
    print(f"suite celery: {len(once) + len(back) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
