"""Gates at a real terminal, and ``--gates``."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

PROGRAM = """let ok be approve "Delete everything?"
print(ok)
let sure be confirm "Sure?"
print(sure)
let target be ask "Which env?" with ["staging", "prod"]
print(target)
print("[" + (ask "Your name?" within 5m) + "]")
"""
#: What every question begins with: whatever the program did to the screen is undone.
PLAIN = "\x1b[0m\x0f\r\x1b[J"


class Person:
    """A pseudo-terminal at which a command runs. ``errors`` takes its error stream in place of the terminal."""

    def __init__(self, folder: Path, source: str, *flags: str, errors: Path | None = None, typed: str = "") -> None:
        path = folder / "gates.lang"
        path.write_text(source, encoding="utf-8")
        self._leader, follower = pty.openpty()
        os.write(self._leader, typed.encode())
        error_stream = follower if errors is None else os.open(errors, os.O_WRONLY | os.O_CREAT)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "language", "run", *flags, str(path)],
            stdin=follower,
            stdout=follower,
            stderr=error_stream,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        for descriptor in {follower, error_stream}:
            os.close(descriptor)
        self._seen = b""

    @property
    def reads_keys(self) -> bool:
        """Whether the terminal hands over each key, in place of whole lines that are shown while they are typed."""
        return termios.tcgetattr(self._leader)[3] & (termios.ICANON | termios.ECHO) != termios.ICANON | termios.ECHO

    @property
    def seen(self) -> str:
        return self._seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def sees(self, text: str, after: int = 0, seconds: float = 60) -> int:
        """Waits until ``text`` is on the screen, behind the first ``after`` characters; where it ends."""
        until = time.monotonic() + seconds
        while text not in self.seen[after:]:
            assert self._read(until), f"{text!r} is not in {self.seen!r}"
        return self.seen.index(text, after) + len(text)

    def types(self, line: str) -> None:
        os.write(self._leader, line.encode())

    def ends(self) -> str:
        """What was seen by the end of the command."""
        until = time.monotonic() + 60
        while self._read(until):
            pass
        os.close(self._leader)
        assert self.process.wait(30) == 0
        return self.seen

    def pause(self, seconds: float) -> None:
        """Reads for a while."""
        until = time.monotonic() + seconds
        while self._read(until):
            pass

    def _read(self, until: float) -> bool:
        if not select.select([self._leader], [], [], max(0.0, until - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self._leader, 4096)
        except OSError:
            return False
        self._seen += data
        return bool(data)


def answered(folder: Path, *pairs: tuple[str, str]) -> str:
    """What a person sees who answers each question when it stands there."""
    person = Person(folder, PROGRAM)
    at = 0
    for question, answer in pairs:
        at = person.sees(question, at)
        person.types(answer)
    return person.ends()


def test_a_person_answers(tmp_path: Path) -> None:
    seen = answered(
        tmp_path,
        ("[approve] Delete everything? (y/n): ", "Y\n"),
        ("[confirm] Sure? (y/n): ", "maybe\n"),
        ("please answer 'y' or 'n'\n", ""),
        ("[confirm] Sure? (y/n): ", "no\n"),
        ("[ask] Which env? (staging / prod): ", "  prod \n"),
        ("[ask] Your name?: ", "Ana\n"),
    )
    assert [line for line in seen.splitlines() if line in ("true", "false", "prod", "[Ana]")] == [
        "true",
        "false",
        "prod",
        "[Ana]",
    ]


@pytest.mark.parametrize("word", ["s", "si", "sí", "yes", "YES"])
def test_words_for_yes(tmp_path: Path, word: str) -> None:
    person = Person(tmp_path, 'print(approve "Go?")')
    person.sees("(y/n): ")
    person.types(f"{word}\n")
    assert "\ntrue\n" in person.ends()


def test_end_of_input_is_a_no(tmp_path: Path) -> None:
    questions = ("[approve] ", "[confirm] ", "(staging / prod): ", "Your name?: ")
    seen = answered(tmp_path, *((question, "\x04") for question in questions))
    assert "true" not in seen and "staging\n" in seen and "[]" in seen


def test_what_was_typed_before_the_question_is_no_answer(tmp_path: Path) -> None:
    """Lines typed before the program began, and while it worked."""
    person = Person(tmp_path, 'print("at work")\nsleep(1)\nprint(approve "Delete everything?")', typed="y\ny\n")
    person.sees("at work")
    person.types("y\nyes\n")
    at = person.sees("[approve] Delete everything? (y/n): ")
    person.pause(1)
    assert person.process.poll() is None and "true" not in person.seen[at:]
    person.types("n\n")
    assert "\nfalse\n" in person.ends()


def test_what_was_typed_before_a_question_is_put_again_is_no_answer(tmp_path: Path) -> None:
    person = Person(tmp_path, 'print(approve "Delete everything?")')
    at = person.sees("(y/n): ")
    person.types("maybe\ny\n")
    at = person.sees("(y/n): ", at)
    person.pause(1)
    assert person.process.poll() is None
    person.types("n\n")
    assert "\nfalse\n" in person.ends()


def test_lines_that_the_program_reads_are_no_answers(tmp_path: Path) -> None:
    person = Person(tmp_path, 'print("got " + read_line("line: "))\nprint(approve "Delete everything?")')
    person.sees("line: ")
    person.types("first\ny\ny\n")
    person.sees("got first")
    person.sees("(y/n): ")
    person.pause(1)
    assert person.process.poll() is None
    person.types("n\n")
    assert "\nfalse\n" in person.ends()


@pytest.mark.parametrize("kind", ["approve", "confirm"])
def test_a_question_that_nobody_can_see_is_not_asked(tmp_path: Path, kind: str) -> None:
    errors = tmp_path / "errors"
    person = Person(tmp_path, f'print({kind} "Delete everything?")\nprint(ask "Env?" with ["staging", "prod"])', errors=errors)
    person.types("y\ny\ny\n")
    seen = person.ends()
    assert "\nfalse\nstaging\n" in seen and "(y/n)" not in seen
    assert "standard error is not a terminal" in errors.read_text() and "DENIED (fail-closed)" in errors.read_text()


@pytest.mark.parametrize(
    "hiding", ["\\u{1b}[8m", "\\u{1b}[30;40m", "\\u{1b}]10;#000\\u{7}\\u{1b}]11;#000\\u{7}", "\\u{1b}]0;title "]
)
def test_a_question_stands_on_a_plain_screen(tmp_path: Path, hiding: str) -> None:
    person = Person(tmp_path, f'print("{hiding}")\nprint(approve "Delete everything?")')
    person.sees(PLAIN + "[approve] Delete everything? (y/n): ")
    before = person.seen.partition("[approve]")[0]
    # An unfinished sequence is ended, then colours, palette, margins and attributes are as the person has them.
    assert before.endswith("\x18\x1b\\\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b[!p\x1b[?2026l" + PLAIN)
    person.types("n\n")
    person.ends()


def test_nothing_is_written_while_a_question_stands(tmp_path: Path) -> None:
    """A job prints all the time; what it wrote comes behind the answer, in its order."""
    source = """task noise()
    print("tick " + state_incr("ticks") + "\\u{1b}[2J")
    eprint("tock")
cron_every(0.05, noise)
sleep(0.5)
print(approve "Delete everything?")
"""
    person = Person(tmp_path, source)
    at = person.sees("(y/n): ")
    person.pause(1)
    assert person.seen[at:] == ""
    person.types("n\n")
    seen = person.ends()
    assert "tick" in seen[:at] and "tick" in seen[at:] and "tock" in seen[at:] and "\nfalse\n" in seen
    ticks = [int(line.split()[1].partition("\x1b")[0]) for line in seen.splitlines() if line.startswith("tick")]
    assert ticks == list(range(1, len(ticks) + 1)) and len(ticks) > 10


def test_two_questions_at_once_stand_there_one_after_the_other(tmp_path: Path) -> None:
    person = Person(tmp_path, 'print(parallel_map((name) => approve name, ["one?", "two?"]))')
    at = person.sees("(y/n): ")
    person.pause(0.5)
    assert person.seen.count("(y/n): ") == 1
    person.types("y\n")
    person.sees("(y/n): ", at)
    person.types("n\n")
    seen = person.ends()
    assert "[true, false]" in seen or "[false, true]" in seen


def test_an_answer_is_shown_behind_a_program_that_reads_keys(tmp_path: Path) -> None:
    person = Person(tmp_path, 'print("key " + term_key(60))\nprint(approve "Delete everything?")\nprint(term_key(60))')
    while not person.reads_keys:
        person.pause(0.1)
    person.types("a")
    person.sees("key a")
    at = person.sees("(y/n): ")
    assert not person.reads_keys
    person.types("y\x7fn\n")
    at = person.sees("false", at)
    assert "n\n" in person.seen
    while not person.reads_keys:
        person.pause(0.1)
    person.types("z")
    assert person.ends()[at:].split() == ["z"]


def test_nobody_takes_keys_of_an_answer(tmp_path: Path) -> None:
    """Of ``deny`` a job would leave the ``y``."""
    source = """task thief()
    while true
        state_set("taken", state_get("taken", "") + text(term_key(0.02)))
cron_after(0, thief)
while not contains(state_get("taken", ""), "a")
    sleep(0.01)
print(approve "Delete everything?")
print("taken " + replace(state_get("taken"), "nothing", "") + ".")
exit()
"""
    person = Person(tmp_path, source)
    while not person.reads_keys:
        person.pause(0.1)
    person.types("a")
    at = person.sees("(y/n): ")
    assert not person.reads_keys
    for _ in range(2):
        for letter in "deny":
            person.types(letter)
            person.pause(0.1)
        person.types("\n")
        at = person.sees("please answer 'y' or 'n'\n", at)
        at = person.sees("(y/n): ", at)
    person.types("n\n")
    assert person.ends()[at:].split() == ["n", "false", "taken", "a."]


def test_deny_asks_nobody(tmp_path: Path) -> None:
    person = Person(tmp_path, PROGRAM, "--gates", "deny")
    person.types("y\ny\nprod\nAna\n")
    seen = person.ends()
    assert "(y/n)" not in seen and "DENIED" in seen and "true" not in seen


def test_the_queue_waits_and_then_denies(tmp_path: Path) -> None:
    path = tmp_path / "one.lang"
    path.write_text('print(approve "Go?" within 1s)', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "language", "run", "--gates=queue", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "false\n" and done.returncode == 0
    assert "[lang] approval pending interact_1-" in done.stderr and "POST /approvals/interact_1-" in done.stderr


def test_an_unknown_way_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.lang"
    path.write_text("print(1)", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "language", "run", "--gates", "always", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "--gates must be auto or deny or queue" in done.stderr
