"""The forms of the command, its exit codes and streams: the cases of 6.12, and the rules of 6.1 and 6.2."""

from __future__ import annotations

import pytest
from command_process import Lang

from language.cli.main import COMMANDS
from language.release import __version__

FILES: dict[str, str | bytes] = {
    "ok.lang": 'print("hi")\n',
    "bad.lang": 'print("a")\nraise "boom"\n',
    "syn.lang": "let x be\n",
    "io.lang": 'print("a")\nlog "b"\neprint("c")\nexit(3)\n',
    "t.lang": 'test "adds"\n    assert_eq(1 + 1, 2)\ntest "breaks"\n    assert_eq(1, 2)\n',
    "args.lang": "print(args())\n",
    "shop/main.lang": 'print("shop")\n',
    "shop/lib/prices.lang": "let tax be 19\n",
}
T_LINES = ["✓ adds", "✗ breaks: t.lang:4:14: expected 2, got 1", "1 passed, 1 failed (2 total)"]


@pytest.mark.parametrize(
    ("words", "out", "err", "code"),
    [
        ("ok.lang", ["hi"], [], 0),
        ("run ok.lang", ["hi"], [], 0),
        ("run bad.lang", ["a"], ["Runtime error: bad.lang:2:1: boom"], 1),
        ("--test t.lang", T_LINES, [], 1),
        ("test t.lang", T_LINES, [], 1),
        ("test ok.lang t.lang", ["ok.lang:", "t.lang:", *T_LINES], [], 1),
        ("run io.lang", ["a"], ["[LOG] b", "c"], 3),
        ("io.lang", ["a"], ["[LOG] b", "c"], 3),
        ("check ok.lang", ["OK: 1 statements parsed."], [], 0),
        ("--version", [f"lang {__version__}"], [], 0),
        ("run ok.lang -- --sandbox", ["hi"], [], 0),
    ],
)
def test_the_table(lang: Lang, words: str, out: list[str], err: list[str], code: int) -> None:
    result = lang(*words.split(), files=FILES)
    lines = [line for line in result.lines if not line.startswith("  ")]  # below a failed test stand its details
    assert (lines, result.told, result.code) == (out, err, code)


@pytest.mark.parametrize(
    ("words", "out", "err", "code"),
    [
        ("run syn.lang", "", "Parse error: syn.lang:", 1),
        ("syn.lang", "", "Parse error: syn.lang:", 1),
        ("--cap-set none ok.lang", "", "Runtime error: ok.lang:1:6: Capability not granted: stdout", 1),
        ("--cap-set time ok.lang", "", "Runtime error: ok.lang:1:6: Capability not granted: stdout", 1),
    ],
)
def test_the_errors_of_the_table(lang: Lang, words: str, out: str, err: str, code: int) -> None:
    result = lang(*words.split(), files=FILES)
    assert result.out == out
    assert result.code == code
    assert result.err.startswith(err)
    assert len(result.told) == 1


@pytest.mark.parametrize(
    ("words", "err"),
    [
        ("run missing.lang", "lang run: cannot read 'missing.lang': No such file or directory"),
        ("--sanbox ok.lang", "lang: unknown flag '--sanbox': did you mean '--sandbox'?"),
        ("run --sanbox ok.lang", "lang run: unknown flag '--sanbox': did you mean '--sandbox'?"),
        ("run ok.lang -x", "lang run: unknown flag '-x'"),
        ("--sandbox --cap-set stdout ok.lang", "lang: --sandbox and --cap-set are mutually exclusive; choose one"),
        ("run --cap-set --sandbox ok.lang", "lang run: --cap-set requires a value"),
        ("nonsense", "lang: unknown command or unreadable program 'nonsense'"),
        ("--sandbox nonsense", "lang: unknown command or unreadable program 'nonsense'"),
        ("chekc", "lang: unknown command or unreadable program 'chekc': did you mean 'check'?"),
        ("help chekc", "lang: there is no command 'chekc': did you mean 'check'?"),
        ("jobs --help", "lang: --help takes no further words here, got 'jobs'"),
        (".", "lang: unknown command or unreadable program '.'"),
        ("run .", "lang run: cannot read '.': it is a folder"),
        ("--sandbox", "lang: no program given"),
        ("run", "lang run: no program given"),
        ("run -- ok.lang", "lang run: no program given"),
        ("caps", "lang caps: no program given: lang caps FILE"),
        ("run shop", "lang run: cannot read 'shop': it is a folder: the program in it is `lang run shop/main.lang`"),
        ("serve shop", "lang serve: cannot read 'shop': it is a folder: the program in it is `lang serve shop/main.lang`"),
        ("run shop/lib", "lang run: cannot read 'shop/lib': it is a folder"),
        ("check ok.lang gone.lang", "lang check: cannot read 'gone.lang': No such file or directory"),
        ("fmt", "lang fmt: no file or folder given"),
        ("--format json ok.lang", "lang: unknown flag '--format'"),
        ("run --format xml ok.lang", "lang run: --format must be human or json, not 'xml'"),
        ("run --filename x.lang ok.lang", "lang run: --filename names a program from standard input ('-')"),
        ("repl ok.lang", "lang repl: takes no file, got 'ok.lang'"),
    ],
)
def test_wrong_calls(lang: Lang, words: str, err: str) -> None:
    result = lang(*words.split(), files=FILES)
    assert result.code == 2
    assert result.out == ""
    first, *rest = result.err.splitlines()
    assert first == err
    assert all(line.startswith("usage: lang") for line in rest)
    assert len(rest) <= 1
    if "unknown" in err:
        assert rest


def test_an_unknown_capability_names_the_known_ones(lang: Lang) -> None:
    for words in (["--cap-set", "stdout,bogus", "ok.lang"], ["run", "--cap-set=stdout,bogus", "ok.lang"]):
        result = lang(*words, files=FILES)
        assert result.code == 2
        assert result.out == ""
        assert "--cap-set: unknown capability 'bogus'. Known: net, file," in result.err


def test_no_words_at_all(lang: Lang) -> None:
    result = lang()
    assert (result.out, result.code) == ("", 2)
    assert result.err.startswith("usage: lang ")


@pytest.mark.parametrize("words", [["help"], ["--help"], ["-h"], ["ok.lang", "-h"], ["help", "version"], ["version", "--help"]])
def test_help(lang: Lang, words: list[str]) -> None:
    result = lang(*words, files=FILES)
    assert (result.err, result.code) == ("", 0)
    assert result.out.startswith("usage: lang ")
    assert "run a program" in result.out


@pytest.mark.parametrize("command", ["run", "test", "check", "repl", "fmt", "docs"])
def test_help_of_a_command(lang: Lang, command: str) -> None:
    result = lang(command, "--help")
    assert (result.err, result.code) == ("", 0)
    assert result.out.startswith(f"usage: lang {command}")
    assert lang("help", command).out == result.out


@pytest.mark.parametrize(
    "words",
    [
        ["version"],
        ["--version"],
        ["-V"],
        ["run", "-V"],
        ["ok.lang", "--version"],
        ["--version", "ok.lang"],
        ["-V", "-"],
    ],
)
def test_version(lang: Lang, words: list[str]) -> None:
    result = lang(*words, files=FILES)
    assert (result.out, result.err, result.code) == (f"lang {__version__}\n", "", 0)


@pytest.mark.parametrize("other", ["extra", "--bogus", "--test", "--sandbox", "--", "-x"])
@pytest.mark.parametrize("asked", ["--version", "-V", "version", "--help", "-h", "help"])
def test_nothing_is_passed_over_beside_help_and_version(lang: Lang, asked: str, other: str) -> None:
    lines = [[asked, other], [asked, other, "ok.lang"], [asked, "ok.lang", other]]
    if asked.startswith("-"):
        lines += [[other, asked], ["ok.lang", asked, other]]
    for words in lines:
        if other == "--" and words[0] == other:
            continue  # what follows is a program's name
        result = lang(*words, files=FILES)
        assert (result.out, result.code) == ("", 2), words
        assert f"'{other}'" in result.err or "'ok.lang'" in result.err, words
        assert "usage: lang" in result.err


@pytest.mark.parametrize("command", sorted(COMMANDS))
@pytest.mark.parametrize("asked", ["--help", "-h", "--version", "-V"])
def test_nothing_is_passed_over_beside_help_of_a_command(lang: Lang, asked: str, command: str) -> None:
    for words in ([command, asked, "extra"], [asked, command, "extra"], [command, "extra", asked], [command, asked, "--test"]):
        result = lang(*words)
        assert (result.out, result.code) == ("", 2), words
        assert ("'--test'" if "--test" in words else "'extra'") in result.err
        assert f"usage: lang {command}" in result.err


#: For each command a line with one word too many; ``None`` where every further word is a file, a name or the program's.
TOO_MANY = {
    "run": None,
    "serve": "serve ok.lang extra",
    "test": None,
    "check": None,
    "repl": "repl extra",
    "fmt": None,
    "docs": None,
    "caps": "caps ok.lang extra",
    "audit": None,
    "lsp": "lsp extra",
    "mcp": "mcp ok.lang extra",
    "memory": "memory check notes extra",
    "llm": "llm status extra",
    "conform": "conform --swarm ok.lang extra",
}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_command_passes_over_a_word(lang: Lang, command: str) -> None:
    unknown = lang(command, *(("verify",) if command == "audit" else ()), "--bogus", "ok.lang", files=FILES)
    assert (unknown.out, unknown.code) == ("", 2) and "unknown flag '--bogus'" in unknown.err
    line = TOO_MANY[command]
    if line is not None:
        result = lang(*line.split())
        assert (result.out, result.code) == ("", 2) and "'extra'" in result.err and f"usage: lang {command}" in result.err
        result = lang(*line.replace("extra", "-- extra").split())
        assert (result.out, result.code) == ("", 2) or command == "serve", "behind -- are the arguments of the program"


@pytest.mark.parametrize("line", ["test missing.lang", "fmt missing.lang", "fmt --check missing.lang"])
def test_every_file_named_must_be_there(lang: Lang, line: str) -> None:
    result = lang(*line.split(), "ok.lang", files=FILES)
    assert result.code == 2 and "cannot" in result.err and "missing.lang" in result.err


def test_words_behind_a_tested_program_are_its_arguments(lang: Lang) -> None:
    source = 'test "words"\n    assert_eq(args(), ["one", "-x"])\n'
    assert lang("--test", "t.lang", "one", "--", "-x", files={"t.lang": source}).code == 0


def test_a_version_flag_after_the_dashes_is_the_programs(lang: Lang) -> None:
    assert lang("run", "args.lang", "--", "--version", "--help", files=FILES).out == '["--version", "--help"]\n'


def test_program_arguments(lang: Lang) -> None:
    words = ("args.lang", "--sandbox", "one", "-", "zwei ü", "--", "-x", "--", "")
    wanted = '["one", "-", "zwei ü", "-x", "--", ""]\n'
    assert lang(*words, files=FILES).out == wanted
    assert lang("run", *words).out == wanted


@pytest.mark.parametrize("name", ["tokens", "openapi"])
def test_commands_that_are_not_there_yet(lang: Lang, name: str) -> None:
    result = lang(name, "x")
    assert (result.out, result.err, result.code) == ("", f"lang {name}: this version of lang does not have this command\n", 1)


def test_init_names_the_command_that_creates_a_program(lang: Lang) -> None:
    told = "lang init: this version of lang does not have this command: `lang new FOLDER` creates a folder with a program\n"
    assert (result := lang("init")).err == told and (result.out, result.code) == ("", 1)


def test_check_and_test_take_the_current_folder_where_no_path_is_given(lang: Lang) -> None:
    files: dict[str, str | bytes] = {"shop/main.lang": 'test "adds"\n    assert_eq(1 + 1, 2)\n', "ok.lang": 'print("ok")\n'}
    assert lang("check", files=files).out == "OK: 2 programs checked.\n"
    assert "adds" in (tested := lang("test")).out and "ok\n" not in tested.out and tested.code == 0


def test_a_file_named_like_a_command(lang: Lang) -> None:
    files: dict[str, str | bytes] = {"run": 'print("file")\n', "version": "print(1)\n"}
    assert lang("./run", files=files).out == "file\n"
    assert lang("run", "run").out == "file\n"
    assert lang("run", "version").out == "1\n"


def test_any_extension(lang: Lang) -> None:
    files: dict[str, str | bytes] = {"script": 'print("x")\n', "a b.txt": 'print("y")\n', "ä.lang": "raise 1\n"}
    assert lang("script", files=files).out == "x\n"
    assert lang("a b.txt").out == "y\n"
    assert lang("ä.lang").told == ["Runtime error: ä.lang:1:1: 1"]


def test_the_path_is_shown_as_given(lang: Lang) -> None:
    files: dict[str, str | bytes] = {"d/bad.lang": 'raise "boom"\n'}
    for path in ("d/bad.lang", "./d/bad.lang", "d/../d/bad.lang"):
        assert lang("run", path, files=files).told == [f"Runtime error: {path}:1:1: boom"]


def test_a_program_from_standard_input(lang: Lang) -> None:
    assert lang("-", stdin='print("x")').out == "x\n"
    assert lang("run", "-", stdin='print("x")').out == "x\n"
    assert lang("-", stdin='raise "boom"').told == ["Runtime error: <stdin>:1:1: boom"]
    assert lang("run", "--filename", "name.lang", "-", stdin='raise "boom"').told == ["Runtime error: name.lang:1:1: boom"]
    assert lang("-", stdin="print(read_line())\n").out == "nothing\n"
    assert lang("--test", "-", stdin='test "t"\n    assert(true)\n').lines == ["✓ t", "1 passed, 0 failed (1 total)"]


def test_standard_input_of_a_program_from_a_file(lang: Lang) -> None:
    program = "print(read_line())\nprint(read_line())\nprint(read_line())\nprint(read_line())\n"
    result = lang("run", "in.lang", files={"in.lang": program}, stdin=b"one\r\n\xff\nlast")
    assert result.lines == ["one", "\ufffd", "last", "nothing"]


def test_a_program_that_is_not_text(lang: Lang) -> None:
    files: dict[str, str | bytes] = {"latin.lang": 'print("é")'.encode("latin-1")}
    for words, prefix in (
        (["run"], "lang run"),
        ([], "lang"),
        (["check"], "lang check"),
        (["test"], "lang test"),
        (["fmt"], "lang fmt"),
    ):
        result = lang(*words, "latin.lang", files=files)
        assert (result.out, result.err, result.code) == ("", f"{prefix}: cannot read 'latin.lang': it is not UTF-8\n", 2)
    assert lang("-", stdin=b"\xff").err == "lang: cannot read '<stdin>': it is not UTF-8\n"


def test_byte_order_mark_and_carriage_returns(lang: Lang) -> None:
    result = lang("run", "dos.lang", files={"dos.lang": b'\xef\xbb\xbfwhen true\r\n    print("dos")\r\n'})
    assert (result.out, result.err, result.code) == ("dos\n", "", 0)


def test_an_empty_program(lang: Lang) -> None:
    result = lang("run", "empty.lang", files={"empty.lang": ""})
    assert (result.out, result.err, result.code) == ("", "", 0)


@pytest.mark.parametrize("code", [0, 1, 2, 70, 255])
def test_exit_codes_of_the_program(lang: Lang, code: int) -> None:
    assert lang("-", stdin=f'print("x")\nexit({code})\nprint("never")').code == code


def test_exit_is_not_caught(lang: Lang) -> None:
    result = lang("-", stdin='try\n    exit(4)\nrecover e\n    print("caught")\n')
    assert (result.out, result.code) == ("", 4)


def test_test_blocks_are_skipped_by_run(lang: Lang) -> None:
    assert lang("t.lang", files=FILES).out == ""
    assert lang("t.lang").code == 0


def test_give_and_stop_outside(lang: Lang) -> None:
    for word in ("give 1", "stop"):
        result = lang("-", stdin=word)
        assert result.told == ["Runtime error: <stdin>:1:1: 'give'/'stop' used outside of a task or loop"] and result.code == 1


def test_flags_of_later_versions_are_named(lang: Lang) -> None:
    result = lang("run", "--profile", "x", "ok.lang", files=FILES)
    assert (result.out, result.code) == ("", 2)
    assert result.err == "lang run: this version of lang does not have the flag '--profile'\n"
