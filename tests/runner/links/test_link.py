"""The runner's end of a link, before programs that do what none should."""

from __future__ import annotations

import array
import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from language.host_link import Start
from runner.links import LinkState, StartValues, connection
from runner.links import link as link_module
from tests.runner.links.dialling import TOKEN, Caller, Told, egress, opened


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def gate(number: int, **more: Any) -> dict[str, Any]:
    given = {"type": "gate", "id": f"g{number}", "kind": "approve", "message": "?", "expires_at": 1, "token": TOKEN}
    return {**given, **more}


# ---- the way of a start ------------------------------------------------------------------------------------------------


def test_a_program_gets_what_it_is_given_and_a_listening_socket(tmp_path: Path) -> None:
    async def body() -> None:
        people = "https://a.x/people"
        values = StartValues(
            env={"A": "1"}, secrets={"B": "2"}, public_url="https://a.x", approvals_url=people, human_timeout=9.0
        )
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            async with opened(tmp_path, values=values, listening=listening) as (link, told):
                caller = Caller(tmp_path)
                start = await caller.begin()
                assert start["env"] == {"A": "1"} and start["secrets"] == {"B": "2"}
                told_of_platform = {"public_url": "https://a.x", "approvals_url": people, "trust_proxy": []}
                assert start["host"] == {**told_of_platform, "human_timeout": 9.0}
                assert await caller.hear() == {"type": "listen", "descriptors": 1}
                handed = socket.socket(fileno=caller.descriptors[0])
                assert handed.getsockname() == listening.getsockname()
                handed.close()
                await caller.say(type="ready")
                await told.until("ready")
                assert link.state.ready
            assert listening.fileno() >= 0  # it is the keeper's

    asyncio.run(body())


def test_values_are_in_no_text_about_them() -> None:
    shown = repr(StartValues(env={"A": "shown-nowhere"}, secrets={"B": "nor-this"}, llm={"KEY": "or-that"}))
    assert not any(secret in shown for secret in ("shown-nowhere", "nor-this", "or-that"))
    assert TOKEN not in repr(LinkState(resume=TOKEN, gates={"g": TOKEN}))
    assert TOKEN not in repr(Start(TOKEN, {"A": TOKEN}, {"B": TOKEN}, {"llm": {"PLATFORM_LLM_API_KEY": TOKEN}}))


def test_a_ping_is_answered_or_not(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (link, _):
            caller = Caller(tmp_path)
            await caller.begin()
            asked = asyncio.ensure_future(link.ping(60))
            await caller.say(type="health", id=(await caller.until("ping"))["id"])
            assert await asked is True
            assert await link.ping(0.01) is False

    asyncio.run(body())


# ---- who dials ---------------------------------------------------------------------------------------------------------


def test_a_second_connection_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (_, told):
            first = Caller(tmp_path)
            queued = Caller(tmp_path)  # dialled before anybody was heard
            await first.begin()
            with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
                Caller(tmp_path)
            assert await queued.ended()
            await first.say(type="ready")
            await told.until("ready")

    asyncio.run(body())


@pytest.mark.parametrize("wrong", ["", "0" * 64, "é", "x" * 70_000])
def test_coming_back_takes_the_secret_of_the_start(tmp_path: Path, wrong: str) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (link, told):
            first = Caller(tmp_path)
            secret = (await first.begin())["resume"]
            assert secret == link.state.resume and len(secret) == 64
            first.close()
            await told.until("lost")
            thief = Caller(tmp_path)
            await thief.say(type="hello", protocol=1, version="1", mode="serve", resume=wrong)
            assert await thief.ended()
            back = Caller(tmp_path)
            assert await back.begin(secret) == {"type": "resumed", "audited": 0}

    asyncio.run(body())


def test_those_who_dial_and_say_nothing_keep_nobody_out(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (link, told):
            first = Caller(tmp_path)
            secret = (await first.begin())["resume"]
            first.close()
            await told.until("lost")
            silent = []
            for _ in range(40):
                silent.append(Caller(tmp_path))
                await asyncio.sleep(0)
            back = Caller(tmp_path)
            assert (await back.begin(secret))["type"] == "resumed"
            assert all([await caller.ended() for caller in silent])
            assert link.connected

    asyncio.run(body())


def test_another_process_takes_up_a_link(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (link, told):
            caller = Caller(tmp_path)
            secret = (await caller.begin())["resume"]
            await caller.say(type="ready")
            await caller.say(type="audit", seq=1, record={"n": 1})
            await caller.say(**gate(1))
            await told.until("gate")
            kept = LinkState.from_json(json.loads(json.dumps(link.state.to_json())))
        async with opened(tmp_path, kept=kept) as (link, told):
            stranger = Caller(tmp_path)
            await stranger.say(type="hello", protocol=1, version="1", mode="serve")
            assert await stranger.ended()
            caller = Caller(tmp_path)
            assert await caller.begin(secret) == {"type": "resumed", "audited": 1}
            await caller.say(type="ready")
            await caller.say(type="audit", seq=2, record={"n": 2})
            assert await told.until("audit of program") == [{"n": 2}]
            assert told.of("ready") == []  # it was told before
            asked = asyncio.ensure_future(link.decide("g1", decision=True, value=None, seconds=60))
            assert (await caller.until("decide"))["token"] == TOKEN
            asked.cancel()

    asyncio.run(body())


# ---- what breaks the protocol ------------------------------------------------------------------------------------------


def test_a_record_that_was_acknowledged_after_the_state_was_written_breaks_no_link(tmp_path: Path) -> None:
    """The runner was killed between the two: the record is in its spool, and the program does not send it again."""

    async def body() -> None:
        kept = LinkState(resume="ab" * 32, audited=3, ready=True)
        async with opened(tmp_path, kept=kept) as (link, told):
            caller = Caller(tmp_path)
            assert await caller.begin("ab" * 32) == {"type": "resumed", "audited": 3}
            await caller.say(type="audit", seq=6, record={"n": 6})
            await caller.say(type="audit", seq=7, record={"n": 7})
            assert (await caller.until("audited"))["seq"] >= 6
            assert await told.until("audit of program", 2) == [{"n": 6}, {"n": 7}]
            await caller.say(type="audit", seq=9, record={"n": 9})
            assert await caller.ended(), "from the first one on each follows the one before"
            assert link.state.audited == 7

    asyncio.run(body())


async def _long_line(caller: Caller) -> None:
    await caller.write(b'{"type":"unknown","x":"' + b"x" * (1024 * 1024))


async def _descriptor(caller: Caller) -> None:
    sent = socket.socketpair()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno() for s in sent] * 20))]
    caller.socket.sendmsg([b'{"type":"ready","descriptors":2}\n'], rights)
    for end in sent:
        end.close()


def _line(text: bytes) -> Callable[[Caller], Awaitable[None]]:
    return lambda caller: caller.write(text + b"\n")


BROKEN = {
    "a line over the limit": _long_line,
    "descriptors": _descriptor,
    "descriptors announced": _line(b'{"type":"ready","descriptors":1}'),
    "no json": _line(b"{"),
    "no utf-8": _line(b'{"type":"ready","x":"\xff"}'),
    "no object": _line(b"[]"),
    "no type": _line(b"{}"),
    "a number for a text": _line(b'{"type":"gate","id":1}'),
    "an endless number": _line(b'{"type":"audit","seq":' + b"1" * 6000 + b',"record":{}}'),
    "no number": _line(b'{"type":"audit","seq":1,"record":{"ts":NaN}}'),
    "infinity": _line(b'{"type":"audit","seq":1,"record":{"ts":1e999}}'),
    "half a character": _line(b'{"type":"audit","seq":1,"record":{"why":"\\ud800"}}'),
    "half a character in bytes": _line(b'{"type":"audit","seq":1,"record":{"why":"\xed\xa0\x80"}}'),
    "another encoding": _line(b'{"type":"audit","seq":1,"record":{"why":"\\ud800"}}'.decode().encode("utf-16-le")),
    "deep nesting": _line(b'{"type":"audit","seq":1,"record":' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
    "a message of the runner": _line(b'{"type":"stop","grace":1}'),
    "a second hello": _line(b'{"type":"hello","protocol":1,"version":"1","mode":"run"}'),
    "an audit record left out": _line(b'{"type":"audit","seq":2,"record":{}}'),
    "an audit record before the first": _line(b'{"type":"audit","seq":0,"record":{}}'),
    "a gate of no kind": _line(json.dumps(gate(1, kind="vote")).encode()),
    "a gate without an id": _line(json.dumps(gate(1, id="")).encode()),
    "a gate with a long message": _line(json.dumps(gate(1, message="m" * 70_000)).encode()),
    "a gate with more options than a program may give": _line(json.dumps(gate(1, kind="ask", options=["a"] * 101)).encode()),
    "a gate with a short token": _line(json.dumps(gate(1, token="ab")).encode()),
}


@pytest.mark.parametrize("how", BROKEN)
def test_who_breaks_the_protocol_loses_the_link_and_nothing_leaks(tmp_path: Path, how: str) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (link, told):
            caller = Caller(tmp_path)
            secret = (await caller.begin())["resume"]
            before = descriptors()
            await BROKEN[how](caller)
            assert await caller.ended()
            await told.until("lost")
            assert told.told == [("lost", None)]
            # The connection is closed, and the door is open again.
            assert descriptors() == before
            caller.close()
            back = Caller(tmp_path)
            assert (await back.begin(secret))["type"] == "resumed"
            assert link.state.audited == 0 and link.state.gates == {}

    asyncio.run(body())


def test_what_nobody_knows_is_passed_over(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (_, told):
            caller = Caller(tmp_path)
            await caller.begin()
            await caller.say(type="from the future", x=[1])
            await caller.say(type="ready", since=12)
            await told.until("ready")

    asyncio.run(body())


# ---- audit -------------------------------------------------------------------------------------------------------------


def test_records_are_taken_once_in_order_and_acknowledged(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (_, told):
            caller = Caller(tmp_path)
            secret = (await caller.begin())["resume"]
            for number in (1, 2, 2, 1, 3):
                await caller.say(type="audit", seq=number, record={"n": number})
            while (await caller.until("audited"))["seq"] < 3:
                pass
            caller.close()
            await told.until("lost")
            back = Caller(tmp_path)
            assert await back.begin(secret) == {"type": "resumed", "audited": 3}
            for number in (3, 4):
                await back.say(type="audit", seq=number, record={"n": number})
            await told.until("audit of program", 4)
            assert [record["n"] for record in told.of("audit of program")] == [1, 2, 3, 4]

    asyncio.run(body())


def test_a_record_that_cannot_be_kept_is_not_acknowledged(tmp_path: Path) -> None:
    async def body() -> None:
        full = True
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)  # it is reported there

        class Failing(Told):
            def audit(self, record: Any, witness: str) -> None:
                if full:
                    raise OSError("the disk is full")
                super().audit(record, witness)

        async with opened(tmp_path) as (link, _):
            told = link._events = Failing()
            caller = Caller(tmp_path)
            secret = (await caller.begin())["resume"]
            await caller.say(type="audit", seq=1, record={"n": 1})
            assert await caller.ended()
            full = False
            back = Caller(tmp_path)
            assert await back.begin(secret) == {"type": "resumed", "audited": 0}
            await back.say(type="audit", seq=1, record={"n": 1})
            assert await told.until("audit of program") == [{"n": 1}]

    asyncio.run(body())


def test_a_flood_of_records_leaves_the_other_links_their_turn(tmp_path: Path) -> None:
    count = 20_000

    async def body() -> None:
        (tmp_path / "other").mkdir()
        async with opened(tmp_path) as (_, told), opened(tmp_path / "other") as (other, _):
            flooding, quiet = Caller(tmp_path), Caller(tmp_path / "other")
            await flooding.begin()
            await quiet.begin()
            lines = (json.dumps({"type": "audit", "seq": n, "record": {"n": n}}) for n in range(1, count + 1))
            flood = asyncio.ensure_future(flooding.write("\n".join(lines).encode() + b"\n"))
            asked = asyncio.ensure_future(other.ping(60))
            await quiet.say(type="health", id=(await quiet.until("ping"))["id"])
            assert await asked
            assert len(told.of("audit of program")) < count / 10
            await flood
            while (await flooding.until("audited"))["seq"] < count:
                pass
            assert [record["n"] for record in told.of("audit of program")] == list(range(1, count + 1))

    asyncio.run(body())


def test_who_talks_too_much_is_listened_to_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What programs say lies on a disk that all share: a flood goes on no faster than the pace, over all its connections."""
    monkeypatch.setattr(connection, "BYTES_AT_ONCE", 256 * 100)
    monkeypatch.setattr(connection, "BYTES_A_SECOND", 1)
    count = 10_000

    async def body() -> None:
        async with opened(tmp_path) as (link, told):
            caller = Caller(tmp_path)
            secret = (await caller.begin())["resume"]
            lines = (json.dumps({"type": "audit", "seq": n, "record": {"n": n}}) for n in range(1, count + 1))
            flood = asyncio.ensure_future(caller.write("\n".join(lines).encode() + b"\n"))
            await told.until("audit of program", 100)
            assert await link.ping(0.3) is False
            taken = len(told.of("audit of program"))
            assert taken < 100 + 16 * 1024 // 40, "no more than what was read when the pace was reached"
            flood.cancel()
            await asyncio.gather(flood, return_exceptions=True)
            caller.close()
            link._connection.close()  # type: ignore[union-attr]
            back = Caller(tmp_path)
            assert (await back.begin(secret))["audited"] == taken
            await back.say(type="audit", seq=taken + 1, record={})
            assert await link.ping(0.3) is False, "another connection is no fresh start"
            assert len(told.of("audit of program")) <= taken + 1

    asyncio.run(body())


# ---- gates -------------------------------------------------------------------------------------------------------------


def test_a_gate_is_told_decided_and_closed(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (link, told):
            caller = Caller(tmp_path)
            await caller.begin()
            await caller.say(**gate(1))
            [asked] = await told.until("gate")
            assert (asked.id, asked.token) == ("g1", TOKEN) and TOKEN not in repr(asked)
            decision = asyncio.ensure_future(link.decide("g1", decision=True, value=None, seconds=60))
            sent = await caller.until("decide")
            assert (sent["gate"], sent["token"], sent["decision"], "value" in sent) == ("g1", TOKEN, True, False)
            await caller.say(type="closed", id="g1", outcome="approved", channel="api")
            await caller.say(type="decided", id=sent["id"], gate="g1", delivered=True)
            assert await decision is True
            assert told.of("closed") == [("g1", "approved", "api", None)]
            assert await link.decide("g1", decision=True, value=None, seconds=60) is False

    asyncio.run(body())


def test_a_decision_is_delivered_to_a_program_that_comes_back(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (link, told):
            caller = Caller(tmp_path)
            secret = (await caller.begin())["resume"]
            await caller.say(**gate(1))
            await told.until("gate")
            caller.close()
            await told.until("lost")
            decision = asyncio.ensure_future(link.decide("g1", decision=False, value=None, seconds=60))
            await asyncio.sleep(0)
            back = Caller(tmp_path)
            await back.begin(secret)
            await back.say(**gate(1))
            sent = await back.until("decide")
            # The answer itself may be lost: that the gate has ended so says as much.
            await back.say(type="closed", id=sent["gate"], outcome="denied", channel="api")
            assert await decision is True

    asyncio.run(body())


def test_a_gate_cannot_take_another_token(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as (link, _):
            caller = Caller(tmp_path)
            await caller.begin()
            await caller.say(**gate(1))
            await caller.say(**gate(1, token="cd" * 32))
            assert await caller.ended()
            assert link.state.gates == {"g1": TOKEN}

    asyncio.run(body())


def test_a_flood_of_gates_ends_at_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BYTES_AT_ONCE", 1 << 40)

    async def body() -> None:
        async with opened(tmp_path) as (link, told):
            caller = Caller(tmp_path)
            await caller.begin()
            lines = b"".join(json.dumps(gate(number)).encode() + b"\n" for number in range(6000))
            with suppress(OSError):  # it is hung up on meanwhile
                await caller.write(lines)
            await told.until("lost")
            assert len(link.state.gates) == 5000 == len(told.of("gate"))

    asyncio.run(body())


def test_gates_that_wait_hold_a_bounded_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "_MOST_TEXT", 100_000)

    async def body() -> None:
        async with opened(tmp_path) as (link, told):
            caller = Caller(tmp_path)
            secret = (await caller.begin())["resume"]
            await caller.say(**gate(1, message="x" * 60_000))
            await caller.say(**gate(1, message="x" * 60_000))
            await caller.say(type="closed", id="g1", outcome="denied", channel="api")
            await caller.say(**gate(2, message="x" * 60_000))
            await told.until("gate", 3)
            await caller.say(**gate(3, message="x" * 60_000))
            assert await caller.ended()
            assert list(link.state.gates) == ["g2"]
            assert (await Caller(tmp_path).begin(secret))["type"] == "resumed"

    asyncio.run(body())


# ---- connections -------------------------------------------------------------------------------------------------------


def test_a_connection_is_handed_in_and_recorded(tmp_path: Path) -> None:
    async def body() -> None:
        server = await asyncio.start_server(lambda r, w: w.write(b"hello"), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        way_out = egress(f"net=127.0.0.1:{port}", private_addresses=True, resolver=literal)
        async with server, opened(tmp_path, way_out) as (_, told):
            caller = Caller(tmp_path)
            await caller.begin()
            before = descriptors()
            await caller.say(type="connect", id=7, host="127.0.0.1", port=port, capability="net")
            assert await caller.until("connected") == {"type": "connected", "id": 7, "descriptors": 1}
            with socket.socket(fileno=caller.descriptors[0]) as handed:
                handed.setblocking(True)
                handed.settimeout(60)
                assert await asyncio.to_thread(handed.recv, 5) == b"hello"
            await caller.say(type="connect", id=8, host="127.0.0.1", port=port, capability="db")
            refused = await caller.until("refused")
            assert refused["denied"] is True and "db" in refused["reason"]
            [made, denied] = await told.until("audit of runner", 2)
            assert (made["scope"], made["granted"], denied["granted"]) == (f"127.0.0.1:{port}", True, False)
            assert descriptors() <= before + 1  # that of the server's own end at most

    asyncio.run(body())


async def literal(host: str, port: int) -> list[str]:
    return [host]


def test_a_flood_of_connections_is_held_up_and_a_program_that_never_reads_too(tmp_path: Path) -> None:
    asked = 0
    answer = asyncio.Event()

    async def slow(host: str, port: int) -> list[str]:
        nonlocal asked
        asked += 1
        await answer.wait()
        raise OSError(-2, "no such name")

    async def body() -> None:
        nonlocal answer
        answer = asyncio.Event()
        async with opened(tmp_path, egress("net", resolver=slow)) as (link, told):
            caller = Caller(tmp_path)
            await caller.begin()
            line = b'{"type":"connect","id":1,"host":"a.example","port":1,"capability":"net"}\n'
            flooding = asyncio.ensure_future(caller.write(line * 20_000))
            for _ in range(200):
                await asyncio.sleep(0)
            # What is under way is bounded by one piece that was read, not by what was sent.
            assert not flooding.done() and len(link._connects) < 400 and asked <= 4
            answer.set()
            # Nobody reads the answers: the link stops to take questions, and all others go on.
            while link._connects:
                await asyncio.sleep(0)
            for _ in range(200):
                await asyncio.sleep(0)
            assert not flooding.done()
            assert link._connection is not None and 0 < len(link._connection._outgoing) < 1000
            assert len(told.of("audit of runner")) < 5000
            flooding.cancel()
            # One that reads again is served again.
            assert (await caller.hear() or {})["type"] == "refused"

    asyncio.run(body())
