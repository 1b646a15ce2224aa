"""Walking the tree: no node class, and no field of one, is passed over."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from language.syntax import nodes
from language.syntax.node_index import NodeIndex
from language.syntax.parser import parse
from language.syntax.walk import bindings, children, descend, descend_with_task, statements_inside

ABSTRACT = {nodes.Node, nodes.Expr, nodes.Stmt, nodes.Pattern}
CLASSES = [kind for kind in vars(nodes).values() if isinstance(kind, type) and is_dataclass(kind) and kind not in ABSTRACT]
SPAN = (1, 1, 1, 2)

EVERY_CONSTRUCT = """
intent: "everything"
require file.read("x")
use "./m.lang" as m
let [one, {two}] be pair
type Point
    x: number
enum Shape
    dot
    circle(r)
export task area(shape, scale = 1.5d * 2)
    match shape
        is Shape.circle(r) when r > 0
            give r ** 2 * scale - -1
        is [first, ...rest]
            give first
        is {kind: "a", size}
            give size
        is _
            give nothing
each x in [1, 2] |> where((n) => not n == 2 and true)
    while x < 1
        set x to x + 1
    try
        raise "x"
    recover problem
        log problem
trace "t"
    checkpoint {"a": x of m, "b": m[0].y}
sandbox
    print(`a {1 + 1} b`, sep = " ")
let v be when 1 then 2 otherwise sandbox 3
let w be when v
    1
otherwise
    stop 2
invariant "i": 1 == 1
let g be ask "q" with ["a"] within 90s
show 1 as "label"
let d be decide between ["a"] given 1
let h be reason about "x" with n = 1
let a be analyze 1 for "p"
let q be generate "x" given 1
let j be judge v
    a: whether "x"
    b: choose "x" between ["a"]
spawn helper with n = 1
share 1 as "s"
observe "s" as seen
signal "go" with 1
wait_for "go" timeout 5 as got
agent worker
    print(1)
export routes group
    route "GET /a"
        proxy to "http://h/"
test "t"
    give 1
serve on 8080
    rate_limit 5 per minute
    timeout 5
    auth with check
    host "a.example"
        route "POST /b"
            rate_limit 1 per second
            timeout 3
            expect body {n: number}
            stream
                send 1 as "e"
    route "GET /c"
        socket
            send 1
"""


def sample(wanted: Any) -> tuple[Any, list[Any]]:
    """A value of a type of ``nodes``, and the nodes directly in it, in their order."""
    if isinstance(wanted, types.UnionType) or get_origin(wanted) is Union:
        with_nodes = [sample(option) for option in get_args(wanted) if option is not type(None)]
        return max(with_nodes, key=lambda found: len(found[1]))
    if get_origin(wanted) is tuple:
        options = get_args(wanted)
        parts = [sample(option) for option in ([options[0]] * 2 if options[-1] is Ellipsis else options)]
        return tuple(value for value, _ in parts), [node for _, inside in parts for node in inside]
    if wanted in (str, int, float, bool):
        return wanted(1), []
    node = nodes.Nothing(SPAN) if wanted in ABSTRACT else wanted(*[sample(hint)[0] for hint in hints(wanted)])
    return node, [node]


def hints(kind: type) -> list[Any]:
    resolved = get_type_hints(kind)
    return [resolved[field.name] for field in fields(kind)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_field_that_holds_nodes_is_given_in_its_order(kind):
    parts = [sample(hint) for hint in hints(kind)]
    node = kind(*[value for value, _ in parts])
    expected = [inside for _, found in parts for inside in found]
    assert [id(child) for child in children(node)] == [id(child) for child in expected]


def test_every_class_is_met_in_a_program_of_every_construct():
    met = {type(node) for node in descend(parse(EVERY_CONSTRUCT, "everything.lang"))}
    assert {kind.__name__ for kind in CLASSES} - {kind.__name__ for kind in met} == set()


def test_a_walk_goes_in_the_order_of_the_source_and_tells_the_task():
    program = parse("task outer(a = one)\n    task inner()\n        two\n    three\nfour\n", "x")
    found = [(task, node.id) for task, node in descend_with_task(program) if isinstance(node, nodes.Name)]
    assert found == [("outer", "one"), ("inner", "two"), ("outer", "three"), ("", "four")]


def test_what_is_closed_is_given_and_not_entered():
    program = parse("task t()\n    hidden\nseen\n", "x")
    found = list(descend(program, closed=(nodes.Task,)))
    assert [node.id for node in found if isinstance(node, nodes.Name)] == ["seen"]
    assert any(isinstance(node, nodes.Task) for node in found)


@pytest.mark.parametrize("head", ["let x be ", "set x to ", "give "])
def test_the_block_that_is_the_value_of_a_statement_is_inside_it(head):
    (statement,) = parse(f"{head}when 1\n    stop\notherwise\n    2\n", "x").statements
    (when,) = statements_inside(statement)
    assert [type(inner) for inner in statements_inside(when)] == [nodes.Stop, nodes.ExprStmt]


def test_the_index_of_a_tree_has_what_a_walk_finds() -> None:
    program = parse(EVERY_CONSTRUCT, "every.lang")
    index = NodeIndex(program)
    every = list(descend(program))
    assert list(map(id, index.nodes)) == list(map(id, every))
    assert [*map(id, index.of(nodes.Name))] == [id(node) for node in every if type(node) is nodes.Name]
    assert [*map(id, index.of(nodes.Task, nodes.Each))] == [id(n) for n in every if type(n) in (nodes.Task, nodes.Each)]
    for node in every:
        assert list(map(id, index.below(node))) == list(map(id, descend(node)))
    bound = [(name, id(node)) for name, node in bindings(program)]
    assert sorted(bound) == sorted((name, id(node)) for name, same in index.bound.items() for node in same)


def test_the_index_of_a_tree_knows_every_name_that_is_bound() -> None:
    bound = NodeIndex(parse(EVERY_CONSTRUCT, "every.lang")).bound
    expected = "m one two Point Shape area shape scale r first rest size x n problem v w g d h a q j seen got worker group"
    assert set(bound) == set(expected.split())
