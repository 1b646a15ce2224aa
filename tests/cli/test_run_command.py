"""``lang run``: the JSON report, the environment, ceilings, modules, and the cache seen from outside (6.6, 6.7)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_process import ROOT, SECONDS, Lang, Result, write

# ---- --format json -----------------------------------------------------------------------------------------------------


def report(result: Result) -> dict[str, Any]:
    assert result.out.count("\n") == 1
    answer: dict[str, Any] = json.loads(result.out)
    problems = ["problems"] if answer["errors"] else []
    assert list(answer) == ["ok", "output", "errors", "audit", "exit", "llm_tokens", *problems]
    assert answer["exit"] == result.code
    return answer


def without_time(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    assert all(isinstance(record["ts"], int | float) for record in records)
    return [{name: value for name, value in record.items() if name != "ts"} for record in records]


def test_the_report_of_the_manual(lang: Lang) -> None:
    result = lang("run", "--format", "json", "--cap-set", "stdout", "ok.lang", files={"ok.lang": 'print("hi")\n'})
    answer = report(result)
    assert (answer["ok"], answer["output"], answer["errors"], answer["exit"], result.err) == (True, ["hi"], [], 0, "")
    above = "above host ceiling (--sandbox/--cap-set)"
    assert without_time(answer["audit"]) == [
        {"capability": "stdout", "scope": None, "granted": True, "origin": "runtime", "why": "auto-granted by the runtime"},
        {"capability": "time", "scope": None, "granted": False, "origin": "runtime", "why": above},
        {"capability": "llm", "scope": None, "granted": False, "origin": "runtime", "why": above},
        {"capability": "stdout", "scope": None, "granted": True, "origin": "program", "why": "Granted by stdout"},
    ]


def test_output_in_order_with_log_and_without_eprint(lang: Lang) -> None:
    result = lang("run", "--format=json", "-", stdin='print("a")\nlog "b"\neprint("c")\nshow 1 as "d"\nprint("é\\n2")\n')
    assert report(result)["output"] == ["a", "[LOG] b", "[d] 1", "é\n2"]
    assert result.err == "c\n"


@pytest.mark.parametrize(
    ("source", "output", "error", "code"),
    [
        ('print(1)\nraise "boom"', ["1"], "Runtime error: <stdin>:2:1: boom", 1),
        ("print(1)\nlet x be", [], "Parse error: <stdin>:2:9: ", 1),
        ('print(1)\nlet x be "', [], "Lexer error: <stdin>:2:10: ", 1),
        ("print(1)\nrequire netz", [], "Runtime error: ", 1),
        ("print(1)\nexit(3)", ["1"], None, 3),
        ("exit(0)", [], None, 0),
    ],
)
def test_errors_and_exits_are_in_the_report(lang: Lang, source: str, output: list[str], error: str | None, code: int) -> None:
    result = lang("run", "--format", "json", "-", stdin=source)
    answer = report(result)
    assert (answer["output"], answer["ok"], answer["exit"], result.err) == (output, code == 0, code, "")
    assert len(answer["errors"]) == (error is not None)
    assert error is None or answer["errors"][0].startswith(error)


def test_a_wrong_call_has_no_report(lang: Lang) -> None:
    result = lang("run", "--format", "json", "gone.lang")
    assert (result.out, result.code) == ("", 2)


# ---- the environment ---------------------------------------------------------------------------------------------------

ENV = 'require env("*")\nprint(env("A", "-"), env("B", "-"))\n'


def test_the_env_file_beside_the_working_directory(lang: Lang) -> None:
    files: dict[str, str | bytes] = {"d/env.lang": ENV, ".env": "A=file\nB=file\n", "other.env": "A=other\n"}
    assert lang("run", "d/env.lang", files=files).out == "file file\n"
    assert lang("d/env.lang", env={"A": "process", "B": ""}).out == "process \n"
    assert lang("run", "--no-env-file", "d/env.lang").out == "- -\n"
    assert lang("run", "--env-file", "other.env", "d/env.lang").out == "other -\n"
    assert lang("d/env.lang", "--env-file=other.env").out == "other -\n"
    assert lang("d/env.lang", env={"PLATFORM_ENV_FILE": "other.env"}).out == "other -\n"
    assert lang("d/env.lang", env={"PLATFORM_ENV_FILE": ""}).out == "- -\n"
    assert lang("run", "--env-file", ".env", "d/env.lang", env={"PLATFORM_ENV_FILE": "other.env"}).out == "file file\n"
    assert lang("run", "--env-file", ".env", "--no-env-file", "d/env.lang").out == "- -\n"
    assert lang("run", "--no-env-file", "--env-file", ".env", "d/env.lang").out == "file file\n"


def test_an_env_file_that_cannot_be_read(lang: Lang) -> None:
    result = lang("run", "--env-file", "gone.env", "env.lang", files={"env.lang": ENV})
    assert (result.out, result.code) == ("- -\n", 0)
    assert result.err == "lang: warning: cannot read the env file 'gone.env': No such file or directory\n"
    (folder := lang("run", "--env-file", ".", "env.lang"))
    assert folder.err == "lang: warning: cannot read the env file '.': Is a directory\n"


def test_faulty_lines_of_an_env_file(lang: Lang) -> None:
    result = lang("run", "env.lang", files={"env.lang": ENV, ".env": "A=1\nexport B=hidden\n"})
    assert result.out == "1 -\n"
    assert result.err.startswith("lang: warning: .env:2: ")
    assert "hidden" not in result.err


# ---- ceilings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "out", "err"),
    [
        ([], "v\n", ""),
        (["--cap-set", "stdout,env=K"], "v\n", ""),
        (["--cap-set", "stdout,env"], "v\n", ""),
        (["--cap-set", "stdout,env=L"], "", 'Capability not granted: env("K") — declared but above the host ceiling'),
        (["--sandbox"], "", 'Capability not granted: env("K") — declared but above the host ceiling'),
        (["--cap-set", "none"], "", "Capability not granted: env"),
    ],
)
def test_a_ceiling_bounds_what_is_required(lang: Lang, flags: list[str], out: str, err: str) -> None:
    result = lang("run", *flags, "a.lang", env={"K": "v"}, files={"a.lang": 'require env("K")\nprint(env("K"))\n'})
    assert (result.out, result.code) == (out, int(bool(err)))
    assert err in result.err


def test_a_ceiling_bounds_what_is_granted_implicitly(lang: Lang) -> None:
    assert lang("run", "--sandbox", "-", stdin="print(now() > 0)").out == "true\n"
    result = lang("run", "--cap-set", "stdout", "-", stdin="print(now() > 0)")
    assert "Capability not granted: time" in result.err
    assert result.code == 1


def test_a_ceiling_grants_nothing(lang: Lang) -> None:
    result = lang("run", "--cap-set", "stdout,random", "-", stdin="print(random())")
    assert "Capability not granted: random — add `require random`" in result.err


# ---- modules -----------------------------------------------------------------------------------------------------------


def test_modules_of_a_program_from_standard_input_lie_in_the_working_directory(lang: Lang) -> None:
    source = 'use "./m.lang" as m\nprint(m.x)\n'
    assert lang("-", stdin=source, files={"m.lang": "export let x be 1\n"}).out == "1\n"


def test_errors_in_a_module_name_its_file(lang: Lang) -> None:
    files: dict[str, str | bytes] = {
        "d/a.lang": 'use "./lib/m.lang" as m\nm.f()\n',
        "d/lib/m.lang": 'export task f()\n    raise "inside"\n',
    }
    for _ in range(2):  # compiled, then from the cache
        assert lang("run", "d/a.lang", files=files).told == ["Runtime error: d/lib/m.lang:2:5: inside"]


def test_module_with_a_byte_order_mark_and_carriage_returns(lang: Lang) -> None:
    files: dict[str, str | bytes] = {
        "a.lang": 'use "./m.lang" as m\nprint(m.x)\n',
        "m.lang": b"\xef\xbb\xbfexport let x be 1\r\n",
    }
    assert lang("a.lang", files=files).out == "1\n"


# ---- the cache ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "lang"


def test_a_start_from_the_cache_is_the_same(lang: Lang, cache: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.lang": 'use "./m.lang" as m\nprint(m.x)\ntask f(n)\n    give 1 / n\nf(0)\n',
        "m.lang": "export let x be 1\n",
    }
    env = {"XDG_CACHE_HOME": str(cache.parent)}
    cold = lang("run", "a.lang", env=env, files=files)
    assert (cold.out, cold.told) == ("1\n", ["Runtime error: a.lang:4:12: Division by zero"])
    assert len(list(cache.iterdir())) == 2
    warm = lang("run", "a.lang", env=env)
    assert (warm.out, warm.err, warm.code) == (cold.out, cold.err, cold.code)
    assert len(list(cache.iterdir())) == 2
    # The name shown is no part of the entry.
    (cache.parent.parent / "b.lang").write_bytes((cache.parent.parent / "a.lang").read_bytes())
    assert lang("run", "./b.lang", env=env).told == ["Runtime error: ./b.lang:4:12: Division by zero"]
    assert len(list(cache.iterdir())) == 2
    assert lang("test", "a.lang", env=env).code == 1
    assert len(list(cache.iterdir())) == 3


def test_a_changed_program_is_compiled_again(lang: Lang) -> None:
    for number in ("1", "2", "1"):
        assert lang("run", "a.lang", files={"a.lang": f"print({number})\n"}).out == f"{number}\n"


def test_a_damaged_cache_is_mended(lang: Lang, cache: Path) -> None:
    env = {"XDG_CACHE_HOME": str(cache.parent)}
    assert lang("run", "a.lang", env=env, files={"a.lang": "print(1)\n"}).out == "1\n"
    (entry,) = cache.iterdir()
    good = entry.read_bytes()
    for damage in (b"", good[:-9], good[: len(good) // 2] + b"\xff" + good[len(good) // 2 + 1 :], b"\0" * len(good)):
        entry.write_bytes(damage)
        result = lang("run", "a.lang", env=env)
        assert (result.out, result.err, result.code) == ("1\n", "", 0)
        assert entry.read_bytes() == good


def test_no_cache_at_all(lang: Lang, cache: Path, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.lang": "print(1)\n"}
    assert lang("a.lang", env={"XDG_CACHE_HOME": str(cache.parent), "PLATFORM_CACHE": "off"}, files=files).out == "1\n"
    assert not cache.exists()
    (tmp_path / "file").write_bytes(b"")
    for place in ("/dev/null", str(tmp_path / "file"), "/proc/none"):
        result = lang("a.lang", env={"XDG_CACHE_HOME": place})
        assert (result.out, result.err, result.code) == ("1\n", "", 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder to another user needs root")
def test_a_home_of_somebody_else_is_not_written(lang: Lang, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 4242, 4242)
    result = lang("a.lang", env={"HOME": str(theirs)}, files={"a.lang": "print(1)\n"})
    assert (result.out, result.err, result.code) == ("1\n", "", 0)
    assert list(theirs.iterdir()) == []


FRONT_END = (
    "language.syntax.lexer",
    "language.syntax.parser",
    "language.compiler",
    "language.syntax.nodes",
    "lark",
    "re",
    "typing",
    "dataclasses",
)
REPORT = (
    "import sys; before = set(sys.modules); from language.cli.main import main\n"
    "code = main(sys.argv[1:])\n"
    "sys.stderr.write(' '.join(sorted(set(sys.modules) - before)))\nsys.exit(code)"
)


def test_a_warm_start_loads_no_front_end(tmp_path: Path, environment: dict[str, str]) -> None:
    write(tmp_path, {"a.lang": 'use "./m.lang" as m\nprint(upper(m.x))\n', "m.lang": 'export let x be "hi"\n'})
    loaded: list[set[str]] = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", REPORT, "run", "a.lang"],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        assert done.stdout == "HI\n"
        loaded.append(set(done.stderr.split()))
    cold, warm = loaded
    assert cold >= {"language.syntax.lexer", "language.syntax.parser", "language.compiler"}
    assert not warm & set(FRONT_END)


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ('let n be number("q") + 1\n', (1, 16, 1, 21)),
        ('let m be {"a": 1}\nprint(m["b"])\n', (2, 8, 2, 13)),
        ("task f()\n    give 1 / 0\nf()\n", (2, 12, 2, 13)),
        ("let n be\n", (1, 9, 1, 9)),
    ],
)
def test_the_report_says_where_the_faulty_text_ends(lang: Lang, source: str, place: tuple[int, ...]) -> None:
    (problem,) = report(lang("run", "--format", "json", "-", stdin=source))["problems"]
    assert tuple(problem[name] for name in ("line", "column", "end_line", "end_column")) == place


def test_the_end_of_an_error_in_a_module(lang: Lang) -> None:
    files = {"a.lang": 'use "./m.lang" as m\nprint(m.f("z"))\n', "m.lang": "export task f(x)\n    give number(x)\n"}
    (problem,) = report(lang("run", "--format", "json", "a.lang", files=files))["problems"]
    assert problem["file"].endswith("m.lang")
    assert [problem[name] for name in ("line", "column", "end_line", "end_column")] == [2, 16, 2, 19]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space hold on Linux")
@pytest.mark.parametrize("megabytes", [400, 470, 600])
def test_a_program_that_takes_all_memory_of_its_process_ends_with_its_own_error(tmp_path: Path, megabytes: int) -> None:
    import resource

    program = tmp_path / "grows.lang"
    program.write_text(f'let l be []\nwhile true\n    set l to append(l, text(length(l)) + "{"a" * 64}")\n', encoding="utf-8")
    size = megabytes * 1024 * 1024
    done = subprocess.run(
        [sys.executable, "-m", "language", "run", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )
    assert done.returncode == 1 and "out of memory" in done.stderr and "internal error" not in done.stderr, done.stderr
