"""A program that runs on a Host of the embedder: what the host reaches is there for what the program declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import language


class Vault(language.EmbeddedHost):
    """Three o'clock, one variable, and an error stream that is kept."""

    def __init__(self) -> None:
        super().__init__({"KEY": "k-1"})
        self.errors: list[str] = []

    def now(self) -> float:
        return 10_800.0

    def write_error_line(self, line: str) -> None:
        self.errors.append(line)


def test_the_host_answers_and_the_output_is_collected() -> None:
    host = Vault()
    program = language.Program('require env("KEY")\nprint(env("KEY"), now())\neprint("aside")', host=host)
    answer = program.run()
    assert (answer["ok"], answer["output"], host.errors) == (True, ["k-1 10800.0"], ["aside"])
    assert [(r["capability"], r["ts"]) for r in answer["audit"]] == [("env", 10_800.0), ("time", 10_800.0)]
    assert program.run()["output"] == answer["output"]


def test_what_the_host_has_is_refused_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    file = tmp_path / "a.txt"
    read = f'print(read_file("{file}"))'
    host = language.NativeHost()
    assert "Capability not granted" in language.run(read, host=host)["errors"][0]
    declared = f'require file.read("{tmp_path}/*")\n{read}'
    assert language.run(declared, host=host)["output"] == ["text"]
    assert "Capability not granted" in language.run(declared, host=host, ceiling="sandbox")["errors"][0]


def test_modules_and_pages_lie_beside_the_program(tmp_path: Path) -> None:
    (tmp_path / "m.lang").write_text("export task f()\n    give 5\n")
    (tmp_path / "p.html").write_text("<p>{ x }</p>")
    source = 'use "m.lang" as m\nprint(m.f())\nprint(render("p.html", {"x": 1}))'
    options: dict[str, Any] = {"host": language.NativeHost(), "filename": str(tmp_path / "app.lang")}
    assert language.check(source, **options) == {"ok": True, "errors": []}
    assert language.run(source, **options)["output"][0] == "5"
    missing = language.check('use "none.lang" as m', **options)
    assert "module not found" in missing["errors"][0]


def test_requests_and_tests_run_on_it_too() -> None:
    source = """\
require env("KEY")
require serve(80)
test "key"
    assert_eq(env("KEY"), "k-1")
serve on 80
    route "GET /"
        give env("KEY")
"""
    assert language.test(source, host=Vault())["passed"] == 1
    assert language.handle(source, {"method": "GET", "path": "/"}, host=Vault())["body"] == '"k-1"'


def test_limits_hold() -> None:
    answer = language.run("while true\n    let x be 1", host=language.NativeHost(), limits={"steps": 1000})
    assert (answer["ok"], answer["limit"]) == (False, "steps")


@pytest.mark.parametrize("given", [{"env": {}}, {"files": {}}, {"limits": {"host_calls": 5}}])
def test_what_a_host_decides_is_not_given_beside_it(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="beside a Host"):
        language.Program("print(1)", host=Vault(), **given)


def test_an_error_of_the_host_is_one_of_the_program() -> None:
    class Closed(Vault):
        def environ(self, name: str) -> str | None:
            if name == "KEY":
                raise language.RuntimeFault("the vault is closed", kind="network")
            return None

    source = 'require env\ntry\n    print(env("KEY"))\nrecover e\n    print("caught:", e)'
    assert language.run(source, host=Closed())["output"] == ["caught: the vault is closed"]
