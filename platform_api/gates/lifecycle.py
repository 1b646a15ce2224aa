"""What becomes of a gate, as functions from one record to the next. A gate is decided once."""

from __future__ import annotations

from dataclasses import dataclass, replace

STATUSES = ("pending", "approved", "denied", "answered")
TYPES = ("approve", "confirm", "ask")


@dataclass(frozen=True, slots=True)
class GateState:
    """A gate.

    Attributes:
        expires_at: milliseconds since 1970; from then on nobody decides it.
        value: the answer to an ``ask``.
        expired: nobody decided in time, or the program was gone. The status is then ``denied``.
        delivered: whether the program was told.
        undelivered: a decision that never reached the program. The status is then ``denied`` and ``expired`` holds.
    """

    type: str
    expires_at: int
    status: str = "pending"
    value: str | None = None
    expired: bool = False
    delivered: bool = False
    undelivered: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether nobody has decided it."""
        return self.status == "pending"

    @property
    def is_on_its_way(self) -> bool:
        """Whether it was decided here and the program is still to be told."""
        return not self.is_pending and not self.delivered and not self.expired


def fits(type_: str, decision: bool | None, value: str | None) -> bool:
    """Whether a decision is of the form that the type of a gate takes."""
    return value is not None and decision is None if type_ == "ask" else decision is not None and value is None


def decided(before: GateState, moment: int, decision: bool | None, value: str | None) -> GateState | None:
    """After somebody has decided; ``None`` where it is too late."""
    assert fits(before.type, decision, value)
    if not before.is_pending or moment >= before.expires_at:
        return None
    if before.type == "ask":
        return replace(before, status="answered", value=value)
    return replace(before, status="approved" if decision else "denied")


def expired(before: GateState) -> GateState:
    """After its time is up: denied when nobody has decided, and denied as well when nobody could tell the program."""
    if before.is_pending:
        return replace(before, status="denied", expired=True)
    if before.is_on_its_way:
        return replace(before, status="denied", value=None, expired=True, undelivered=True)
    return before


def closed(before: GateState, outcome: str, *, delivered: bool, channel: str, value: str | None = None) -> GateState:
    """After the runner said how it ended.

    Args:
        outcome: ``approved``, ``denied``, ``answered`` or ``expired``.
        delivered: whether the program was told what was decided here.
        channel: ``api`` where it was told what was decided here; another word where somebody decided elsewhere.
    """
    if before.delivered or before.expired:
        return before
    if before.is_on_its_way:
        if delivered and channel == "api":
            return replace(before, delivered=True)
        if outcome == "expired" or not delivered:
            return expired(before)
        # Decided at the program itself in the same moment: what the program was told is what holds.
        return replace(before, status=outcome, value=value, delivered=True)
    if outcome == "expired":
        return expired(before)
    return replace(before, status=outcome, value=value, delivered=True)
