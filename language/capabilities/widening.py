"""Whether one capability includes another one, with patterns on both sides."""

from __future__ import annotations

from language.capabilities import Capability

#: Scopes with more wildcards than this are not compared by their alternatives.
MOST_STARS = 6


def surely_covers(outer: Capability, inner: Capability) -> bool:
    """Whether ``outer`` certainly grants everything that ``inner`` grants, with patterns on both sides.

    A wildcard of ``inner`` is tried as the empty text and as a long run of characters that no pattern contains. Paths of
    commands are compared as written, because they resolve differently on each machine. When in doubt the result is
    ``False``.
    """
    outer, inner = (Capability(held.name, held.scope, held.scope) for held in (outer, inner))
    if inner.scope is None or outer.scope is None or outer.scope == inner.scope:
        return outer.covers(inner)
    if inner.scope == "*":
        return outer.covers(inner) and set(outer.scope) == {"*"}
    text = "*" if inner.scope == "./*" else inner.scope
    pieces = text.replace("?", "\x01").split("*")
    if len(pieces) > MOST_STARS:
        return False
    long = "\x02" * (len(outer.scope) + 1)
    for choice in range(2 ** (len(pieces) - 1)):
        scope = pieces[0]
        for at, piece in enumerate(pieces[1:]):
            scope += (long if choice >> at & 1 else "") + piece
        if not outer.covers(Capability(inner.name, scope, scope)):
            return False
    return True
