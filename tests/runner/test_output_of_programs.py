"""What programs print, and what they were allowed, on its way to the service."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runner.audit import AuditDesk
from runner.logs import HIDDEN, LONGEST_LINE, MOST_BYTES, MOST_LINES, TAIL_LINES, Allowance, Printed
from runner.protocol import OUTPUT_LIMIT, AuditRecord, LogLine

TOKEN = "0123456789abcdef" * 4


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def printed(clock: Clock | None = None, run: str | None = None) -> tuple[Printed, list[LogLine]]:
    lines: list[LogLine] = []
    return Printed("prj_a", Allowance(clock or Clock()), lines.append, lambda: {TOKEN}, run), lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"token {TOKEN}.", f"token {HIDDEN}."),
        (f"token {TOKEN.upper()}", f"token {HIDDEN}"),
        (f'POST /approvals/x1 {{"token": "{"f" * 64}"}}', f'POST /approvals/x1 {{"token": "{HIDDEN}"}}'),
        (f"https://shop.example/approvals/x1/{'e' * 64}?d=yes", f"https://shop.example/approvals/x1/{HIDDEN}?d=yes"),
        (f"sha256 {'a' * 64}", f"sha256 {'a' * 64}"),
        (f"{TOKEN}0", f"{TOKEN}0"),
    ],
)
def test_no_token_of_a_gate_is_in_a_line_or_in_an_output(text: str, shown: str) -> None:
    out, lines = printed(run="run_1")
    out.take(5, "out", text)
    assert [line.line for line in lines] == [shown]
    assert (out.output, out.tail) == (f"{shown}\n", shown)


def test_lines_keep_their_order_moment_stream_and_run() -> None:
    out, lines = printed(run="run_1")
    for number in range(5):
        out.take(number, "err" if number % 2 else "out", str(number))
    assert [(line.at, line.stream, line.line, line.run) for line in lines] == [
        (number, "err" if number % 2 else "out", str(number), "run_1") for number in range(5)
    ]


def test_a_project_that_prints_without_end_gets_its_share_and_one_line_that_says_so() -> None:
    clock = Clock()
    out, lines = printed(clock)
    for number in range(5 * MOST_LINES):
        out.take(1, "out", str(number))
    assert [line.line for line in lines] == [str(number) for number in range(MOST_LINES)]
    clock.now = 1.0
    out.take(1, "out", "again")
    assert [line.stream for line in lines[MOST_LINES:]] == ["system", "out"]
    assert lines[MOST_LINES].line.startswith(f"{4 * MOST_LINES:,} lines were left out here")
    out.flush()
    assert len(lines) == MOST_LINES + 2


def test_the_share_is_one_of_bytes_too_and_of_all_starts_of_a_project() -> None:
    clock = Clock()
    allowance, lines = Allowance(clock), list[LogLine]()
    both = [Printed("prj_a", allowance, lines.append, lambda: ()) for _ in range(2)]
    for _ in range(100):
        for out in both:
            out.take(1, "out", "x" * 8000)
    assert sum(len(line.line) for line in lines) <= MOST_BYTES < sum(len(line.line) for line in lines) + 8000


def test_what_is_left_out_of_the_log_is_still_in_the_output_of_a_run_up_to_its_end() -> None:
    out, lines = printed(run="run_1")
    for number in range(20_000):
        out.take(1, "out", f"line {number}")
    assert len(lines) == MOST_LINES
    assert len(out.output) == OUTPUT_LIMIT and out.output.endswith("line 19998\nline 19999\n")
    assert out.tail.splitlines() == [f"line {number}" for number in range(20_000 - TAIL_LINES, 20_000)]


def test_what_the_interpreter_says_of_itself_is_in_the_log_and_not_in_the_output() -> None:
    out, lines = printed(run="run_1")
    out.take(1, "err", "[lang] approval pending x1")
    out.take(2, "err", "Runtime error: boom")
    out.take(3, "out", "[lang] printed")
    assert len(lines) == 3 and out.output == "Runtime error: boom\n[lang] printed\n"


def test_a_line_without_end_is_cut() -> None:
    out, lines = printed()
    out.take(1, "out", "x" * 100_000)
    assert len(lines[0].line) == LONGEST_LINE == len(out.tail)


def record(**changes: Any) -> dict[str, Any]:
    return {"ts": 1.5, "capability": "net", "scope": "a.example", "granted": True, "origin": "program", "why": "w"} | changes


def test_what_is_granted_again_and_again_is_counted_and_the_first_is_kept_at_once() -> None:
    kept: list[AuditRecord] = []

    async def story() -> None:
        desk = AuditDesk("prj_a", "dep_1", kept.append)
        desk.take(record(), "program")
        assert [each.count for each in kept] == [1]
        for number in range(99):
            desk.take(record(ts=float(number)), "program")
        desk.take(record(), "runner")
        desk.take(record(scope="b.example"), "program")
        desk.flush()

    asyncio.run(story())
    assert [(each.scope, each.witness, each.count) for each in kept] == [
        ("a.example", "program", 1),
        ("a.example", "runner", 1),
        ("b.example", "program", 1),
        ("a.example", "program", 99),
    ]
    assert sum(each.count for each in kept) == 102 and kept[-1].ts == 98.0


def test_refusals_are_never_counted_together() -> None:
    kept: list[AuditRecord] = []

    async def story() -> None:
        desk = AuditDesk("prj_a", "dep_1", kept.append)
        for _ in range(10):
            desk.take(record(granted=False), "program")

    asyncio.run(story())
    assert [each.count for each in kept] == [1] * 10


@pytest.mark.parametrize(
    "given",
    [{}, record(ts="now"), record(ts=float("nan")), record(ts=10**400), record(scope=7, why=[1]), record(capability=None)],
)
def test_whatever_a_program_sends_as_a_record_can_be_reported(given: dict[str, Any]) -> None:
    kept: list[AuditRecord] = []

    async def story() -> None:
        AuditDesk("prj_a", "dep_1", kept.append).take(given, "program")

    asyncio.run(story())
    from runner.protocol import item_from_json, to_json

    assert item_from_json(to_json(kept[0])) == kept[0]
