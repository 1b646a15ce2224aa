"""Cookies between a browser, the programs and the dashboard (RFC 6265).

A browser sends cookies to every port of a host and, where one has a ``Domain``, to every host below it. No program may read
or replace those of another one or of the dashboard. So the cookies of the dashboard go through in no direction, ``Domain`` is
dropped, and where projects share a host each has names of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

#: What browsers demand of cookies with these names must stay true of the changed ones.
_MARKED = (b"__Host-", b"__Secure-")


def prefix_of(slug: str) -> bytes:
    """What the names of a project's cookies begin with where projects share a host.

    Slugs hold no underscore, so that no prefix is the beginning of another one: ``shop`` and ``shop-2`` are two projects.
    """
    return b"p-%b_" % slug.encode()


class CookieRules:
    """What becomes of the cookies of one project.

    Args:
        kept_back: names of cookies that are the dashboard's.
        prefix: what the names of this project's cookies begin with outside, where others share its host; else ``b""``.
    """

    __slots__ = ("_kept_back", "_prefix")

    def __init__(self, kept_back: Iterable[bytes], prefix: bytes = b"") -> None:
        self._kept_back = frozenset(name.lower() for name in kept_back)
        self._prefix = prefix

    def to_program(self, value: bytes) -> bytes:
        """A ``Cookie`` field without what is not the program's; ``b""`` where nothing is left."""
        kept = []
        for pair in value.split(b";"):
            pair = pair.strip(b" \t")
            name, equals, rest = pair.partition(b"=")
            name = name.strip(b" \t")
            if not equals:
                name, rest = b"", pair  # a cookie without a name
            inside = None if name.lower() in self._kept_back else self._inside(name)
            if pair and inside is not None:
                kept.append(inside + b"=" + rest if equals else rest)
        return b"; ".join(kept)

    def to_browser(self, value: bytes) -> bytes | None:
        """A ``Set-Cookie`` field under the name that it has outside, without ``Domain``; ``None`` where it is not set."""
        pair, *attributes = value.split(b";")
        name, equals, rest = pair.partition(b"=")
        name = name.strip(b" \t")
        if not equals or not name:
            return None  # a cookie without a name could pass for any other one
        outside = self._outside(name)
        if outside.lower() in self._kept_back:
            return None
        kept = [each for each in attributes if each.partition(b"=")[0].strip(b" \t").lower() != b"domain"]
        return b";".join([outside + b"=" + rest.strip(b" \t"), *kept])

    def _inside(self, name: bytes) -> bytes | None:
        if not self._prefix:
            return name
        for mark in (*_MARKED, b""):
            if name.startswith(mark + self._prefix):
                return mark + name[len(mark) + len(self._prefix) :]
        return None

    def _outside(self, name: bytes) -> bytes:
        if not self._prefix:
            return name
        for mark in _MARKED:
            if name.lower().startswith(mark.lower()):
                return name[: len(mark)] + self._prefix + name[len(mark) :]
        return self._prefix + name
