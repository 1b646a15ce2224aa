"""Declared versus done, and ceilings made smaller."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import language
from language import Ceiling, declared_versus_done, inspect

SOURCE = 'require net("*.example.com")\nrequire file.read("data/*")\nrequire random\nrequire exec("git")\n'


def record(capability: str, scope: str | None, granted: bool = True, **more: Any) -> dict[str, Any]:
    return {"ts": 1.0, "capability": capability, "scope": scope, "granted": granted, "origin": "program", "why": "w", **more}


def test_what_was_used_what_never_and_what_refused() -> None:
    records = [
        record("net", "api.example.com"),
        record("net", "b.example.com"),
        record("random", None),
        record("env", "HOME", False, file="a.lang", line=3),
        record("env", "HOME", False, file="a.lang", line=3),
        record("env", "HOME", False, file="a.lang", line=9),
        record("llm", None, False, source="ceiling"),
        {"capability": 5, "granted": True, "why": "w", "scope": None},
        {"summary": {"granted": 1}},
    ]
    found = declared_versus_done(inspect(SOURCE), records)
    assert [(str(use.requirement.capability), use.done) for use in found.uses] == [
        ('net("*.example.com")', 2),
        ('file_read("data/*")', 0),
        ("random", 1),
        ('exec("git")', 0),
    ]
    assert [line.line for line in found.unused] == [2, 4]
    [refusal] = found.refused
    assert (str(refusal.capability), refusal.count, refusal.places) == ('env("HOME")', 3, ("a.lang:3", "a.lang:9"))
    assert str(found.shrunk) == "net=*.example.com,random,stdout,time"


def test_the_shrunk_ceiling_lets_the_same_run_through() -> None:
    source = 'require random\nrequire env\nrequire secret("K")\nprint(random() < 1)\nprint(env("A", "b"))'
    first = language.run(source)
    shrunk = declared_versus_done(inspect(source), first["audit"]).shrunk
    assert str(shrunk) == "random,env,stdout,time"
    assert language.run(source, ceiling=str(shrunk))["output"] == first["output"]


ITEMS = [
    "stdout",
    "net",
    "net=*",
    "net=a.x",
    "net=*.a.x",
    "net=b.a.x",
    "file",
    "file.read=d/*",
    "file.read=d/e",
    "env=A*",
    "env=A",
    "exec",
]
CEILINGS = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5).map(lambda items: Ceiling.parse(",".join(items)))
ASKED = "stdout,net=a.x,net=b.a.x,net=c.y,file.read=d/e,file.read=f,file.write=d/e,env=A,env=AB,env=B,exec=git"
REQUESTS = Ceiling.parse(ASKED).items


@given(CEILINGS, CEILINGS)
def test_an_intersection_allows_what_both_allow(one: Ceiling, other: Ceiling) -> None:
    both = one.intersection(other)
    assert set(both.items) == set(other.intersection(one).items)
    for request in REQUESTS:
        if both.covers(request):
            assert one.covers(request) and other.covers(request)
    assert set(one.intersection(one).items) == set(one.items)


@given(CEILINGS, CEILINGS)
def test_a_version_that_holds_no_more_reaches_nothing_new(old: Ceiling, new: Ceiling) -> None:
    difference = language.compare(old, new)
    assert difference.holds_more or all(old.covers(request) for request in REQUESTS if new.covers(request))
    assert not language.compare(old, old).holds_more
