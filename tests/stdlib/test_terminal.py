"""The terminal builtins: on a pseudo terminal, and where there is none."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import language
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.host.terminal import key_length, key_name
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import FALSE, TRUE
from stdlib.terminal import term_clear, term_cursor, term_key, term_move, term_size, term_style

ROOT = str(Path(language.__file__).parents[1])
LONG = 60


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


class Person:
    """Sits at a pseudo terminal at which a program runs."""

    def __init__(self, folder, source, **variables):
        (folder / "p.lang").write_text(source, encoding="utf-8")
        self._end, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 90, 0, 0))
        self._inside = inside
        self.before = termios.tcgetattr(inside)
        self._seen = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "language.cli.main", "run", "p.lang"],
            env={**os.environ, "PYTHONPATH": ROOT, "HOME": str(folder), "TERM": "xterm", "NO_COLOR": "", **variables},
            cwd=folder,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )

    def sees(self, text):
        """Waits for a text, and throws away what stands before it. Returns that."""
        wanted = text.encode()
        end = time.monotonic() + LONG
        while wanted not in self._seen:
            assert time.monotonic() < end, self._seen
            if select.select([self._end], [], [], 0.1)[0]:
                self._seen += os.read(self._end, 4096)
        before, _, self._seen = self._seen.partition(wanted)
        return before.decode()

    def types(self, data):
        os.write(self._end, data)

    def presses(self, data):
        """Once the terminal shows no more what is typed: the program waits for a key."""
        end = time.monotonic() + LONG
        while termios.tcgetattr(self._inside)[3] & termios.ICANON:
            assert time.monotonic() < end
            time.sleep(0.01)
        os.write(self._end, data)

    def leaves(self):
        """Waits for the end of the program. Returns its exit code; the terminal is as it was."""
        try:
            code = self.process.wait(LONG)
            assert termios.tcgetattr(self._inside) == self.before
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self._end)
            os.close(self._inside)
        return code


def test_a_program_at_a_terminal(tmp_path):
    person = Person(
        tmp_path,
        "print(term_size())\n"
        'print(term_style("red", {"color": "red", "bold": true}) + "|")\n'
        'print(term_style("rgb", {"background": [1, 2, 3]}) + "|")\n'
        'term_cursor(false)\nterm_move(3, 2)\nterm_clear("line")\nterm_clear()\nprint("|")\n'
        "let pressed be []\n"
        'while length(pressed) == 0 or pressed[-1] != "q"\n'
        "    let key be term_key(60)\n"
        '    print("key " + key + ".")\n'
        "    set pressed to append(pressed, key)\n"
        'print("name? ", read_line())\n'
        "print(term_key(0))\n",
    )
    person.sees("{columns: 90, rows: 24}")
    assert person.sees("|").endswith("\x1b[1;31mred\x1b[0m")
    assert person.sees("|").endswith("\x1b[48;2;1;2;3mrgb\x1b[0m")
    assert person.sees("|").endswith("\x1b[?25l\x1b[2;3H\r\x1b[2K\x1b[2J\x1b[H")
    for data, name in (
        (b"a", "a"),
        ("é".encode(), "é"),
        (b"\x1b[A", "up"),
        (b"\x1b[1;5C", "ctrl+right"),
        (b"\x1bOP", "f1"),
        (b"\x1b[3~", "delete"),
        (b"\x01", "ctrl+a"),
        (b"\x1bx", "alt+x"),
        (b"\x1b", "escape"),
        (b"\r", "enter"),
        (b"q", "q"),
    ):
        person.presses(data)
        # What is pressed is not shown.
        assert person.sees(f"key {name}.") in ("", "\r\n")
    person.types(b"Ann\r")
    person.sees("name?  Ann")
    person.sees("nothing")
    person.sees("\x1b[?25h")
    assert person.leaves() == 0


def test_what_is_typed_between_two_keys_is_not_shown_until_a_line_is_read(tmp_path):
    person = Person(
        tmp_path,
        'require file.read("go")\nprint("first " + term_key(60))\n'
        'while not file_exists("go")\n    sleep(0.01)\nprint("second " + term_key(60))\nprint("name?")\n'
        'print("is " + read_line())\nprint("third " + term_key(60))\n',
    )
    person.presses(b"a")
    person.sees("first a")
    person.types(b"x")
    (tmp_path / "go").touch()
    assert person.sees("second x") == "\r\n"
    person.sees("name?")
    person.types(b"Ann\r")
    person.sees("is Ann")
    person.presses(b"z")
    assert person.sees("third z") == "\r\n"
    assert person.leaves() == 0


@pytest.mark.parametrize(
    ("source", "sent", "code"),
    [
        ('print("waiting")\nterm_key(600)\n', 2, 130),
        ('term_key(0)\nprint("waiting")\nsleep(600)\n', 2, 130),
        ('term_key(0)\nprint("waiting")\nsleep(600)\n', 15, -15),
        ('term_key(0)\nprint("waiting")\nraise("enough")\n', 0, 1),
    ],
)
def test_however_a_program_ends_the_terminal_is_as_it_was(tmp_path, source, sent, code):
    person = Person(tmp_path, source)
    person.sees("waiting")
    person.process.send_signal(sent)
    assert person.leaves() == code


def test_no_colours_where_they_are_not_wanted(tmp_path):
    person = Person(tmp_path, 'print(term_style("plain", {"color": "red"}) + "|", term_clear())\n', NO_COLOR="1", TERM="dumb")
    assert person.sees("|") == "plain"
    person.sees("true")
    assert person.leaves() == 0


def test_without_a_terminal(tmp_path):
    (tmp_path / "p.lang").write_text('print(term_size(), term_clear(), term_style("x", {"bold": true}))\nterm_key(1)\n')
    done = subprocess.run(
        [sys.executable, "-m", "language.cli.main", "run", "p.lang"],
        env={**os.environ, "PYTHONPATH": ROOT, "HOME": str(tmp_path)},
        cwd=tmp_path,
        input="q",
        capture_output=True,
        text=True,
        timeout=LONG,
    )
    assert done.stdout == "nothing true x\n"
    assert "term_key: standard input is no terminal" in done.stderr


def test_names_and_lengths_of_keys():
    for data, name in (
        (b"\x1b[1;2A", "shift+up"),
        (b"\x1b[1;8D", "shift+alt+ctrl+left"),
        (b"\x1b[15;3~", "alt+f5"),
        (b"\x1b[99~", "unknown"),
        (b"\x1b[1;x@", "unknown"),
        (b"\x1b\x1b", "alt+escape"),
        (b"\x1d", "ctrl+]"),
        (b"\xff", "\ufffd"),
    ):
        assert key_name(data) == name
    assert [key_length(data) for data in (b"", b"\x1b", b"\x1b[", b"\x1b[1;5", b"\xc3", b"ab", b"\x1b[A\x1b")] == [
        0,
        0,
        0,
        0,
        0,
        1,
        3,
    ]
    # A sequence that never ends does not make the program wait for ever.
    assert 0 < key_length(b"\x1b[" + b"1" * 100) < 100


def test_arguments_that_are_none():
    ctx = Context(NativeHost(), collect=True)
    for column, row in ((0, 1), (1, 10_000), ("1", 1), (1.5, 1)):
        assert "integers from 1 to 9999" in error_of(term_move, ctx, column, row)
    assert "one of screen, line, below" in error_of(term_clear, ctx, "all")
    assert "expects true or false" in error_of(term_cursor, ctx, 1)
    assert 'option "color" must be one of' in error_of(term_style, ctx, "x", {"color": "\x1b[31m"})
    assert 'option "background" must be one of' in error_of(term_style, ctx, "x", {"background": [1, 2, 256]})
    assert 'option "bold" must be true or false' in error_of(term_style, ctx, "x", {"bold": "1"})
    assert term_cursor(ctx, FALSE) is TRUE and term_cursor(ctx, TRUE) is TRUE and term_size is not None
    other = Context(EmbeddedHost(), collect=True)
    assert error_of(term_key, other).startswith("term_key: not available in the wasm profile")
