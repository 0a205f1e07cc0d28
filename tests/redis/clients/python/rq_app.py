"""RQ: jobs, retries, failures, dependencies, a scheduler, by a worker in a process of its own."""

import os
import subprocess
import sys
from datetime import timedelta

from redis import Redis
from rq import Queue, Retry

HERE = os.path.dirname(os.path.abspath(__file__))


def add(a, b):
    return a + b


def fails():
    raise ValueError("on purpose")


def third_time(url, key):
    if Redis.from_url(url).incr(key) < 3:
        raise ValueError("not yet")
    return "done"


def suite():
    import rq_app
    from harness import HOST, PORT, URL, equal, main, test, until

    @test
    def a_worker_does_what_rq_offers():
        connection = Redis(HOST, PORT)
        queue, low = Queue("default", connection=connection), Queue("low", connection=connection)
        worker = subprocess.Popen([os.path.join(os.path.dirname(sys.executable), "rq"), "worker", "--url", URL, "--with-scheduler", "--quiet", "default", "low"],
                                  cwd=HERE, env={**os.environ, "PYTHONPATH": HERE})
        try:
            jobs = [queue.enqueue(rq_app.add, n, n) for n in range(10)]
            until(lambda: all(job.get_status(refresh=True) == "finished" for job in jobs), 60)
            equal([job.return_value() for job in jobs], [n + n for n in range(10)])
            failing = queue.enqueue(rq_app.fails)
            until(lambda: failing.get_status(refresh=True) == "failed", 30)
            equal((failing.id in queue.failed_job_registry, "on purpose" in failing.latest_result().exc_string), (True, True))
            retried = low.enqueue(rq_app.third_time, URL, "tries", retry=Retry(max=5))
            after = queue.enqueue(rq_app.add, 1, 1, depends_on=retried)
            until(lambda: after.get_status(refresh=True) == "finished", 60)
            equal((retried.return_value(), connection.get("tries")), ("done", b"3"))
            later = queue.enqueue_in(timedelta(seconds=1), rq_app.add, 2, 2)
            equal(later.id in queue.scheduled_job_registry, True)
            until(lambda: later.get_status(refresh=True) == "finished", 60)
            equal((queue.count, len(queue.finished_job_registry) >= 12), (0, True))
        finally:
            worker.terminate()
            worker.wait(30)

    main()


if __name__ == "__main__":
    suite()
