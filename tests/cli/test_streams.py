"""Bytes, pipes and signals: what arrives outside whatever the locale says and whoever stops reading (6.2, 6.3)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_process import SECONDS, Lang, write

UNICODE = 'print("é€😀")\nlog "é€😀"\n'


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]):  # type: ignore[no-untyped-def]
    """Starts ``lang`` without waiting for its end."""

    def popen(*words: str, source: str = "", **options: object) -> subprocess.Popen[bytes]:
        write(tmp_path, {"p.lang": source})
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        command = [sys.executable, "-m", "language", *words]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes)  # type: ignore[call-overload,no-any-return]

    return popen


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii:strict"},
    ],
    ids=str,
)
def test_utf8_whatever_the_locale(lang: Lang, env: dict[str, str]) -> None:
    files: dict[str, str | bytes] = {"u.lang": UNICODE, "raise.lang": 'raise "é€😀"\n'}
    result = lang("u.lang", env=env, files=files)
    assert (result.out, result.err, result.code) == ("é€😀\n", "[LOG] é€😀\n", 0)
    assert lang("raise.lang", env=env).told == ["Runtime error: raise.lang:1:1: é€😀"]
    assert lang("-", "ä€😀", stdin="print(args())", env=env).out == '["ä€😀"]\n'
    assert lang("--test", "-", stdin='test "é"\n    assert(false, "€")\n', env=env).out.startswith("✗ é: <stdin>:2:11: €\n")


def test_words_of_the_command_line_that_are_not_utf8(tmp_path: Path, environment: dict[str, str]) -> None:
    program = os.fsencode(tmp_path) + b"/\xff.lang"
    with open(program, "wb") as file:
        file.write(b"print(args())\nraise 1\n")
    command = [os.fsencode(sys.executable), b"-m", b"language", program, b"\xe9\xff"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS, check=False)
    assert done.stdout.decode() == '["\ufffd\ufffd"]\n'
    assert done.stderr.decode().splitlines()[0] == f"Runtime error: {tmp_path}/\ufffd.lang:2:1: 1"
    done = subprocess.run(
        [*command[:3], b"run", b"\xff\xfe"], env=environment, capture_output=True, timeout=SECONDS, check=False
    )
    assert done.stderr.decode() == "lang run: cannot read '\ufffd\ufffd': No such file or directory\n"


def test_each_line_is_flushed(start) -> None:  # type: ignore[no-untyped-def]
    process = start("run", "p.lang", source='print("ready")\nprint(read_line())\nlog "end"\n', stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.stdin.write(b"go\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"go\n"
    assert process.stderr.readline() == b"[LOG] end\n"
    process.stdin.close()
    assert process.wait(SECONDS) == 0


def test_output_before_an_error_stays_in_order(lang: Lang) -> None:
    result = lang("-", stdin='each i in range(100)\n    print(i)\nraise "end"\n')
    assert result.lines == [str(i) for i in range(100)]
    assert (result.told, result.code) == (["Runtime error: <stdin>:3:1: end"], 1)


@pytest.mark.parametrize(
    "words",
    [["run", "p.lang"], ["p.lang"], ["test", "-v", "p.lang"]],
    ids=" ".join,
)
def test_a_reader_that_goes_away(start, words: list[str]) -> None:  # type: ignore[no-untyped-def]
    source = 'test "t"\n    print("x")\nlet i be 0\nwhile i < 1000000\n    print("line " + i)\n    set i to i + 1\n'
    process = start(*words, source=source)
    assert process.stdout.readline()
    process.stdout.close()
    error = process.stderr.read()
    assert (process.wait(SECONDS), error) == (141, b"")


@pytest.mark.parametrize(
    "words",
    [["docs"], ["--version"], ["help"], ["fmt", "-"], ["deploy", "--help"], ["help", "deploy"], ["platform", "--help"]],
    ids=" ".join,
)
def test_a_reader_that_was_never_there(start, words: list[str]) -> None:  # type: ignore[no-untyped-def]
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*words, stdin=subprocess.PIPE, stdout=writing)
    os.close(writing)
    _, error = process.communicate(b"print(1)\n", SECONDS)
    assert (process.returncode, error) == (141, b"")


def test_a_program_cannot_catch_the_end_of_its_reader(start) -> None:  # type: ignore[no-untyped-def]
    source = 'let i be 0\nwhile i < 1000000\n    try\n        print("x")\n    recover e\n        log e\n    set i to i + 1\n'
    process = start("run", "p.lang", source=source)
    assert process.stdout.readline() == b"x\n"
    process.stdout.close()
    error = process.stderr.read()
    assert (process.wait(SECONDS), error) == (141, b"")


def test_an_error_stream_without_a_reader_stops_nothing(start) -> None:  # type: ignore[no-untyped-def]
    reading, writing = os.pipe()
    os.close(reading)
    process = start("run", "p.lang", source='log "x"\neprint("y")\nprint("z")\nraise "w"\n', stderr=writing)
    os.close(writing)
    out, _ = process.communicate(timeout=SECONDS)
    assert (out, process.returncode) == (b"z\n", 1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device that is always full")
def test_output_that_cannot_be_written_is_said(start) -> None:  # type: ignore[no-untyped-def]
    for words in (["run", "p.lang"], ["test", "-v", "p.lang"], ["docs"], ["deploy", "--help"], ["platform", "--help"]):
        with open("/dev/full", "wb") as full:
            process = start(*words, source='print("x")\n', stdout=full)
        _, error = process.communicate(timeout=SECONDS)
        assert error == b"lang: cannot write to standard output: No space left on device\n", words
        assert process.returncode == 1


def test_a_pipe_that_somebody_made_non_blocking(start) -> None:  # type: ignore[no-untyped-def]
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = start("run", "p.lang", source='each i in range(3000)\n    print("' + "x" * 100 + '")\n', stdout=writing)
    os.close(writing)
    time.sleep(0.5)  # the pipe is full by now
    with open(reading, "rb") as pipe:
        out = pipe.read()
    assert process.wait(SECONDS) == 0
    assert process.stderr.read() == b""
    assert out == (b"x" * 100 + b"\n") * 3000


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_closed_standard_streams(tmp_path: Path, environment: dict[str, str], closed: str) -> None:
    """What the program prints must not land in the first file it opens; nor may anything crash."""
    write(tmp_path, {"p.lang": 'log "x"\nprint("y")\nprint(read_line())\n'})
    redirections = " ".join(f"{descriptor}>&-" for descriptor in closed.split())
    command = f'"{sys.executable}" -m language run p.lang {redirections}'
    done = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == (b"" if "1" in closed else b"y\nnothing\n")
    assert done.stderr == (b"" if "2" in closed else b"[LOG] x\n")


LOOPS = {
    "loop": 'print("ready")\nlet i be 0\nwhile true\n    set i to i + 1\n',
    "sleep": 'require time\nprint("ready")\nsleep(60)\n',
    "read": 'print("ready")\nread_line()\n',
    "recover": 'print("ready")\nlet i be 0\nwhile true\n    try\n        each n in range(100000)\n            set i to i + n\n'
    '    recover e\n        print("caught")\n',
    "test": 'print("x")\ntest "t"\n    log "ready"\n    while true\n        let i be 1\n',
}


@pytest.mark.parametrize("kind", LOOPS)
def test_control_c(start, kind: str) -> None:  # type: ignore[no-untyped-def]
    words = ["test", "p.lang"] if kind == "test" else ["run", "p.lang"]
    process = start(*words, source=LOOPS[kind], stdin=subprocess.PIPE)
    stream = process.stderr if kind == "test" else process.stdout
    assert stream.readline() in (b"ready\n", b"[LOG] ready\n")
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 130
    assert process.stdout.read() == b""
    assert process.stderr.read() == b""
    process.stdin.close()


def test_a_terminated_program_dies_of_the_signal(start) -> None:  # type: ignore[no-untyped-def]
    process = start("run", "p.lang", source=LOOPS["loop"])
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    assert process.wait(SECONDS) == -signal.SIGTERM


def test_nothing_of_the_host_language_shows(lang: Lang) -> None:
    programs = [
        "let x be nope",
        "1 / 0",
        "print(1",
        'raise {"a": 1}',
        "task f()\n    f()\nf()",
        "exit(1)",
        "[1][9]",
        "set y to 2",
    ]
    for program in programs:
        result = lang("-", stdin=program)
        assert result.code == 1
        assert "Traceback" not in result.err
        assert "python" not in result.err.lower()
        assert len(result.told) == (program != "exit(1)")


def test_a_defect_of_the_interpreter(tmp_path: Path, environment: dict[str, str]) -> None:
    """A broken installation stands for a defect: one line, exit code 70, the traceback only for who asks."""
    broken = "import sys; sys.modules['language.cache'] = None; from language.cli.main import main; sys.exit(main(['-']))"
    for debug in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-c", broken], cwd=tmp_path, env={**environment, "PLATFORM_DEBUG": debug}, input=b"print(1)\n",
            capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        first, *rest = done.stderr.decode().splitlines()
        assert first.startswith("lang: internal error: ModuleNotFoundError: ")
        assert bool(rest) == (debug == "1")
        assert (done.returncode, done.stdout) == (70, b"")
