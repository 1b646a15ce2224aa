"""Capabilities by name and scope, and the ceiling that a host sets over a program."""

from __future__ import annotations

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
#: Accepted without effect, so that programs written for other implementations load.
INERT_NAMES = ("judge",)
IMPLICIT = ("stdout", "time", "llm")
#: The implicit capabilities of a program that serves. They lack `llm`, because anybody who reaches the service could spend its
#: owner's money on a model.
IMPLICIT_SERVED = ("stdout", "time")

ABOVE_CEILING = "above host ceiling (--sandbox/--cap-set)"

#: Names whose scopes have a canonical form and rules of their own (``language.capabilities.scopes``). Other scopes are compared
#: unchanged.
STRUCTURED = frozenset({"net", "db", "file", "file.read", "file.write"})


class Capability:
    """A pair of name and scope; scope ``None`` covers every scope of the name when granted. Scopes are canonical."""

    __slots__ = ("located", "name", "scope")

    def __init__(self, name: str, scope: str | None, located: str | None = None) -> None:
        self.name = name
        self.scope = scope
        self.located = located

    def locate(self) -> str | None:
        """For ``exec`` the absolute path that the scope names, or a pattern for paths; ``None`` where there is none.

        It is resolved at the first use and cached, so that folders which are replaced later have no effect. Raises
        ``RuntimeFault`` when it cannot be resolved.
        """
        if self.located is None and self.name == "exec" and self.scope is not None:
            from language.capabilities.commands import located_scope

            self.located = located_scope(self.scope)
        return self.located

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Capability) and (self.name, self.scope) == (other.name, other.scope)

    def __hash__(self) -> int:
        return hash((self.name, self.scope))

    def __repr__(self) -> str:
        return f"Capability({self.name!r}, {self.scope!r})"

    def covers(self, request: Capability) -> bool:
        """Whether this grant covers the request: it has the same name (``file`` covers reading and writing), and its scope
        includes the requested one.
        """
        if self.name != request.name and not (self.name == "file" and request.name in ("file.read", "file.write")):
            return False
        if self.scope is None:
            return True
        if request.scope is None:
            return False
        if self.name == "exec":
            from language.capabilities.commands import covers

            return covers(self, request)
        if self.scope == request.scope:
            return True
        if self.name in STRUCTURED:
            from language.capabilities.scopes import scope_covers

            return scope_covers(self.name, self.scope, request.scope)
        return glob(request.scope, self.scope)

    def __str__(self) -> str:
        name = self.name.replace(".", "_")
        return name if self.scope is None else f"{name}({text_literal(self.scope)})"

    @property
    def host(self) -> str | None:
        """The host that a ``net`` or ``db`` capability names, possibly with wildcards, without brackets and port.

        ``None`` where it names none: without a scope, for the file of a database, for any other name.
        """
        from language.capabilities.network_scopes import host_of

        return host_of(self)

    @property
    def written(self) -> str:
        """The spelling in the source of a program: ``file.read("x")``, where ``str`` gives ``file_read("x")``."""
        return self.name if self.scope is None else f"{self.name}({text_literal(self.scope)})"

    @property
    def require_line(self) -> str:
        """The line a program adds to declare it."""
        return f"require {self.written}"


def declared(name: str, scope: str | None) -> Capability:
    """The capability that a ``require`` line or a ceiling item names, in canonical form.

    Raises ``ValueError`` for a scope that no request can match (``net("https://")``).
    """
    name = canonical_name(name)
    if scope is not None and (name in STRUCTURED or name == "exec"):
        from language.capabilities.scopes import canonical_scope

        scope = canonical_scope(name, scope)
    return Capability(name, scope)


def unknown_name(name: str) -> tuple[str, str]:
    """The message for a name that is not a capability, and the help, which is empty if no known name resembles it."""
    from language.hints import did_you_mean

    meant = did_you_mean(name, NAMES)
    return f"Unknown capability type: '{name}'. Known: [{', '.join(NAMES)}]", f"did you mean `{meant}`?" if meant else ""


def canonical_name(name: str) -> str:
    """Accepts ``file_read`` and ``file_write`` as spellings of ``file.read`` and ``file.write``."""
    return _SPELLINGS.get(name, name)


_SPELLINGS = {"file_read": "file.read", "file_write": "file.write"}


def text_literal(text: str) -> str:
    """The text as a literal of the language on one line, with line ends and control characters escaped."""
    if text.isprintable() and not ('"' in text or "\\" in text):
        return f'"{text}"'
    characters = (f"\\u{{{ord(c):x}}}" if not c.isprintable() else "\\" + c if c in '\\"' else c for c in text)
    return f'"{"".join(characters)}"'


def glob(text: str, pattern: str) -> bool:
    """Whether the whole text matches a pattern: ``*`` matches any run of characters, ``?`` exactly one. Uses linear space."""
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
    """The upper bound that a host sets for a program's capabilities. A request that no item covers is refused, even if the
    program declares it.

    ``items`` are capabilities in canonical form. ``str`` of a ceiling is the text that ``--cap-set`` and :meth:`parse`
    accept.
    """

    __slots__ = ("items",)

    def __init__(self, items: tuple[Capability, ...]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ceiling) and self.items == other.items

    def __hash__(self) -> int:
        return hash(self.items)

    def __repr__(self) -> str:
        return f"Ceiling.parse({str(self)!r})"

    def covers(self, request: Capability) -> bool:
        """Whether an item covers the request."""
        return any(item.covers(request) for item in self.items)

    def covers_connection(self, host: str, port: int) -> bool:
        """Whether a connection to this host (a name, or an address without brackets) and port (1 to 65535) is allowed.

        That is so if a ``net`` item covers it, or if a ``db`` item covers a database there. A database without a port has the
        default port of its scheme. Names are not resolved.
        """
        from language.capabilities.network_scopes import covers_connection

        return any(covers_connection(item, host, port) for item in self.items)

    def intersection(self, other: Ceiling) -> Ceiling:
        """What both ceilings allow: the items of each that an item of the other certainly covers, without duplicates.

        Nothing is kept of two patterns that overlap only partly. So the result never allows more than either ceiling, and may
        allow less than both.
        """
        from language.capabilities.widening import surely_covers

        kept: list[Capability] = []
        for ours, theirs in ((self, other), (other, self)):
            for item in ours.items:
                if item not in kept and any(surely_covers(wider, item) for wider in theirs.items):
                    kept.append(item)
        return Ceiling(tuple(kept))

    @classmethod
    def parse(cls, text: str, *, label: str = "--cap-set") -> Ceiling:
        """Parses ``name`` and ``name=scope`` items separated by commas; ``none`` alone covers nothing.

        ``\\,`` and ``\\\\`` in a scope are a comma and a backslash. Raises ``ValueError`` with the text of the manual,
        beginning with ``label``.
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
            try:
                items.append(declared(name, scope))
            except ValueError as error:
                raise ValueError(f"{label}: {error}") from None
        if not items:
            raise ValueError(f"{label} requires at least one capability")
        return cls(tuple(items))

    def __str__(self) -> str:
        """The items in the syntax that :meth:`parse` reads back; ``none`` for a ceiling that covers nothing."""
        shown = []
        for item in self.items:
            scope = None if item.scope is None else item.scope.replace("\\", "\\\\").replace(",", "\\,")
            shown.append(item.name if scope is None else f"{item.name}={scope}")
        return ",".join(shown) or "none"

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
