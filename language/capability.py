"""What a program may do: grants, the ceiling above them, and one audit record for every decision.

Deny by default. A program holds a capability only when its own source requires it (or the runtime grants it implicitly) and the
ceiling, when there is one, covers it.
"""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAMES = (
    "net",
    "file",
    "file.read",
    "file.write",
    "exec",
    "env",
    "time",
    "random",
    "stdout",
    "stdin",
    "llm",
    "db",
    "serve",
    "secret",
    "reveal",
    "sign",
    "wallet",
    "spend",
    "memory",
    "sandbox_run",
)
#: Known so that public programs load; without effect here.
INERT_NAMES = ("judge",)
IMPLICIT = ("stdout", "time", "llm")

ABOVE_CEILING = "above host ceiling (--sandbox/--cap-set)"


class Capability:
    """A pair of name and scope; scope ``None`` covers every scope of the name when granted."""

    __slots__ = ("name", "scope")

    def __init__(self, name: str, scope: str | None) -> None:
        self.name = name
        self.scope = scope

    def covers(self, request: Capability) -> bool:
        """Whether this grant covers the request (3.3 of the manual)."""
        if self.name != request.name and not (self.name == "file" and request.name in ("file.read", "file.write")):
            return False
        if self.scope is None:
            return True
        if request.scope is None:
            return False
        return self.scope == request.scope or glob(request.scope, self.scope)

    def __str__(self) -> str:
        name = self.name.replace(".", "_")
        return name if self.scope is None else f'{name}("{self.scope}")'

    @property
    def require_line(self) -> str:
        """The line a program adds to declare it."""
        return f"require {self.name}" if self.scope is None else f'require {self.name}("{self.scope}")'


def canonical_name(name: str) -> str:
    """``file_read`` and ``file_write`` are input spellings of ``file.read`` and ``file.write``."""
    return {"file_read": "file.read", "file_write": "file.write"}.get(name, name)


def glob(text: str, pattern: str) -> bool:
    """``*`` is any run of characters, ``?`` exactly one, everything else literal; the whole text must match. Linear space."""
    position = star = 0
    star_pattern = -1
    at = 0
    while position < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star_pattern, star = at, position
            at += 1
        elif at < len(pattern) and (pattern[at] == "?" or pattern[at] == text[position]):
            at += 1
            position += 1
        elif star_pattern >= 0:
            star += 1
            position = star
            at = star_pattern + 1
        else:
            return False
    return pattern[at:].strip("*") == ""


class Ceiling:
    """The upper bound set by the host: a list of capabilities, each an item that may be covered."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Capability, ...]) -> None:
        self.items = items

    def covers(self, request: Capability) -> bool:
        return any(item.covers(request) for item in self.items)

    @classmethod
    def parse(cls, text: str, *, label: str = "--cap-set") -> Ceiling:
        """Reads ``name`` and ``name=scope`` items separated by commas; ``none`` alone covers nothing.

        ``\\,`` and ``\\\\`` in a scope are a comma and a backslash. Raises ``ValueError`` with the text of the manual, begun by
        ``label``.
        """
        items: list[Capability] = []
        pieces = _split_items(text)
        names = [piece for piece, _ in pieces]
        if names == ["none"] and pieces[0][1] is None:
            return cls(())
        for raw_name, scope in pieces:
            name = canonical_name(raw_name)
            if name not in NAMES:
                known = ", ".join(NAMES)
                raise ValueError(f"{label}: unknown capability '{raw_name}'. Known: {known} (or \"none\" for an empty ceiling)")
            if scope == "":
                raise ValueError(f"{label}: empty scope for '{raw_name}'")
            items.append(Capability(name, scope))
        if not items:
            raise ValueError(f"{label} requires at least one capability")
        return cls(tuple(items))

    @classmethod
    def sandbox(cls) -> Ceiling:
        """What ``--sandbox`` allows: ``stdout`` and ``time``."""
        return cls((Capability("stdout", None), Capability("time", None)))


def _split_items(text: str) -> list[tuple[str, str | None]]:
    items: list[tuple[str, str | None]] = []
    current: list[str] = []
    name: str | None = None

    def finish() -> None:
        nonlocal name
        piece = "".join(current).strip()
        if name is not None:
            items.append((name, piece))
        elif piece:
            items.append((piece, None))
        current.clear()
        name = None

    characters = iter(text)
    for character in characters:
        if character == "\\" and name is not None:
            following = next(characters, "")
            current.append(following if following in (",", "\\") else "\\" + following)
        elif character == ",":
            finish()
        elif character == "=" and name is None:
            name = "".join(current).strip()
            current.clear()
        else:
            current.append(character)
    finish()
    return items


class CapabilitySet:
    """The grants of one running program under its ceiling, and the audit of what was decided.

    ``records`` holds the newest decisions as maps with the six fields of the contract.
    """

    def __init__(self, ceiling: Ceiling | None, now: Any) -> None:
        self.ceiling = ceiling
        self.grants: list[Capability] = []
        self.records: list[dict[str, Any]] = []
        self.depth = 0  # how many sandbox blocks are open
        self._now = now
        self._rejected: list[Capability] = []
        self._frozen = False
        for name in IMPLICIT:
            implicit = Capability(name, None)
            if ceiling is None or ceiling.covers(implicit):
                self.grants.append(implicit)
                if ceiling is not None:
                    self._record(implicit, True, "runtime", "auto-granted by the runtime")
            else:
                self._record(implicit, False, "runtime", ABOVE_CEILING)

    def require(self, name: str, scope: str | None) -> None:
        """Executes a ``require`` line: a grant if one ceiling item covers it as a whole; nothing inside ``sandbox``."""
        if self.depth or self._frozen:
            return
        capability = Capability(name, scope)
        if self.ceiling is None or self.ceiling.covers(capability):
            self.grants.append(capability)
        else:
            self._rejected.append(capability)
            self._record(capability, False, "program", ABOVE_CEILING)

    def fork(self) -> CapabilitySet:
        """What a worker holds: exactly these grants, whatever it requires; sandboxes of its own; the same audit."""
        copy = object.__new__(CapabilitySet)
        copy.ceiling = self.ceiling
        copy.grants = list(self.grants)
        copy.records = self.records
        copy.depth = self.depth
        copy._now = self._now
        copy._rejected = self._rejected
        copy._frozen = True
        return copy

    def check(self, name: str, scope: str | None) -> None:
        """Grants or refuses one request and records it. Raises ``RuntimeFault`` without a place when refused."""
        request = Capability(name, scope)
        grants = [] if self.depth else self.grants
        grant = next((g for g in grants if g.covers(request)), None)
        if self.ceiling is not None and not self.ceiling.covers(request):
            if grant is not None or any(r.covers(request) for r in self._rejected):
                self._record(request, False, "program", ABOVE_CEILING)
                raise RuntimeFault(
                    f"Capability not granted: {request} — declared but above the host ceiling (--sandbox/--cap-set); "
                    "the host must widen the ceiling"
                )
        elif grant is not None:
            self._record(request, True, "program", f"Granted by {grant}")
            return
        self._record(request, False, "program", "No matching grant found")
        raise RuntimeFault(_no_grant(request))

    def check_output(self, name: str) -> None:
        """The gate of ``stdout`` and ``stdin``: only under a ceiling, and open inside ``sandbox`` as far as the ceiling is."""
        if self.ceiling is None:
            return
        depth, self.depth = self.depth, 0
        try:
            if name == "stdin":
                self.grants.append(Capability("stdin", None))
            self.check(name, None)
        finally:
            self.depth = depth
            if name == "stdin":
                self.grants.pop()

    def _record(self, capability: Capability, granted: bool, origin: str, why: str) -> None:
        if len(self.records) >= 10_000:
            del self.records[0]
        self.records.append(
            {
                "ts": round(self._now(), 3),
                "capability": capability.name,
                "scope": capability.scope,
                "granted": granted,
                "origin": origin,
                "why": why,
            }
        )


def _no_grant(request: Capability) -> str:
    if request.name in ("env", "secret") and request.scope is not None:
        head, underscore, _ = request.scope.partition("_")
        prefix = f' (or a prefix: `require {request.name}("{head}_*")`)' if underscore and head else ""
        add = f"add `{request.require_line}`{prefix}"
        return f"Capability not granted: {request} — {request} not permitted: missing capability — {add}"
    return (
        f"Capability not granted: {request} — add `{request.require_line}` at the top of the program "
        "(the importing file, for code in a module)"
    )
