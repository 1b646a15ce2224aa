"""Requests made from the OpenAPI document: no fault of the service, and no answer that the document does not describe.

``SCHEMATHESIS_EXAMPLES`` is the number of requests an operation; ``make soak`` takes more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from platform_service import Service
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from stored_projects import stored_project

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "5"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]


@pytest.fixture
def unlimited(tmp_path: Path, database: str | None) -> Iterator[Service]:
    """A service that counts no requests."""
    with Service(tmp_path / "data", database=database, rate_limits=False) as running:
        yield running


def holds(operation: Any, headers: dict[str, str], project: str) -> None:
    """Sends requests of one operation: half of them about a project that there is."""

    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), known=st.booleans())
    def answered(case: schemathesis.Case, known: bool) -> None:
        if known and "project_id" in (case.path_parameters or {}):
            case.path_parameters["project_id"] = project
        case.call_and_validate(headers=headers, checks=CHECKS, timeout=60)

    answered()


def test_every_operation_answers_as_it_is_described(unlimited: Service) -> None:
    account = unlimited.account()
    headers = {"Authorization": f"Bearer {unlimited.token(account)}"}
    schema = schemathesis.openapi.from_url(f"{unlimited.url}/openapi.json")
    tried = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if "text/event-stream" in str(operation.definition.raw["responses"]["200"]):
            continue  # an answer without an end
        tried += 1
        holds(operation, headers, stored_project(unlimited.platform.store, account))
    assert tried >= 5
