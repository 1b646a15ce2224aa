"""The effective ceiling of a program: what it declares, less what the plan denies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from language import Capability, Ceiling
from platform_api.addresses import is_private_host

if TYPE_CHECKING:
    from platform_api.packages.package import Inspection
    from platform_api.plans.plans import Plan

#: The capabilities that a plan can deny as a whole.
_NAMES = (
    "exec",
    "net",
    "db",
    "file",
    "file.read",
    "file.write",
    "env",
    "secret",
    "reveal",
    "llm",
    "memory",
    "sandbox_run",
    "spend",
)


@dataclass(frozen=True, slots=True)
class CeilingItem:
    """One capability of a ceiling. ``line`` is that of its ``require`` line, ``None`` for what is always there."""

    capability: str
    scope: str | None
    line: int | None

    def to_json(self) -> dict[str, Any]:
        """As an answer shows it."""
        return {"capability": self.capability, "scope": self.scope, "line": self.line}


@dataclass(frozen=True, slots=True)
class DeniedItem:
    """One capability that the plan does not allow, with the sentence that says so."""

    capability: str
    scope: str | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As an answer shows it."""
        return {"capability": self.capability, "scope": self.scope, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class EffectiveCeiling:
    """What a program is started with.

    Attributes:
        text: as ``--cap-set`` of ``lang run`` and ``lang serve`` takes it.
        denied_by_plan: what the program declares besides.
    """

    text: str
    items: tuple[CeilingItem, ...]
    denied_by_plan: tuple[DeniedItem, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As answers show it and as a deploy keeps it."""
        return {
            "text": self.text,
            "items": [item.to_json() for item in self.items],
            "denied_by_plan": [item.to_json() for item in self.denied_by_plan],
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> EffectiveCeiling:
        """The ceiling of ``to_json``."""
        return cls(
            record["text"],
            tuple(CeilingItem(**item) for item in record["items"]),
            tuple(DeniedItem(**item) for item in record.get("denied_by_plan", ())),
        )


def effective(inspection: Inspection, plan: Plan) -> EffectiveCeiling:
    """What the plan leaves of what a program declares."""
    lines = {(line.capability, line.scope): line for line in reversed(inspection.requires) if line.file == inspection.entry}
    kept: list[Capability] = []
    items: list[CeilingItem] = []
    denied: list[DeniedItem] = []
    for item in Ceiling.parse(inspection.ceiling).items:
        line = lines.get((item.name, item.scope))
        why = denied_because(item, plan)
        if why:
            place = f" ({line.file}, line {line.line})" if line else ""
            denied.append(DeniedItem(item.name, item.scope, f"{item.require_line}{place}: {why}"))
        else:
            kept.append(item)
            items.append(CeilingItem(item.name, item.scope, line.line if line else None))
    return EffectiveCeiling(str(Ceiling(tuple(kept))), tuple(items), tuple(denied))


def denied_because(item: Capability, plan: Plan) -> str:
    """Why a plan does not allow a capability; the empty text where it does."""
    for denial in plan.above:
        if DENIALS[denial](item):
            return f"the plan {plan.name} does not allow {_SAID.get(denial, denial)}."
    return ""


def _names(name: str) -> Callable[[Capability], bool]:
    return lambda item: item.name == name


def _reaches_url(item: Capability) -> bool:
    return item.name == "db" and (item.scope is None or item.scope == "*" or "://" in item.scope)


def _any_host(item: Capability) -> bool:
    return item.name == "net" and (item.host is None or not item.host.strip("*?."))


def _wide_host(item: Capability) -> bool:
    host = item.host or ""
    if item.name != "net" or not _has_wildcard(host):
        return False
    labels = host.rstrip(".").split(".")
    return len(labels) < 3 or _has_wildcard(labels[-1]) or _has_wildcard(labels[-2]) or ":" in host


def _private_host(item: Capability) -> bool:
    return item.name == "net" and bool(item.host) and is_private_host(item.host or "")


def _has_wildcard(text: str) -> bool:
    return "*" in text or "?" in text


#: What a plan can deny, and which capabilities that is.
DENIALS: dict[str, Callable[[Capability], bool]] = {
    **{name: _names(name) for name in _NAMES},
    "db url": _reaches_url,
    "net any": _any_host,
    "net wide": _wide_host,
    "net private": _private_host,
}
_SAID = {
    "db url": "databases over the network: name a file",
    "net any": "the network without a host: name the hosts",
    "net wide": "a wildcard over less than two fixed labels: name the hosts, or a domain such as *.example.com",
    "net private": "addresses that are not of the public network",
}
