"""RQ, unmodified: jobs, failures with retries, and the registries, with a worker in this process.

Usage: rq_jobs.py PORT [JOBS].
"""

import logging
import sys

import redis
from rq.job import Job
from rq import Queue, Retry, SimpleWorker
from rq.registry import FailedJobRegistry, FinishedJobRegistry

PORT = int(sys.argv[1])
JOBS = int(sys.argv[2]) if len(sys.argv) > 2 else 200


def work(number):
    return redis.Redis(port=PORT).incr(f"done:{number}")


def flaky(number):
    if redis.Redis(port=PORT).incr(f"tried:{number}") < 3:
        raise ValueError("not yet")
    return number


def broken():
    raise ValueError("never")


def main():
    # As a script this module is __main__, which a worker cannot import by name.
    import rq_jobs as jobs

    connection = redis.Redis(port=PORT)
    connection.flushall()
    if connection.execute_command("COMMAND INFO", "XADD") in ([None], {}):
        print("rq: the server has no streams; results are kept as RQ does on such servers")
        Job.supports_redis_streams = False
    queue = Queue(connection=connection)
    once = [queue.enqueue(jobs.work, n) for n in range(JOBS)]
    retried = [queue.enqueue(jobs.flaky, n, retry=Retry(max=3)) for n in range(10)]
    lost = queue.enqueue(jobs.broken)
    logging.disable(logging.CRITICAL)
    SimpleWorker([queue], connection=connection).work(burst=True, logging_level="CRITICAL")
    failed = sum(job.return_value() != 1 for job in once)
    failed += sum(job.return_value() != n for n, job in enumerate(retried))
    failed += lost.get_status(refresh=True) != "failed" or FailedJobRegistry(queue=queue).count != 1
    failed += queue.count + (FinishedJobRegistry(queue=queue).count != JOBS + 10)
    total = JOBS + 10 + 2
    print(f"suite rq: {total - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
