"""The examples run on their data and print what they promise; their own tests pass."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
EXAMPLES = REPOSITORY / "examples"

# program, the file it reads, the file with what it prints
RUNS = [
    ("access_log/report.lang", "access_log/access.log", "access_log/expected.txt"),
    ("invoices/ledger.lang", "invoices/invoices.csv", "invoices/expected.txt"),
    ("search_index/search.lang", "search_index/corpus.txt", "search_index/expected.txt"),
    ("interpreter/lisp.lang", "interpreter/demo.lisp", "interpreter/expected.txt"),
    ("sudoku/sudoku.lang", "sudoku/puzzles.txt", "sudoku/expected.txt"),
    ("tickets/tickets.lang", "tickets/feed.xml", "tickets/expected.txt"),
    ("release/release.lang", "release/release.xml", "release/expected.txt"),
]
PROGRAMS_WITH_TESTS = sorted(
    path.relative_to(EXAMPLES).as_posix()
    for path in EXAMPLES.rglob("*.lang")
    if "recipes" not in path.parts  # tests/examples/test_bundled_recipes.py runs theirs, with answers in place of a model's
    and re.search(r'^test "', path.read_text(encoding="utf-8"), re.MULTILINE)
)
COMMAND = [sys.executable, "-m", "language"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY)}


def lang(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the command in the examples' folder."""
    return subprocess.run(
        [*COMMAND, *arguments],
        input=stdin,
        capture_output=True,
        cwd=EXAMPLES,
        env=ENVIRONMENT,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def output_of(program: str, data: str) -> str:
    finished = lang("run", program, stdin=(EXAMPLES / data).read_text(encoding="utf-8"))
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


@pytest.mark.parametrize(("program", "data", "expected"), RUNS, ids=[run[0] for run in RUNS])
def test_prints_what_it_promises(program: str, data: str, expected: str) -> None:
    assert output_of(program, data) == (EXAMPLES / expected).read_text(encoding="utf-8")


@pytest.mark.parametrize("program", PROGRAMS_WITH_TESTS)
def test_its_own_tests_pass(program: str) -> None:
    blocks = re.findall(r'^test "(.*)"$', (EXAMPLES / program).read_text(encoding="utf-8"), re.MULTILINE)
    finished = lang("test", program)
    assert finished.stdout.splitlines() == [
        *(f"✓ {name}" for name in blocks),
        f"{len(blocks)} passed, 0 failed ({len(blocks)} total)",
    ], finished.stdout + finished.stderr
    assert finished.returncode == 0


@pytest.mark.parametrize("program", [run[0] for run in RUNS])
def test_checks_without_a_warning(program: str) -> None:
    finished = lang("check", program)
    assert (finished.returncode, finished.stderr) == (0, "")


def test_hello() -> None:
    assert lang("run", "hello.lang").stdout == "Hello, world\n"


def test_run_all_runs_them_all(tmp_path: Path) -> None:
    command = tmp_path / "lang"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m language "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    finished = subprocess.run(
        [str(EXAMPLES / "run_all.sh")],
        capture_output=True,
        cwd=tmp_path,
        env={**ENVIRONMENT, "LANG": str(command)},
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    for program, _, expected in RUNS:
        assert f"== {program} " in finished.stdout
        assert (EXAMPLES / expected).read_text(encoding="utf-8") in finished.stdout


# The numbers again, computed another way -----------------------------------------------------------------------------


def test_the_access_log_is_what_its_generator_writes() -> None:
    written = subprocess.run([sys.executable, "access_log/generate.py"], capture_output=True, cwd=EXAMPLES, check=True)
    assert written.stdout == (EXAMPLES / "access_log/access.log").read_bytes()


def test_the_report_counts_as_an_independent_reader_does() -> None:
    lines = (EXAMPLES / "access_log/access.log").read_text(encoding="utf-8").splitlines()
    good = [
        (parts, line.rsplit(" ", 1)[1])
        for line in lines
        if "31/Feb" not in line and (parts := re.search(r'"([A-Z]+) ([^ ?]+)\S* HTTP/1.1" (\d\d\d) (\d+|-) ', line))
    ]
    report = (EXAMPLES / "access_log/expected.txt").read_text(encoding="utf-8")

    def number(label: str) -> int:
        found = re.search(rf"^\s*{re.escape(label)}\s+([\d,]+)", report, re.MULTILINE)
        assert found, label
        return int(found[1].replace(",", ""))

    assert number("lines") == len(lines)
    assert number("requests") == len(good)
    assert number("malformed") == len([line for line in lines if line.strip()]) - len(good)
    assert number("bytes sent") == sum(int(parts[4]) for parts, _ in good if parts[4] != "-")
    for status, count in Counter(parts[3][0] for parts, _ in good).items():
        assert number(f"{status}xx") == count
    (path, hits), *_ = Counter(parts[2] for parts, _ in good).most_common()
    assert re.search(rf"Top paths\n.*\n\s+{hits}\s+[\d,]+  {re.escape(path)}\n", report)
    seconds = sorted(float(last) for _, last in good)
    assert f"worst {seconds[-1]}" in report


def test_the_ledger_adds_up() -> None:
    lines = (EXAMPLES / "invoices/expected.txt").read_text(encoding="utf-8").splitlines()
    *entries, errors, totals = (json.loads(line, parse_float=Decimal) for line in lines)
    cent = Decimal("0.01")
    rows = csv.DictReader(io.StringIO((EXAMPLES / "invoices/invoices.csv").read_text(encoding="utf-8")))
    priced = {(row["invoice"], row["item"]): row for row in rows}

    assert all("." in re.search(r'"total": ([\d.-]+)', line)[1] for line in lines[:-2])  # type: ignore[index]
    for entry in entries:
        for line in entry["lines"]:
            row = priced[entry["invoice"], line["item"]]
            off = Decimal((row["discount"] or "0%").rstrip("%")) / 100
            amount = Decimal(row["unit_price"]) * int(row["quantity"]) * (1 - off)
            assert line["amount"] == amount.quantize(cent, ROUND_HALF_EVEN)
        assert entry["net"] == sum(line["amount"] for line in entry["lines"])
        for tax in entry["taxes"]:
            assert tax["tax"] == (tax["net"] * tax["rate"]).quantize(cent, ROUND_HALF_EVEN)
        assert entry["total"] == entry["net"] + sum(tax["tax"] for tax in entry["taxes"])
    assert totals["totals"]["total"] == sum(entry["total"] for entry in entries)
    assert {error["invoice"] for error in errors["errors"]}.isdisjoint(entry["invoice"] for entry in entries)
    assert {*(error["invoice"] for error in errors["errors"]), *(entry["invoice"] for entry in entries)} == {
        invoice for invoice, _ in priced
    }


def test_the_sudokus_are_solved() -> None:
    report = (EXAMPLES / "sudoku/expected.txt").read_text(encoding="utf-8")
    for picture in re.findall(r"solved .*\n((?:  .*\n){11})", report):
        sides = [line[2:].split("     ") for line in picture.splitlines() if "+" not in line]
        asked, answered = (["".join(re.findall(r"[\d.]", side[i])) for side in sides] for i in (0, 1))
        columns = ["".join(row[i] for row in answered) for i in range(9)]
        boxes = ["".join(answered[r + i][c : c + 3] for i in range(3)) for r in (0, 3, 6) for c in (0, 3, 6)]
        assert all(sorted(unit) == list("123456789") for unit in [*answered, *columns, *boxes])
        assert all(q in (".", a) for row, other in zip(asked, answered, strict=True) for q, a in zip(row, other, strict=True))
    assert report.count(": solved ") == 4
