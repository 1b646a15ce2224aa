"""What a count of references tells on the Python that runs, and the refusal of one that counts otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import language
from language.runtime import reference_counts

ROOT = Path(__file__).resolve().parent.parent.parent
#: A stand-in for an interpreter whose counts say nothing of who else holds a value.
BLIND = "import sys; sys.getrefcount = lambda value: 3\n"
FREE = "import sys; sys.abiflags = 't'\n"
COMMAND = "from language.cli.main import main; sys.exit(main(sys.argv[1:]))"


def test_counts_agree_before_and_after_python_specialises_its_functions() -> None:
    """Far more rounds than any version waits before it specialises or compiles a function."""
    assert {reference_counts.disagreement() for _ in range(3_000)} == {None}


def test_a_sum_of_two_counts_that_borrow_is_never_the_one_of_a_single_holder() -> None:
    """Where an argument is borrowed, both counts are the number of other holders; a sum of equal numbers is even."""
    value: list[object] = []
    holders: list[object] = []
    for _ in range(12):
        assert reference_counts._parameter(value) != reference_counts.ALONE
        assert reference_counts._copied_parameter(value) != reference_counts.ALONE
        holders.append(value)


@pytest.mark.parametrize(("abiflags", "gil"), [("t", False), ("t", True), ("td", True), ("", False)])
def test_a_free_threaded_build_is_refused_in_one_line(abiflags: str, gil: bool) -> None:
    message = reference_counts.refusal(abiflags, gil, None)
    assert message is not None
    assert message.startswith("free-threaded builds of Python are not supported") and "\n" not in message


def test_the_running_python_is_not_refused() -> None:
    assert reference_counts.refusal("", True, None) is None


@pytest.mark.parametrize(
    ("python", "told"), [(BLIND, "counts like one that has a single holder"), (FREE, "free-threaded builds of Python")]
)
def test_the_command_ends_with_one_line_on_such_a_python(python: str, told: str, tmp_path: Path) -> None:
    program = tmp_path / "hello.lang"
    program.write_text('print("hello")\n', encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", python + COMMAND, "run", str(program)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1 and ran.stderr.startswith("lang: ") and told in ran.stderr


def test_an_embedder_gets_an_error_of_its_own() -> None:
    script = (
        "import language\ntry:\n    language.run('print(1)')\nexcept ImportError as error:\n    print(type(error).__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", BLIND + script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == "UnsupportedPython\n"


MANY_LOCALS = "\n".join(f"    let v{n} be {n}" for n in range(80))


@pytest.mark.parametrize(
    "program",
    [
        "let xs be []\ntask add(x)\n    set xs to append(xs, x)\neach i in range(N)\n    add(i)\nprint(length(xs))",
        f"task f(xs)\n{MANY_LOCALS}\n    each i in range(N)\n        set xs to append(xs, i)\n        last(xs)\n    give xs\n"
        "task last(xs)\n    give xs[-1]\nprint(length(f([])))",
        f"task f(m)\n{MANY_LOCALS}\n    each i in range(N)\n        set m.a.b to append(m.a.b, i)\n    give m.a.b\n"
        'print(length(f({"a": {"b": []}})))',
        "task f(xs)\n    let ys be xs\n    each i in range(N)\n        set ys to append(ys, i)\n        g(ys)\n    give ys\n"
        "task g(xs)\n    give xs[-1]\nprint(length(f([])))",
    ],
    ids=["captured", "many-locals", "inner-with-many-locals", "copied-parameter"],
)
def test_growing_stays_in_place(program: str) -> None:
    """Ten times as many items take about ten times as long: nothing is copied on every write."""
    from time import process_time

    def seconds(count: int) -> float:
        began = process_time()
        answer = language.run(program.replace("N", str(count)))
        assert answer["output"] == [str(count)], answer
        return process_time() - began

    seconds(10)
    few, many = min(seconds(4_000) for _ in range(3)), min(seconds(40_000) for _ in range(3))
    assert many < 45 * few
