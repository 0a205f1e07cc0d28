"""Celery, with Redis as broker and as result backend."""

import os
import subprocess
import sys

from celery import Celery, chain, chord, group

HERE = os.path.dirname(os.path.abspath(__file__))
URL = os.environ.get("CELERY_REDIS")
app = Celery("celery_app", broker=f"{URL}/0", backend=f"{URL}/1")
app.conf.update(task_track_started=True, broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)


@app.task
def add(a, b):
    return a + b


@app.task
def total(numbers):
    return sum(numbers)


@app.task(bind=True, max_retries=3)
def third_time(self, key):
    import redis
    if redis.Redis.from_url(URL).incr(key) < 3:
        raise self.retry(countdown=0)
    return "done"


@app.task
def fails():
    raise ValueError("on purpose")


def suite():
    import redis

    from harness import equal, main, raises, test

    def waiting(tests):
        environment = {**os.environ, "CELERY_REDIS": URL}
        worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "celery_app", "worker", "--concurrency", "2", "--pool", "threads", "--loglevel",
                                   "ERROR", "--without-mingle"], cwd=HERE, env=environment)
        try:
            tests()
        finally:
            worker.terminate()
            worker.wait(20)

    @test
    def a_worker_does_what_celery_offers():
        def tests():
            equal(add.delay(2, 3).get(timeout=40), 5)
            equal(group(add.s(n, n) for n in range(50))().get(timeout=40), [n + n for n in range(50)])
            equal(chain(add.s(1, 2), add.s(10), add.s(100))().get(timeout=40), 113)
            equal(chord((add.s(n, 1) for n in range(20)), total.s())().get(timeout=40), sum(range(1, 21)))
            equal(third_time.delay("tries").get(timeout=40), "done")
            equal(str(raises(ValueError, lambda: fails.delay().get(timeout=40))), "on purpose")
            later = add.apply_async((1, 1), countdown=1)
            equal((later.ready(), later.get(timeout=40)), (False, 2))
            result = add.delay(1, 2)
            equal((result.get(timeout=40), result.state, result.successful()), (3, "SUCCESS", True))
            result.forget()
            equal([len(replies) for replies in [app.control.ping(timeout=5)]], [1])
            equal(redis.Redis.from_url(URL).llen("celery"), 0)
        waiting(tests)

    main()


if __name__ == "__main__":
    from harness import URL as harness_url
    URL = harness_url
    app.conf.update(broker_url=f"{URL}/0", result_backend=f"{URL}/1")
    # The worker imports this module by its name, and so do the tasks' names have to be.
    os.environ["CELERY_REDIS"] = URL
    sys.path.insert(0, HERE)
    import celery_app
    celery_app.suite()
