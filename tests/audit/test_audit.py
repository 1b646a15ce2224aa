"""The list of records: what is kept when it grows, and in which order."""

from __future__ import annotations

from typing import Any

import language
from language.audit.records import MOST_DENIALS, MOST_RECORDS, Audit
from language.host import EmbeddedHost
from language.runtime.context import Context

SIX = ["ts", "capability", "scope", "granted", "origin", "why"]


def add(audit: Audit, scope: str, granted: bool) -> None:
    audit.add("env", scope, granted, "program", "why", "program", None)


def scopes(audit: Audit) -> list[str | None]:
    return [record["scope"] for record in audit.records]


def test_the_fields_of_a_record() -> None:
    audit = Audit(lambda: 12.34567)
    add(audit, "A", True)
    assert audit.records == [
        {"ts": 12.346, "capability": "env", "scope": "A", "granted": True, "origin": "program", "why": "why"}
    ]
    assert list(audit.records[0]) == SIX


def test_the_newest_are_kept_and_the_others_counted() -> None:
    audit = Audit(lambda: 1.0)
    for number in range(MOST_RECORDS + 5):
        add(audit, str(number), True)
    kept = audit.records
    assert len(kept) == MOST_RECORDS + 1
    assert kept[0]["scope"] == "5" and kept[-2]["scope"] == str(MOST_RECORDS + 4)
    assert (kept[-1]["why"], kept[-1]["granted"], kept[-1]["scope"]) == ("5 more granted checks", True, None)


def test_refusals_stay_when_something_must_go() -> None:
    audit = Audit(lambda: 1.0)
    add(audit, "refused", False)
    for number in range(MOST_RECORDS * 2):
        add(audit, str(number), True)
    assert scopes(audit)[0] == "refused"
    for number in range(MOST_RECORDS):
        add(audit, f"no {number}", False)
    assert all(not record["granted"] for record in audit.records[:-1])
    assert len(audit.records) == MOST_RECORDS + 1 + 1  # every refusal and the count


def test_even_refusals_are_bounded() -> None:
    audit = Audit(lambda: 1.0)
    for number in range(MOST_DENIALS + 3):
        add(audit, str(number), False)
    assert len(audit.records) == MOST_DENIALS
    assert scopes(audit)[0] == "3"


def test_order_is_that_of_the_checks() -> None:
    audit = Audit(lambda: 1.0)
    for number in range(20):
        add(audit, str(number), number % 3 == 0)
    assert scopes(audit) == [str(number) for number in range(20)]


def test_records_of_an_embedder_name_the_operation_and_repeat_the_reason() -> None:
    heard: list[tuple[Any, ...]] = []
    audit = Audit(lambda: 1.0, listener=lambda *what: heard.append(what), operation=lambda: "env()")
    add(audit, "A", True)
    audit.add("llm", None, False, "program", "No matching grant found", "program", "llm operation")
    assert [list(record) for record in audit.records] == [[*SIX, "source", "reason"]] * 2
    assert [(record["source"], record["reason"]) for record in audit.records] == [
        ("env()", "why"),
        ("llm operation", "No matching grant found"),
    ]
    assert [list(record) for record, _, _ in heard] == [SIX, SIX]  # what goes into streams and their chains stays as it is
    for number in range(MOST_RECORDS):
        add(audit, str(number), True)
    assert list(audit.records[-1]) == [*SIX, "source", "reason"]
    assert audit.records[-1]["reason"] == audit.records[-1]["why"] == "2 more granted checks"


def test_a_listener_hears_each_record_as_it_is_made() -> None:
    heard: list[tuple[dict[str, Any], str, str | None]] = []
    audit = Audit(lambda: 1.0, listener=lambda *what: heard.append(what), keep=False)
    context = Context(EmbeddedHost(), audit=audit)
    context.capabilities.require("env", "A")
    context.check("env", "A")
    context.fork().check("env", "A")
    assert [(record["scope"], where, source) for record, where, source in heard] == [
        ("A", "program", None),
        ("A", "worker", None),
    ]
    assert audit.records == []


def test_nothing_is_kept_where_nobody_listens() -> None:
    context = Context(EmbeddedHost(), recorded=False)
    context.check("time")
    assert context.capabilities.audit is None and context.capabilities.records == []


def test_the_record_is_made_before_the_operation_and_stays_when_that_fails() -> None:
    answer = language.Program('require env("NOT_SET")\nenv("NOT_SET")').run()
    assert not answer["ok"]
    assert [(record["scope"], record["granted"]) for record in answer["audit"]] == [("NOT_SET", True)]


def test_no_secret_reaches_a_record() -> None:
    source = 'require secret("K")\nlet s be secret("K")\nprint(s)\ntry\n    env("X")\nrecover e\n    print("no")'
    answer = language.Program(source, env={"K": "plaintext-of-k"}).run()
    assert len(answer["audit"]) == 2
    assert "plaintext-of-k" not in str(answer)


def test_many_workers_write_one_list() -> None:
    source = 'require env("A")\ntask t(x)\n    env("A", "a")\n    give x\nparallel_map(t, range(200), 16)'
    assert len(language.Program(source).run()["audit"]) == 200
