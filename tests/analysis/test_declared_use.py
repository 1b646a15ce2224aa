"""Declared versus done, and ceilings made smaller."""

from __future__ import annotations

from typing import Any

import pytest
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
        record("net", "b.example.com", count=3),
        record("random", None),
        record("random", None, count=0),
        record("random", None, count="2"),
        record("env", "HOME", False, file="a.lang", line=3),
        record("env", "HOME", False, file="a.lang", line=3),
        record("env", "HOME", False, file="a.lang", line=9, count=2),
        record("llm", None, False, source="ceiling"),
        {"capability": 5, "granted": True, "why": "w", "scope": None},
        {"summary": {"granted": 1}},
    ]
    found = declared_versus_done(inspect(SOURCE), records)
    assert [(str(use.requirement.capability), use.done) for use in found.uses] == [
        ('net("*.example.com")', 4),
        ('file_read("data/*")', 0),
        ("random", 1),
        ('exec("git")', 0),
    ]
    assert [line.line for line in found.unused] == [2, 4]
    [refusal] = found.refused
    assert (str(refusal.capability), refusal.count, refusal.places) == ('env("HOME")', 4, ("a.lang:3", "a.lang:9"))
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


@pytest.mark.parametrize(
    ("item", "host"),
    [
        ("net=a.x", "a.x"),
        ("net=https://A.X:8443/path", "a.x"),
        ("net=*.a.x:8080", "*.a.x"),
        ("net=[2001:db8::1]:443", "2001:db8::1"),
        ("net=https://[2001:db8::1]", "2001:db8::1"),
        ("net=*", "*"),
        ("net", None),
        ("db=postgresql://u:p@db.x:5432/shop", "db.x"),
        ("db=mysql://[2001:db8::1]/shop", "2001:db8::1"),
        ("db=data/shop.db", None),
        ("db", None),
        ("file.read=a.x", None),
    ],
)
def test_the_host_that_a_capability_names(item: str, host: str | None) -> None:
    [capability] = Ceiling.parse(item).items
    assert capability.host == host


@pytest.mark.parametrize(
    ("ceiling", "host", "port", "allowed"),
    [
        ("net=a.x", "a.x", 443, True),
        ("net=a.x", "A.X", 80, True),
        ("net=a.x", "b.a.x", 80, False),
        ("net=a.x:443", "a.x", 80, False),
        ("net=*.a.x", "b.a.x", 1, True),
        ("net=[2001:db8::1]:443", "2001:db8::1", 443, True),
        ("net", "anything.example", 1, True),
        ("db=postgres://db.x/shop", "db.x", 5432, True),
        ("db=postgres://db.x/shop", "db.x", 6000, False),
        ("db=postgres://db.x/shop", "db.x", 3306, False),
        ("db=postgres://db.x:6000/shop", "db.x", 6000, True),
        ("db=postgres://db.x:6000/shop", "db.x", 5432, False),
        ("db=postgres://db.x:*/shop", "db.x", 6000, True),
        ("db=postgres://*/shop", "db.x", 6000, False),
        ("db=mysql://db.x", "db.x", 3306, True),
        ("db=rediss://[2001:db8::1]/0", "2001:db8::1", 6379, True),
        ("db=rediss://[2001:db8::1]:7000/0", "2001:db8::1", 7000, True),
        ("db=rediss://[2001:db8::1]/0", "2001:db8::1", 7000, False),
        ("db=*://db.x/*", "db.x", 6379, True),
        ("db=*://db.x/*", "db.x", 22, False),
        ("db=ftp://db.x", "db.x", 21, False),  # no database is reached so
        ("db=postgres://db.x/shop", "a.db.x", 5432, False),
        ("db=shop.db,env=db.x", "db.x", 5432, False),
        ("db", "db.x", 5432, True),
        ("db=*", "db.x", 5432, True),
        ("net", "127.1", 80, False),  # a spelling that no request can have
        ("net", "a.x/b", 80, False),
        ("net", "a.x", 65536, False),
        ("none", "a.x", 443, False),
    ],
)
def test_the_connections_that_a_ceiling_allows(ceiling: str, host: str, port: int, allowed: bool) -> None:
    assert Ceiling.parse(ceiling).covers_connection(host, port) is allowed
