"""The audit of a project tells of what its program asked for, and of nothing that was decided without it."""

from __future__ import annotations

import asyncio
import json

from language import call_json
from runner.audit import AuditDesk
from runner.protocol import AuditRecord

SOURCE = """require random
require llm
print("hello")
try
    reason about "x"
recover why
    print("refused")
"""


def test_what_every_program_is_given_or_refused_before_it_begins_is_no_record_of_a_project() -> None:
    told = json.loads(call_json(json.dumps({"op": "run", "source": SOURCE, "ceiling": "stdout"})))
    sources = [record["source"] for record in told["audit"]]
    assert sources.count("ambient") == 3 and told["errors"] == []
    kept: list[AuditRecord] = []

    async def story() -> None:
        desk = AuditDesk("prj_1", "dep_1", kept.append)
        for record in told["audit"]:
            desk.take(record, "program")
        desk.take({"capability": "net", "scope": "a.example", "granted": False, "source": "ambient"}, "runner")
        desk.flush()

    asyncio.run(story())
    assert [(record.capability, record.granted, record.witness) for record in kept] == [
        ("random", False, "program"),
        ("llm", False, "program"),
        ("stdout", True, "program"),
        ("llm", False, "program"),
        ("net", False, "runner"),
    ]
