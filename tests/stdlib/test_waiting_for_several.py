"""Waiting for several things at once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import language
from language.agents import agents_of
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import Secret
from language.values.decimals import parse
from stdlib.bus import bus_publish, bus_recv, bus_subscribe
from stdlib.child_processes import proc_close, proc_recv, proc_send, proc_spawn
from stdlib.file_watches import watch, watch_close, watch_next
from stdlib.selection import select
from tests.open_descriptors import left_open, open_descriptors

LONG = 60


@pytest.fixture
def ctx(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Context(NativeHost(), collect=True)
    made.capabilities.require("exec", None)
    made.capabilities.require("file.read", None)
    yield made
    made.lifetime.end()


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def test_a_process(ctx):
    quiet, talking = proc_spawn(ctx, "cat"), proc_spawn(ctx, "cat")
    assert select(ctx, [quiet, talking], 0) is None
    proc_send(ctx, talking, "x\n")
    assert select(ctx, [quiet, talking], LONG) == {"source": "process", "handle": talking}
    assert proc_recv(ctx, talking, 0)["data"] == "x"
    assert select(ctx, [quiet, talking], 0) is None
    ended = proc_spawn(ctx, "true")
    assert select(ctx, {"a": quiet, "b": ended}, LONG) == {"source": "process", "handle": ended, "name": "b"}


def test_a_watch_keeps_what_was_seen(ctx):
    Path("seen").write_text("1")
    process, file = proc_spawn(ctx, "cat"), watch(ctx, "seen", {"interval": 0.05})
    threading.Timer(0.2, lambda: Path("seen").write_text("22")).start()
    assert select(ctx, [process, file], LONG) == {"source": "watch", "handle": file}
    assert watch_next(ctx, file, 0) == [{"path": "seen", "change": "modified"}]
    assert select(ctx, [process, file], 0) is None


def test_a_subscription_and_a_signal_from_another_thread(ctx):
    subscription = bus_subscribe(ctx, "t")
    sources = {"bus": subscription, "signal": "stop", "process": proc_spawn(ctx, "cat")}
    for send, name in ((lambda: bus_publish(ctx, "t", 1), "bus"), (lambda: agents_of(ctx).signal("stop", 2), "signal")):
        sender = threading.Timer(0.2, send)
        sender.start()
        begun = time.monotonic()
        found = select(ctx, sources, LONG)
        assert (found["source"], found["name"]) == (name, name) and time.monotonic() - begun < LONG / 2
        sender.join(LONG)
        assert bus_recv(ctx, subscription, 0) if name == "bus" else agents_of(ctx).wait_for(ctx, "stop", 0) == 2
    assert not subscription.board.bells(subscription.identifier) and not agents_of(ctx).waits._bells


def test_a_timer(ctx):
    process = proc_spawn(ctx, "cat")
    for seconds in (0, 0.05, parse("0.05")):
        assert select(ctx, [process, seconds], LONG) == {"source": "timer", "handle": seconds}
    assert select(ctx, [process, 600], 0.05) is None


def test_the_first_of_several_that_are_ready(ctx):
    subscription = bus_subscribe(ctx, "t")
    bus_publish(ctx, "t", 1)
    assert select(ctx, [subscription, 0])["source"] == "bus"
    assert select(ctx, [0, subscription])["source"] == "timer"


def test_a_program_of_several_things(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = language.run(
        'require exec("sh")\n'
        "agent Worker\n"
        "    give 1\n"
        "task begin()\n    spawn Worker\n"
        'let p be proc_spawn("sh", ["-c", "echo line; exec sleep 600"])\n'
        'let sources be {"job": p, "ended": "ended:" + begin()}\n'
        "let seen be []\n"
        "each n in range(2)\n"
        "    let event be select(sources, 60)\n"
        "    set seen to append(seen, event.name)\n"
        '    when event.name == "job"\n'
        "        proc_recv(p, 0)\n"
        "    otherwise\n"
        "        wait_for event.handle timeout 0\n"
        "print(sort(seen))\n",
        host=NativeHost(),
    )
    assert answer["output"] == ['["ended", "job"]'], answer


def test_a_limit_of_time_ends_the_wait():
    begun = time.monotonic()
    assert language.run("select([600], 600)", host=NativeHost(), limits={"time_ms": 300})["limit"] == "time_ms"
    assert time.monotonic() - begun < LONG / 2


def test_nothing_stays_open(ctx):
    before = open_descriptors()
    for _ in range(3):
        process = proc_spawn(ctx, "cat")
        select(ctx, [process, "stop", 0.01])
        proc_close(ctx, process)
    assert left_open(before) == []


def test_rights_are_asked_here_as_well(ctx):
    for setup, source, right in (
        ('let x be proc_spawn("cat")', "x", 'exec("cat")'),
        ('let x be watch("f")', "x", 'file.read("f")'),
    ):
        program = f'require exec("cat")\nrequire file.read("f")\n{setup}\nsandbox\n    select([{source}], 0)'
        assert f"Capability not granted: {right}" in language.run(program, host=NativeHost())["errors"][0]


def test_what_is_nothing_to_wait_for(ctx):
    assert error_of(select, ctx, "x") == "select expects a list or a map, got text"
    assert "1 to 1000 sources" in error_of(select, ctx, [])
    assert "cannot wait for list" in error_of(select, ctx, [[1]])
    assert "cannot wait for secret" in error_of(select, ctx, [Secret("stop", ("K",))])
    assert "a timer must be a number of seconds from 0" in error_of(select, ctx, [-1])
    process, file, subscription = proc_spawn(ctx, "cat"), watch(ctx, "x"), bus_subscribe(ctx, "t")
    proc_close(ctx, process)
    watch_close(ctx, file)
    subscription.end()
    for closed in (process, file, subscription):
        message = error_of(select, ctx, [closed])
        assert message.startswith("select: ") and ("closed" in message or "ended" in message)
    other = Context(EmbeddedHost(), collect=True)
    assert error_of(select, other, [1]).startswith("select: not available in the wasm profile")
