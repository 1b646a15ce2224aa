"""Whether one capability grants all that another one grants, with patterns on both sides."""

from __future__ import annotations

from language.capabilities import Capability

#: More wildcards than this in one scope are not compared one by one.
MOST_STARS = 6


def surely_covers(outer: Capability, inner: Capability) -> bool:
    """Whether everything that ``inner`` grants is granted by ``outer`` too, patterns on both sides.

    A wildcard of ``inner`` stands for nothing and for a long run of something that no pattern spells. Paths of commands are
    compared as they are written: where they lead differs between machines. In doubt no.
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
