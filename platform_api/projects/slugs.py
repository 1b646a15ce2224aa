"""The slug of a project: a label of a DNS name, made from the name that a person gave."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator

#: A label has at most 63 characters; the rest is room for a number.
_LONGEST = 50
_OTHERS = re.compile(r"[^a-z0-9]+")
#: Labels that a domain of projects needs for itself, or that a reader would take for the service.
_TAKEN = frozenset({"www", "api", "admin", "platform", "mail", "app", "apps", "login", "account", "static"})


def slug_of(name: str) -> str:
    """The slug for a name: small letters, digits and single hyphens; ``project`` where nothing is left."""
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return _OTHERS.sub("-", plain).strip("-")[:_LONGEST].strip("-") or "project"


def slug_note(name: str, slug: str) -> str:
    """Why a project has another slug than the one of its name, as a sentence; empty where it has that one."""
    plain = slug_of(name)
    if slug == plain:
        return ""
    why = f"the platform keeps {plain} for itself" if plain in _TAKEN else f"{plain} is taken by another project"
    return f"Its slug is {slug}, because {why}."


def free_slugs(name: str, taken: Container[str]) -> Iterator[str]:
    """The slugs for a name that are not taken, the plain one first, then those with a number."""
    slug = slug_of(name)
    if slug not in taken and slug not in _TAKEN:
        yield slug
    number = 2
    while True:
        if f"{slug}-{number}" not in taken:
            yield f"{slug}-{number}"
        number += 1
