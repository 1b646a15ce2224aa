"""``lang repl``: a session over a pipe and on a terminal (6.8)."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_process import ROOT, SECONDS, Lang, Result, write

from language.cli.repl_terminal import candidates, history_file


def said(result: Result) -> list[str]:
    """The output lines without the prompts before them."""
    return [line for piece in result.out.split("\n") if (line := piece.lstrip(">| "))]


def test_prompts_values_and_blocks(lang: Lang) -> None:
    result = lang("repl", stdin='let x be 20\nx * 2 + 2\ntask double(n)\n    give n * 2\n\ndouble(x)\n"text"\nnothing\nexit\n')
    assert result.out == "> > 42\n> | | > 40\n> text\n> > "
    assert (result.err, result.code) == ("", 0)


def test_help(lang: Lang) -> None:
    result = lang("repl", stdin="help\nhelp split when\nhelp nonsense\nlet help be 5\nhelp + 1\nhelp\nexit\n")
    assert "help NAME" in result.out
    assert "split(t, sep)" in result.out
    assert "`otherwise`" in result.out
    assert "nonsense" in result.err
    assert said(result)[-2:] == ["6", "5"]
    assert result.code == 0


def test_names_and_fields_are_completed() -> None:
    values = {"user": {"name": "Ada", "names": [], "home": {"city": "Lima"}, "not a name": 1}, "use_it": 1}
    builtins = ("upper", "url_encode")
    assert candidates("us", values, builtins) == ["use_it", "user"]
    assert candidates("ur", values, builtins) == ["url_encode"]
    assert candidates("wh", values, builtins) == ["when", "while"]
    assert candidates("user.", values, builtins) == ["user.home", "user.name", "user.names"]
    assert candidates("user.na", values, builtins) == ["user.name", "user.names"]
    assert candidates("user.home.c", values, builtins) == ["user.home.city"]
    for nothing in ("", "user.name.x", "nobody.x", "use_it.x", "user..", ".x", "5.x", "user.home.city."):
        assert candidates(nothing, values, builtins) == []


def test_where_the_history_is_kept() -> None:
    assert history_file({"HOME": "/ada"}) == "/ada/.local/state/lang/history"
    assert history_file({"HOME": "/ada", "XDG_STATE_HOME": "/state"}) == "/state/lang/history"
    assert history_file({"XDG_STATE_HOME": "relative"}) is None
    assert history_file({}) is None


def test_the_end_of_input_leaves(lang: Lang) -> None:
    result = lang("repl", stdin="1 + 1")
    assert (said(result), result.err, result.code) == (["2"], "", 0)
    assert lang("repl", stdin="").code == 0
    assert lang("repl", stdin="\n\n").code == 0


def test_exit_with_a_code(lang: Lang) -> None:
    assert lang("repl", stdin="exit(3)\n1\n").code == 3
    assert said(lang("repl", stdin="  exit  \n1\n")) == []


def test_errors_do_not_end_the_session(lang: Lang) -> None:
    result = lang("repl", stdin='let x be 5\nnope\nlet y be\nprint("a\n1 / 0\nraise "boom"\nx\n')
    assert said(result) == ["5"]
    lines = result.err.splitlines()
    assert lines[0] == "Runtime error: <repl>:1:1: Undefined variable: 'nope'"
    assert lines[1].startswith("Parse error: <repl>:1:")
    assert lines[2].startswith("Lexer error: <repl>:1:")
    assert lines[3] == "Runtime error: <repl>:1:3: Division by zero"
    assert lines[4] == "Runtime error: <repl>:1:1: boom"
    assert result.code == 0


def test_definitions_last(lang: Lang) -> None:
    source = (
        "let n be 1\ntask bump()\n    set n to n + 1\n    give n\n\nbump()\nbump()\nn\n"
        "let n be 10\nbump()\nset n to 20\nbump()\n"
        "type P\n    a: number\n\nP(1).a\nlet f be (v) => v + n\nlet n be 1\nf(1)\n"
        "let xs be [1]\nset xs[0] to 9\nxs\nlet length be 5\nlength\n"
    )
    result = lang("repl", stdin=source)
    assert (said(result), result.err) == (["2", "3", "3", "11", "21", "1", "2", "[9]", "5"], "")


def test_names_defined_later_are_found(lang: Lang) -> None:
    result = lang("repl", stdin="task even(n)\n    when n == 0\n        give true\n    give odd(n - 1)\n\n"
                  "task odd(n)\n    when n == 0\n        give false\n    give even(n - 1)\n\neven(10)\neven(7)\n")  # fmt: skip
    assert (said(result), result.err) == (["true", "false"], "")


def test_what_an_input_defined_before_it_failed_stays(lang: Lang) -> None:
    result = lang("repl", stdin="when true\n    let a be 1\n    let b be 1 / 0\n\na\nb\n")
    assert said(result) == ["1"]
    assert "Undefined variable: 'b'" in result.err


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("when false\n    1\notherwise\n    2\n\n3\n", ["3"]),
        ("let x be when true\n    7\n\nx\n", ["7"]),
        ("sandbox\n    print(1)\n\n2\n", ["1", "2"]),
        ("try\n    raise 1\nrecover e\n    print(e)\n\n2\n", ["1", "2"]),
        ("[1,\n2,\n3]\n4\n", ["[1, 2, 3]", "4"]),
        ('print(\n"a"\n)\n', ["a"]),
        ("print(`a\n\nb`)\n", ["a", "b"]),
        ("each i in range(2)\n    print(i)\n\n5\n", ["0", "1", "5"]),
        ("-- comment\n1\n", ["1"]),
        ("match 1\n    is 1\n        print(8)\n\n", ["8"]),
    ],
)
def test_inputs_of_several_lines(lang: Lang, source: str, output: list[str]) -> None:
    result = lang("repl", stdin=source)
    assert (said(result), result.err) == (output, "")


def test_an_empty_line_ends_what_is_not_closed(lang: Lang) -> None:
    result = lang("repl", stdin="[1,\n\n2\n")
    assert said(result) == ["2"]
    assert result.err.startswith("Parse error: <repl>:")


def test_only_expressions_are_shown(lang: Lang) -> None:
    result = lang("repl", stdin='let x be 1\nset x to 2\ntask f()\n    1\n\nprint("p")\nuse "./m.lang" as m\nm.y\n',
                  files={"m.lang": "export let y be 3\n"})  # fmt: skip
    assert (said(result), result.err) == (["p", "3"], "")


def test_an_agent_is_started_by_later_inputs_and_by_other_agents(lang: Lang) -> None:
    defined = 'let n be 3\nagent First\n    give "first " + text(n)\n\nspawn First\nagent_wait("First_0").result\n'
    again = 'let n be 4\nagent Second\n    spawn First\n    give agent_wait("First_2").result\n\nspawn Second\n'
    result = lang("repl", stdin=defined + again + 'agent_wait("Second_1").result\nspawn Third\nexit\n')
    assert said(result) == ["first 3", "first 4"]
    assert "No agent defined with name 'Third'" in result.err


def test_modules_are_loaded_once(lang: Lang) -> None:
    module = 'print("loaded")\nexport let y be 3\n'
    result = lang("repl", stdin='use "./m.lang" as m\nuse "./m.lang" as n\nset m.y to 4\nn.y\n', files={"m.lang": module})
    assert (said(result), result.err) == (["loaded", "4"], "")


def test_grants_and_the_ceiling(lang: Lang) -> None:
    source = 'random_int(1, 1)\nrequire random\nrandom_int(1, 1)\nenv("K", "no")\nrequire env("K")\nenv("K")\n'
    result = lang("repl", stdin=source, files={".env": "K=v\n"})
    assert said(result) == ["1", "v"]
    assert result.err.count("Capability not granted") == 2
    result = lang("repl", "--cap-set", "stdout", stdin=source)
    assert said(result) == []
    assert result.err.count("Capability not granted") == 4
    assert lang("repl", "--sandbox", "--cap-set", "stdout").code == 2


def test_a_program_reads_the_lines_that_follow(lang: Lang) -> None:
    assert said(lang("repl", stdin="let l be read_line()\nhello\nl\n")) == ["hello"]


def test_log_goes_to_the_error_stream(lang: Lang) -> None:
    result = lang("repl", stdin='log "x"\neprint("y")\n')
    assert (said(result), result.err) == ([], "[LOG] x\ny\n")


Talk = Callable[[str, str], str]


def test_a_terminal(tmp_path: Path, environment: dict[str, str]) -> None:
    write(tmp_path, {})
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "language", "repl"],
        cwd=tmp_path, env={**environment, "TERM": "dumb", "XDG_STATE_HOME": str(tmp_path)},
        stdin=side, stdout=side, stderr=side, start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(side)

    def talk(words: bytes, until: str) -> str:
        os.write(terminal, words)
        heard = b""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    heard += os.read(terminal, 4096)
                except OSError:
                    break
                if until and heard.decode("utf-8", "replace").endswith(until):
                    break
        return heard.decode("utf-8", "replace")

    assert talk(b"", "> ").endswith("> ")
    assert "é3" in talk('"é" + 3\n'.encode(), "\n> ")
    talk(b"let i be 0\n", "> ")
    talk(b"while true\n", "| ")
    talk(b"    set i to i + 1\n", "| ")
    os.write(terminal, b"\n")
    time.sleep(0.5)
    assert "Traceback" not in talk(b"\x03", "> ")
    assert "true" in talk(b"i > 0\n", "\n> ")
    talk(b"\x04", "")
    assert process.wait(SECONDS) == 0
    os.close(terminal)


def test_the_lines_of_a_session_are_there_in_the_next(tmp_path: Path) -> None:
    environment = {**os.environ, "TERM": "dumb", "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)}

    def session(steps: list[tuple[bytes, str]]) -> str:
        terminal, side = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "language", "repl"], cwd=tmp_path, env=environment, stdin=side, stdout=side, stderr=side
        )
        os.close(side)
        heard = ""
        deadline = time.monotonic() + SECONDS
        for words, until in [(b"", "> "), *steps]:
            os.write(terminal, words)
            now = ""
            while until not in now and time.monotonic() < deadline:
                if select.select([terminal], [], [], 0.1)[0]:
                    try:
                        now += os.read(terminal, 4096).decode("utf-8", "replace")
                    except OSError:  # the session has ended
                        break
            heard += now
        assert process.wait(SECONDS) == 0
        os.close(terminal)
        return heard

    session([(b'let colour be {"red": 40 + 2}\n', "\n> "), (b"colour.r\t\n", "42"), (b"exit\n", "\x00")])
    place = tmp_path / "state" / "lang" / "history"
    assert 'let colour be {"red": 40 + 2}' in place.read_text(encoding="utf-8")
    assert "colour.red" in place.read_text(encoding="utf-8")
    assert place.stat().st_mode & 0o777 == 0o600
    previous = b"\x10" * 3
    assert "colour" in session([(previous + b"\n", "\n> "), (b"colour.red + 1\n", "43"), (b"exit\n", "\x00")])
