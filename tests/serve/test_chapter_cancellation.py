"""Requests that end before they are done leave nothing behind, in their thread or in what all share (7.8, 7.13)."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from language.errors import Cancelled
from language.runtime.threads import raise_in
from tests.serve.served import Served, header, request

RACE = """
require serve(8080)
task who(token)
    let i be 0
    while i < 30
        set i to i + 1
    give token
serve on 8080
    auth with who
    timeout 0.05
    route "GET /spin/:n"
        let i be 0
        let n be number(params.n)
        while i < n
            set i to i + 1
        give i
    route "GET /in/:n" requires auth
        let i be 0
        let n be number(params.n)
        while i < n
            set i to i + 1
        give i
    route "GET /free"
        timeout none
        let i be 0
        while i < 2000
            set i to i + 1
        give i
"""


@pytest.fixture
def no_finalizers() -> Iterator[None]:
    """Keeps finalizers of what other tests left out of the threads of this one, where an exception would interrupt them."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_finalizers")
def test_no_deadline_reaches_the_next_request_of_its_thread() -> None:
    app = Served(RACE)
    app("GET", "/free")
    wrong: list[object] = []
    cancelled = 0

    def ask(seed: int) -> None:
        nonlocal cancelled
        random = Random(seed)
        end = time.monotonic() + 1.5
        try:
            while time.monotonic() < end:
                late = request("GET", f"/{random.choice(('spin', 'in'))}/{random.choice((0, 0, 20000))}")
                # The deadline comes before the handler, in its middle, at its end, or as the reply is made.
                late.arrived = time.monotonic() - 0.05 + random.uniform(-0.0002, 0.0005)
                status = app.application.respond(late).status
                cancelled += status == 504
                if status not in (200, 504):
                    wrong.append(status)
                after = app("GET", "/free")
                if after.status != 200:
                    wrong.append(after.body)
        except BaseException as error:  # one that was meant for a request that is over
            wrong.append(repr(error))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.00002)  # threads take turns at every step they can
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    finally:
        sys.setswitchinterval(interval)
    assert wrong == [] and cancelled > 0
    assert not any(thread.is_alive() for thread in threads) and app.application.in_flight == 0


def test_no_exception_arrives_in_the_middle_of_an_import(tmp_path: Path) -> None:
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(0.3)\ndone = True\n")
    sys.path.insert(0, str(tmp_path))
    outcome: list[str] = []
    began = threading.Event()

    def work() -> None:
        try:
            began.set()
            import slowly_imported  # type: ignore[import-not-found]

            outcome.append(f"imported {slowly_imported.done}")
            time.sleep(30)
        except Cancelled:
            outcome.append("cancelled")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    began.wait()
    try:
        while "cancelled" not in outcome and thread.is_alive():
            raise_in([thread.ident or 0], Cancelled)
            time.sleep(0.02)
            if outcome:
                break
    finally:
        sys.path.remove(str(tmp_path))
    assert outcome == ["imported True"]


TRANSACTION = """
require serve(8080)
require db(":memory:")
db_open(":memory:")
sql_exec("create table t (n)")
task who(token)
    when token == "slow"
        sql_exec("begin")
        sleep(5)
    give token
serve on 8080
    auth with who
    timeout 0.2
    route "GET /tx"
        sql_exec("begin")
        sql_exec("insert into t values (1)")
        sleep(5)
        sql_exec("commit")
    route "GET /in" requires auth
        give 1
    route "GET /count"
        give sql("select count(*) as n from t")[0].n
"""


def test_a_transaction_of_a_cancelled_request_is_rolled_back() -> None:
    app = Served(TRANSACTION)
    assert app("GET", "/tx").status == 504
    assert app("GET", "/count").body == b"0"
    assert app("GET", "/in", authorization="Bearer slow").status == 504
    assert app("GET", "/count").body == b"0"


def test_a_cancelled_reply_has_its_headers_once() -> None:
    app = Served(
        'require serve(8080)\nserve on 8080\n    cors "https://app.example"\n    route "GET /sleep"\n        sleep(30)\n'
    )
    replies = []
    thread = threading.Thread(target=lambda: replies.append(app("GET", "/sleep")))
    thread.start()
    while app.application.in_flight == 0:
        time.sleep(0.01)
    app.application.cancel_all()
    thread.join(10)
    assert replies[0].status == 503
    assert header(replies[0], "Access-Control-Allow-Origin") == ["https://app.example"]


def test_what_is_over_does_not_wait_in_memory_for_its_deadline() -> None:
    app = Served(
        'require serve(8080)\nserve on 8080\n    timeout 600\n    max_body "2mb"\n    route "POST /"\n'
        "        give length(request.body)\n"
    )

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    for _ in range(10):
        app("POST", "/", os.urandom(1_000_000))
    before = resident()
    for _ in range(200):
        assert app("POST", "/", os.urandom(1_000_000)).status == 200
    assert resident() - before < 50_000_000


ERRORS = """
require serve(8080)
task shape(status, message, request)
    when request.path == "/slow"
        sleep(30)
    give {"m": message}
serve on 8080
    timeout 0.2
    errors with shape
    route "GET /known"
        give 1
"""


def test_an_errors_task_has_no_more_time_than_a_handler() -> None:
    app = Served(ERRORS)
    began = time.monotonic()
    assert app("GET", "/slow").status == 504
    assert time.monotonic() - began < 5
    assert app("GET", "/nowhere").body == b'{"m": "no route for GET /nowhere"}'
    assert (app("POST", "/known").status, header(app("POST", "/known"), "Allow")) == (405, ["GET"])


def test_what_waits_for_workers_is_cancelled_with_them() -> None:
    app = Served(
        'require serve(8080)\nserve on 8080\n    timeout 0.2\n    route "GET /"\n'
        "        give parallel_map((n) => sleep(20), [1, 2, 3])\n"
    )
    began = time.monotonic()
    assert app("GET", "/").status == 504
    assert time.monotonic() - began < 5


def test_a_request_that_has_waited_too_long_does_not_begin() -> None:
    app = Served(
        'require serve(8080)\nserve on 8080\n    timeout 5\n    route "GET /"\n        give state_incr("begun")\n'
        '    route "GET /begun"\n        give state_get("begun", 0)\n'
    )
    for _ in range(20):
        late = request("GET", "/")
        late.arrived = time.monotonic() - 6
        reply = app.application.respond(late)
        assert (reply.status, reply.closes) == (504, True)
    assert app("GET", "/begun").body == b"0" and app.application.in_flight == 0


GATES = """
require serve(8080)
serve on 8080
    timeout 0.02
    route "GET /"
        give approve "Go?" within 60s
"""


@pytest.mark.usefixtures("no_finalizers")
def test_no_gate_of_a_cancelled_request_stays_open() -> None:
    app = Served(GATES)
    app("GET", "/")
    wrong: list[object] = []

    def ask(seed: int) -> None:
        random = Random(seed)
        end = time.monotonic() + 1.5
        try:
            while time.monotonic() < end:
                late = request("GET", "/")
                late.arrived = time.monotonic() - 0.02 + random.uniform(0.00005, 0.0006)
                status = app.application.respond(late).status
                if status != 504:
                    wrong.append(status)
        except BaseException as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=ask, args=(seed,), daemon=True) for seed in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.00002)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    finally:
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads)
    assert (wrong, app.gates.pending(), app.application.in_flight) == ([], [], 0)
