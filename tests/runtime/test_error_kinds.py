"""Every error is of a kind, one of a closed set, whatever its message says."""

from __future__ import annotations

from pathlib import Path

import pytest

from language.compiler.compilation import compile_source
from language.errors import ERROR_KINDS, LanguageError, RuntimeFault
from language.host import EmbeddedHost
from language.native.host import NativeHost
from language.runtime.explain import CLASSES, classify
from language.runtime.instance import Instance

PROGRAMS = [
    ("let x be", "syntax"),
    ('print("open', "syntax"),
    ("print(nope)", "name"),
    ("set nope to 1", "name"),
    ('use "none.lang" as m', "name"),
    ("print({}.a)", "key"),
    ('print({"a": 1}["b"])', "key"),
    ("print([1][3])", "key"),
    ("let xs be [1]\nset xs[4] to 2", "key"),
    ("print(1 + nothing)", "type"),
    ("let a be 5\na()", "type"),
    ("print(upper(1, 2, 3))", "type"),
    ("print(sum_of(5))", "type"),
    ("each x in 5\n    print(x)", "type"),
    ('print(int("abc"))', "value"),
    ('print(json_decode("{"))', "value"),
    ("print(1 / 0)", "arithmetic"),
    ("print(1.5d % 0)", "arithmetic"),
    ("print(10 ** 10000000000)", "arithmetic"),
    ('print(env("HOME"))', "capability"),
    ('require file.read("none.txt")\nprint(read_file("none.txt"))', "file"),
    ('require exec("no-such-command-here")\nrun("no-such-command-here")', "file"),
    ('require db(":memory:")\ndb_open(":memory:")\nsql("SELEC 1")', "database"),
    ('require exec("sleep")\nrun("sleep", ["5"], 0.1)', "timeout"),
    ("task f(n)\n    give 1 + f(n)\nf(1)", "resources"),
    ("assert(1 == 2)", "assertion"),
    ("assert_eq(1, 2)", "assertion"),
    ('invariant "never": 1 == 2', "assertion"),
    ('raise "Division by zero"', "raised"),
]


def error_of(source: str, host: EmbeddedHost | NativeHost, folder: Path) -> LanguageError:
    file = str(folder / "p.lang")
    with pytest.raises(LanguageError) as caught:
        Instance(compile_source(source, file).named(file), host, root=str(folder)).run()
    return caught.value


@pytest.mark.parametrize(("source", "kind"), PROGRAMS)
def test_the_kind_of_an_error(source: str, kind: str, tmp_path: Path) -> None:
    assert error_of(source, NativeHost(), tmp_path).kind == kind


def test_what_a_host_has_not_is_unsupported(tmp_path: Path) -> None:
    assert error_of('require memory("notes")\nremember("fact", "a")', EmbeddedHost(), tmp_path).kind == "unsupported"


def test_every_kind_is_explained_and_none_besides() -> None:
    assert set(CLASSES) == set(ERROR_KINDS) and len(set(ERROR_KINDS)) == len(ERROR_KINDS)
    assert {kind for _, kind in PROGRAMS} | {"unsupported", "network"} == set(ERROR_KINDS)


def test_the_error_of_a_module_that_does_not_parse_is_one_of_syntax(tmp_path: Path) -> None:
    (tmp_path / "m.lang").write_text("let x be\n")
    error = error_of('use "m.lang" as m', NativeHost(), tmp_path)
    assert error.kind == "syntax" and isinstance(error, RuntimeFault)
    assert (error.file.rpartition("/")[2], error.line) == ("m.lang", 1)


def test_the_line_that_cures_a_missing_capability_comes_first(tmp_path: Path) -> None:
    error = error_of('print(read_file("a.txt"))', NativeHost(), tmp_path)
    assert error.cure == 'require file.read("a.txt")'
    category, recoverable, retry, suggestions = classify(error)
    assert (category, recoverable, retry, suggestions[0]) == ("capability", False, False, error.cure)
