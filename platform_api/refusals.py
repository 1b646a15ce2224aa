"""What a request is refused with: the one exception that becomes an error answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Every ``code`` of an error answer, with the status that goes with it.
STATUSES = {
    "bad_request": 400,
    "validation": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "plan_limit": 409,
    "already_running": 409,
    "not_deployed": 409,
    "gate_closed": 409,
    "gone": 410,
    "payload_too_large": 413,
    "misdirected": 421,
    "upstream_failed": 422,
    "rate_limited": 429,
    "internal": 500,
    "unavailable": 503,
}


class Refusal(Exception):
    """A request that is not carried out.

    Args:
        code: one of ``STATUSES``; the status of the answer follows from it.
        message: a sentence that a person can act on.
        field: the field of the request that is at fault.
        details: what a client needs beyond the sentence.
        retry_after: seconds until the same request may succeed; sent as ``Retry-After``.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        field: str | None = None,
        details: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = STATUSES[code]
        self.message = message
        self.field = field
        self.details = details
        self.retry_after = retry_after

    def body(self, request_id: str | None = None) -> dict[str, Any]:
        """The error answer. ``request_id`` is told for faults of the service alone."""
        body: dict[str, Any] = {"error": self.message, "status": self.status, "code": self.code}
        if self.field is not None:
            body["field"] = self.field
        if self.details is not None:
            body["details"] = dict(self.details)
        if self.status >= 500 and request_id is not None:
            body["request_id"] = request_id
        return body


def not_found(what: str) -> Refusal:
    """What is not there, or belongs to another account, which is answered alike."""
    return Refusal("not_found", f"There is no such {what}.")


def internal() -> Refusal:
    """A fault of the service, of which nothing is told."""
    return Refusal("internal", "Something failed inside the service. The operator finds it in the log under this request id.")
