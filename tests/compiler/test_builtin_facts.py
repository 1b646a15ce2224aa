"""What the compiler knows of a builtin stands in its declaration, and nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import language.compiler
from language import library, run
from language.code import Code
from language.compiler.compilation import compile_source

COMPILER = Path(language.compiler.__file__).parent
BUILTINS = library().all_builtins()
#: Forms of single builtins that the compiler writes out itself: by the file, the names.
WRITTEN_OUT = {
    "assignment.py": {"append", "insert", "merge"},
    "resolver.py": {"append", "insert", "merge"},
    "inline.py": {"apply", "where"},
}


def listed(path: Path) -> list[set[str]]:
    """The builtins named in each collection or alternative of a file that names two or more."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        parts: list[ast.expr] = []
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.MatchOr):
            parts = [pattern.value for pattern in node.patterns if isinstance(pattern, ast.MatchValue)]
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        names = {text for text in texts if text in BUILTINS}
        if len(names) > 1 and len(names) * 2 > len(texts):
            found.append(names)
    return found


@pytest.mark.parametrize("path", sorted(COMPILER.glob("*.py")), ids=lambda path: path.name)
def test_no_module_of_the_compiler_lists_builtins(path: Path) -> None:
    assert [names for names in listed(path) if not names <= WRITTEN_OUT.get(path.name, set())] == []


def test_what_the_test_looks_for_it_finds(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('A = frozenset(("length", "join"))\nB = {"sort": 1, "keys": 2}\nC = ("int", "of something else")\n')
    assert listed(path) == [{"sort", "keys"}, {"length", "join"}] or listed(path) == [{"length", "join"}, {"sort", "keys"}]


@pytest.mark.parametrize("builtin", BUILTINS.values(), ids=lambda builtin: builtin.name)
def test_every_fact_is_one_that_the_compiler_knows(builtin) -> None:
    facts = builtin.facts
    assert facts.result in (None, "int", "num", "str", "bool", "list", "list of str", "map")
    assert facts.keeps in ("anything", "items", "nothing")
    assert not facts.fresh or facts.result in ("list", "list of str", "map")
    assert not (facts.pure and builtin.context)
    assert facts.method is None or hasattr(str, facts.method)
    if builtin.alias_of is not None:
        own = BUILTINS[builtin.alias_of].facts
        assert [getattr(facts, name) for name in facts.__slots__] == [getattr(own, name) for name in facts.__slots__]


KINDS = {"int": "number", "num": "number", "str": "text", "bool": "bool", "list": "list", "map": "map"}
CALLS = {
    "length": "length([1])",
    "round": "round(1.5)",
    "sqrt": "sqrt(2)",
    "split": 'split("a,b", ",")',
    "sort": "sort([2, 1])",
    "merge": 'merge({"a": 1}, {"b": 2})',
    "upper": 'upper("a")',
    "is_list": "is_list(1)",
    "int": 'int("7")',
    "unique": "unique([1, 1])",
    "fmt": 'fmt("a")',
}


@pytest.mark.parametrize("name", CALLS)
def test_the_kind_of_a_result_is_the_declared_one(name: str) -> None:
    declared = BUILTINS[name].facts.result
    assert declared is not None
    kind = KINDS[declared.removesuffix(" of str")]
    assert run(f"print(type_of({CALLS[name]}))")["output"] == [kind]


def test_a_fallback_of_another_kind_is_taken_as_it_is() -> None:
    assert run('let x be int("no", "text")\nprint(x + "s", type_of(x))')["output"] == ["texts text"]
    assert isinstance(compile_source('let x be int("no", "text")', "x"), Code)
