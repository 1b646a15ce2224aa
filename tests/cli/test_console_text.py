"""What the tool says quotes others: file names, errors, scopes. None of it acts on the terminal that shows it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_process import Lang, write

from language.console_text import one_line, visible
from tests.servers import free_port

#: Recolours, clears, reorders, ends the line for some terminals, begins a sequence in eight bits.
HOSTILE = "a\x1b[2J\r\u202eb\u2028c\x9b31m\x07\x7f"
ACTING = {character for character in HOSTILE if not character.isprintable()}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SHOWN = "a\\u{1b}[2J\\u{d}\\u{202e}b\\u{2028}c\\u{9b}31m\\u{7}\\u{7f}"


def literal(text: str) -> str:
    return '"' + "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text) + '"'


def test_an_uncaught_error(lang: Lang) -> None:
    result = lang("run", "p.lang", files={"p.lang": f"raise {literal(HOSTILE)}\n"})
    assert (result.told, result.code) == ([f"Runtime error: p.lang:1:1: {SHOWN}"], 1)
    assert not set(result.err) & ACTING


def test_an_uncaught_error_on_a_terminal(tmp_path: Path, environment: dict[str, str]) -> None:
    write(tmp_path, {"p.lang": f"raise {literal(HOSTILE)}\n"})
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "language", "run", "p.lang"],
        stdin=follower, stdout=follower, stderr=follower, cwd=tmp_path, env=environment,
    )  # fmt: skip
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(leader)
    assert process.wait(30) == 1
    lines = COLOUR.sub("", seen.decode()).split("\r\n")
    assert lines[0] == f"Runtime error: p.lang:1:1: {SHOWN}"
    assert not set("".join(lines)) & ACTING


def test_line_ends_tabs_and_unusual_letters_stay(lang: Lang) -> None:
    source = 'raise "one\\n\\ttwo é \\u{1f468}\\u{200d}\\u{1f469} \\u{a0}"\n'
    result = lang("run", "p.lang", files={"p.lang": source})
    assert result.err.startswith("Runtime error: p.lang:1:1: one\n\ttwo é \U0001f468\u200d\U0001f469 \u00a0\n")


@pytest.mark.parametrize("words", [["run"], ["check"], ["fmt"], ["test"], ["caps"]], ids=str)
def test_the_name_of_a_program_and_what_is_wrong_with_it(lang: Lang, words: list[str]) -> None:
    name = "x\x1b[31m.lang"
    result = lang(*words, name, files={name: "let x be\n"})
    assert result.code == 1
    assert "x\\u{1b}[31m.lang:1:" in result.out + result.err
    assert "\x1b" not in result.out + result.err


def test_a_file_that_is_not_there(lang: Lang) -> None:
    result = lang("run", f"no{HOSTILE}.lang")
    assert result.code == 2 and f"no{SHOWN}.lang" in result.err


def test_a_warning(lang: Lang) -> None:
    result = lang("run", "--env-file", "e\x1b[5m.env", "p.lang", files={"p.lang": "print(1)\n"})
    assert result.err == "lang: warning: cannot read the env file 'e\\u{1b}[5m.env': No such file or directory\n"


def test_a_scope_cannot_hide_in_the_manifest(lang: Lang) -> None:
    source = f"require exec({literal('rm' + HOSTILE)})\nprint(1)\n"
    result = lang("caps", "p.lang", files={"p.lang": source})
    assert f'exec("rm{SHOWN}")' in result.out
    assert not set("\x1b\r\u202e\x9b") & set(result.out)


def test_results_of_tests(lang: Lang) -> None:
    source = f"test {literal('name' + HOSTILE)}\n    raise {literal(HOSTILE)}\n"
    result = lang("test", "p.lang", files={"p.lang": source})
    assert result.lines[0] == f"✗ name{SHOWN}: p.lang:2:5: {SHOWN}"


def test_a_refused_usage(lang: Lang) -> None:
    result = lang("run", f"--no{HOSTILE}", "p.lang")
    assert result.code == 2 and SHOWN in result.err and "\x1b" not in result.err


def test_the_report_of_an_error(lang: Lang) -> None:
    result = lang("run", "--explain", "p.lang", files={"p.lang": f"let v be {literal(HOSTILE)}\nraise v\n"})
    assert SHOWN in result.err and not set("\x1b\r\u202e\x9b") & set(result.err)


def test_records_of_the_audit_are_the_same_in_visible_characters(lang: Lang) -> None:
    scope = "é\u202eb\u009b31m"
    source = f"try\n    env({literal(scope)})\nrecover\n    nothing\nprint(1)\n"
    result = lang("run", "--audit", "json", "p.lang", files={"p.lang": source})
    record, summary = result.err.splitlines()
    assert record.isprintable() and json.loads(record)["scope"] == scope
    assert json.loads(summary)["summary"]["denied"] == 1


def test_what_a_program_writes_is_its_own_affair(lang: Lang) -> None:
    source = f"print({literal(HOSTILE)})\neprint({literal(HOSTILE)})\nlog {literal(HOSTILE)}\n"
    result = lang("run", "p.lang", files={"p.lang": source})
    assert (result.out, result.err) == (f"{HOSTILE}\n", f"{HOSTILE}\n[LOG] {HOSTILE}\n")


#: Every form in which a program can name or hold a text that a command then quotes.
QUOTED = f"""\
require env({literal(HOSTILE)})
require net({literal(HOSTILE)})
task t(x)
    give x
let unused be {literal(HOSTILE)}
let m be {{{literal(HOSTILE)}: {literal(HOSTILE)}}}
-- a comment \x9b2J\u202e
test {literal(HOSTILE)}
    print({literal(HOSTILE)})
    assert_eq(m, {literal(HOSTILE)})
try
    print(env({literal(HOSTILE)}, "x" + {literal(HOSTILE)}))
    print({literal(HOSTILE)})
    secret({literal(HOSTILE)})
recover e
    raise {{"error": e, {literal(HOSTILE)}: 1}}
"""
OTHER = "require env(" + literal("B" + HOSTILE) + ")\n"
SERVED = f"""\
require serve(PORT)
require serve({literal(HOSTILE)})
serve on PORT
    route "GET /"
        give 1
raise {literal(HOSTILE)}
"""
#: Each way in which a command tells what a program is or holds, without what the program itself writes.
REPORTS = [
    ["caps", "p.lang"], ["caps", "--json", "p.lang"], ["caps", "--diff", "old.lang", "p.lang"],
    ["caps", "--diff", "--json", "old.lang", "p.lang"], ["caps", "--audit", "log", "p.lang"],
    ["caps", "--audit", "log", "--json", "p.lang"], ["check", "p.lang"], ["check", "--format", "json", "p.lang"],
    ["check", "wrong.lang"], ["check", "--format", "json", "wrong.lang"], ["test", "p.lang"], ["test", "-v", "p.lang"],
    ["test", "-k", HOSTILE, "p.lang"], ["test", "-v", "wrong.lang"], ["--test", "p.lang"],
    ["run", "--format", "json", "p.lang"], ["run", "--format", "json", "--explain", "p.lang"],
    ["run", "--format", "json", "wrong.lang"], ["run", "--explain", "wrong.lang"], ["run", "--cap-set", HOSTILE, "p.lang"],
    ["run", "--audit", "json", "--format", "json", "p.lang"], ["fmt", "--check", "p.lang"], ["fmt", "--check", "wrong.lang"],
    ["docs", HOSTILE], ["docs", "length" + HOSTILE], ["audit", "verify", "log"], ["audit", "verify", f"no{HOSTILE}"],
    ["serve", "served.lang"], ["serve", "--bind", f"unix:{HOSTILE}", "served.lang"], [HOSTILE], ["help", HOSTILE],
]  # fmt: skip


@pytest.mark.parametrize("words", REPORTS, ids=lambda words: " ".join(words[:-1]) or "bare")
def test_no_report_acts_on_the_terminal(lang: Lang, words: list[str]) -> None:
    files = {
        "p.lang": QUOTED,
        "old.lang": OTHER,
        "wrong.lang": f"print(undefined, {literal(HOSTILE)}.x)\nlet a be `{{b\x9b}}`\n\u202e\x9b\n",
        "served.lang": SERVED.replace("PORT", str(free_port())),
        "log": '{"capability": "env", "scope": "\x9b2J\u202e", "granted": false, "why": "\x9b", "origin": "\u202e"}\n',
    }
    result = lang(*words, files=files)
    said = result.out + result.err
    assert said.replace("\n", "").replace("\t", "").isprintable(), ascii(said)
    assert said


def test_the_quoted_program_is_one(lang: Lang) -> None:
    assert lang("check", "p.lang", files={"p.lang": QUOTED}).out.startswith("OK: ")


def test_json_means_what_it_meant(lang: Lang) -> None:
    source = f"require env({literal(HOSTILE)})\nprint({literal(HOSTILE)})\n"
    report = json.loads(lang("run", "--format", "json", "p.lang", files={"p.lang": source}).out)
    assert report["output"] == [HOSTILE]
    for words in (["caps", "--json"], ["check", "--format", "json"]):
        assert json.loads(lang(*words, "p.lang").out)["requires"][0]["scope"] == HOSTILE


def test_the_values_of_a_conversation(lang: Lang) -> None:
    """What is looked at is shown; what the program prints is its own affair."""
    lines = f"{literal(HOSTILE)}\n[{literal(HOSTILE)}]\nlet m be {{{literal(HOSTILE)}: 1}}\nm\nraise {literal(HOSTILE)}\n"
    result = lang("repl", stdin=lines)
    said = result.out + result.err
    assert said.replace("\n", "").isprintable(), ascii(said)
    assert said.count(SHOWN) >= 3
    assert HOSTILE in lang("repl", stdin=f"print({literal(HOSTILE)})\n").out


ACTING_CODES = [*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), 0x2066, 0x2069]


@pytest.mark.parametrize("code", ACTING_CODES)
def test_every_character_that_acts_is_shown(code: int) -> None:
    character = chr(code)
    assert one_line(f"a{character}b") == ("a\\nb" if character == "\n" else f"a\\u{{{code:x}}}b")
    assert visible(f"a{character}b") == (f"a{character}b" if character in "\n\t" else f"a\\u{{{code:x}}}b")


#: What would be read as lines of the tool's own.
LINES = "x\nceiling: none\nOK: 3 statements parsed.\n✓ all\twell"
ONE_LINE = "x\\nceiling: none\\nOK: 3 statements parsed.\\n✓ all\\u{9}well"
AS_LITERAL = "x\\u{a}ceiling: none\\u{a}OK: 3 statements parsed.\\u{a}✓ all\\u{9}well"


def test_a_scope_is_a_literal_of_one_line(lang: Lang) -> None:
    scope = LINES + 'a"b\\'
    source = f'require env({literal(LINES)[:-1]}a\\"b\\\\")\nenv({literal(LINES)})\n'
    result = lang("caps", "p.lang", files={"p.lang": source})
    shown = f'env("{AS_LITERAL}a\\"b\\\\")'
    assert result.lines[0] == f"{shown}  p.lang:1"
    assert len(result.lines) == 2 and result.lines[1].startswith("ceiling: env=x\\nceiling: none")
    entry = json.loads(lang("caps", "--json", "p.lang").out)
    assert entry["requires"][0]["scope"] == scope
    again = lang("caps", "q.lang", files={"q.lang": f"require {shown}\n"})
    assert again.lines[0] == f"{shown}  q.lang:1"
    refused = lang("run", "p.lang")
    assert refused.code == 1 and len(refused.told) == 1 and f'env("{AS_LITERAL}")' in refused.err


def test_a_difference_of_two_manifests_tells_a_line_end_from_its_escape(lang: Lang) -> None:
    files = {"old.lang": 'require env("A\\\\n")\n', "new.lang": 'require env("A\\n")\n'}
    result = lang("caps", "--diff", "old.lang", "new.lang", files=files)
    assert (result.lines, result.code) == (['added: env("A\\u{a}")', 'removed: env("A\\\\n")'], 1)


@pytest.mark.parametrize("words", [["check"], ["caps"], ["test"], ["fmt", "--check"]], ids=str)
@pytest.mark.parametrize("source", ["let x be\n", "require exec\nrun( 1 )\n"])
def test_the_name_of_a_file_stays_on_its_line(lang: Lang, words: list[str], source: str) -> None:
    name = f"{LINES}.lang"
    result = lang(*words, name, files={name: source})
    said = result.out + result.err
    assert not [line for line in said.splitlines() if line.startswith(("ceiling: none", "OK: 3", "✓ all"))], said


def test_the_name_of_a_test_stays_on_its_line(lang: Lang) -> None:
    result = lang("test", "p.lang", files={"p.lang": f"test {literal(LINES)}\n    let x be 1\n"})
    assert result.lines[0] == f"✓ {ONE_LINE}"


def test_what_a_program_learned_stays_on_its_line(lang: Lang) -> None:
    result = lang("run", "--learn", "--yes", "p.lang", files={"p.lang": f"env({literal(LINES)}, 1)\n"})
    assert f'require env("{AS_LITERAL}")' in result.out + result.err


def test_the_audit_that_does_not_verify_stays_on_its_line(lang: Lang) -> None:
    result = lang("audit", "verify", f"{LINES}.log", files={f"{LINES}.log": "x\n"})
    assert result.err.startswith(f"{ONE_LINE}.log:1: ")
