"""What ``lang check`` says of operations that no ``require`` line covers: models of services, computed scopes, pipes."""

from __future__ import annotations

from pathlib import Path

import pytest

import language
from language.analysis.checker import check_program
from language.analysis.problems import problems_of
from language.cli.check import command
from language.runtime.modules import BundledSources
from platform_api.packages.analysis import Request, analyse

pytestmark = pytest.mark.once

SERVED = 'require serve(8080)\nserve on 8080\n    route "GET /"\n        give {0}\n'


def ungranted(source: str, *, deployed: bool = False, **modules: str) -> list[str]:
    sources = BundledSources({f"{name}.lang": text for name, text in modules.items()})
    found = problems_of(check_program(source, "main.lang", sources), deployed=deployed)
    return [f"{problem.line}: {problem.message}" for problem in found.warnings if problem.code == "W0105"]


@pytest.mark.parametrize(
    "asked",
    [
        'llm_chat("hello").text', '"hello" |> llm_chat', 'tool_loop("hello", {}).text', 'reason about "hello"',
        'decide between ["a", "b"] given "hello"', 'analyze "hello" for "tone"', 'generate "a greeting"',
    ],
)  # fmt: skip
def test_a_service_declares_that_it_asks_a_model(asked: str) -> None:
    """Whoever reaches it spends its owner's money: there the capability is not there by itself."""
    source = SERVED.format(asked)
    assert ungranted(source) == ["4: the program uses the capability `llm`, and no `require` line grants it"]
    assert ungranted("require llm\n" + source) == []
    alone = f"print({asked})\n"
    assert ungranted(alone) == []
    assert ungranted(alone, deployed=True) == ["1: the program uses the capability `llm`, and no `require` line grants it"]


def test_a_test_of_a_service_has_what_every_run_has() -> None:
    assert ungranted(SERVED.format("1") + 'test "asked"\n    assert_eq(reason about "x", "y")\n') == []


def test_a_task_of_a_module_that_a_service_uses() -> None:
    entry = 'use "./writer.lang" as writer\n' + SERVED.format("writer.written()")
    module = 'export task written()\n    give generate "a greeting"\n'
    assert ungranted(entry, writer=module) == [
        "2: the task `written` uses the capability `llm`, and no `require` line grants it"
    ]
    assert ungranted(module) == []


@pytest.mark.parametrize(
    ("use", "line", "name"),
    [
        ("fetch(args()[0])", 'net("api.example.com")', "net"), ("read_file(args()[0])", 'file.read("data/*")', "file.read"),
        ("args()[0] |> read_file", 'file("data/*")', "file.read"), ("env(args()[0])", 'env("NAME")', "env"),
        ('sql("SELECT 1")', 'db("app.db")', "db"), ("run(args()[0])", 'exec("git")', "exec"),
        ('remember("context", "x")', 'memory("my-agent")', "memory"), ("mcp_connect(args()[0])", 'exec("server")', "net"),
    ],
)  # fmt: skip
def test_a_scope_that_is_computed_needs_some_line_of_its_capability(use: str, line: str, name: str) -> None:
    """Without any, the operation is refused whatever it asks for."""
    assert ungranted(f"print({use})\n") == [f"1: the program uses the capability `{name}`, and no `require` line grants it"]
    assert ungranted(f"require {line}\nprint({use})\n") == []
    assert ungranted(f"try\n    print({use})\nrecover why\n    print(why)\n") == []
    assert ungranted(f"export task shown()\n    give {use}\n") == []


def test_a_step_of_a_pipe_has_what_comes_through_it_as_its_first_argument() -> None:
    source = 'require file.write("out.txt")\n"out.txt" |> write_file("secret.txt")\n'
    assert ungranted(source) == []
    assert ungranted(source.replace('"out.txt" |>', '"b.txt" |>')) == [
        '2: the program uses the capability `file.write("b.txt")`, and no `require` line grants it'
    ]


def test_archives_in_memory_need_no_file() -> None:
    assert ungranted('print(zip_extract(zip_create({"a.txt": "x"})))\n') == []


def test_what_is_deployed_is_checked_as_it_will_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A folder with a ``lang.toml`` is one that is deployed; the service looks at every program so."""
    program = tmp_path / "main.lang"
    program.write_text('print(reason about "tides")\n', encoding="utf-8")
    assert command([str(program)]) == 0
    assert capfd.readouterr().err == ""
    (tmp_path / "lang.toml").write_text('kind = "job"\n', encoding="utf-8")
    assert command([str(program)]) == 0
    assert "the program uses the capability `llm`, and no `require` line grants it" in capfd.readouterr().err
    taken = analyse(Request({"main.lang": program.read_bytes()}, None, None, None))
    assert [problem.code for problem in taken.problems] == ["W0105"]
    assert language.inspect(program.read_text(encoding="utf-8")).warnings == ()
