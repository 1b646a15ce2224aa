"""The threads of the pool that answers requests: how many there are, and why."""

from __future__ import annotations

import threading
import time

from language.native.server.leader_pool import LeaderPool


def test_a_thread_that_has_answered_is_the_one_follower_on_watch() -> None:
    """A leader that sees no follower must not post a second one beside the thread that takes the place meanwhile.

    The second one would be on watch for as long as the server runs, and each such moment would add one.
    """
    pool = LeaderPool(lambda: None, lambda: None, limit=8)
    covered: list[bool] = []
    with pool._lock:
        looking = threading.Thread(target=lambda: covered.append(pool.covered()))
        looking.start()
        time.sleep(0.1)  # it has seen that nobody is on watch, and waits for the lock
        assert looking.is_alive()
        pool._on_watch = True  # what a thread does that has answered, under the lock
    looking.join(30)
    assert covered == [True]
    assert pool.threads == 0
