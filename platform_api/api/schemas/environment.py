"""Variables and secrets."""

from __future__ import annotations

from msgspec import Struct

from platform_api.api.schemas.shared import Answer


class PutSecret(Struct):
    """The body of ``PUT .../secrets/{name}``."""

    value: str


class PutValue(Struct):
    """The body of ``PUT .../env/{name}``. ``kind`` is ``secret`` or ``variable``; without it the program decides."""

    value: str
    kind: str | None = None


class SecretItem(Answer):
    """A stored secret: its name and fingerprint, never its value."""

    name: str
    fingerprint: str | None
    created_at: str


class Secrets(Answer):
    """The stored secrets of a project, and the names that the program still needs."""

    items: list[SecretItem]
    missing: list[str]


class EnvironmentItem(Answer):
    """A stored name. ``value`` is null for a secret, ``fingerprint`` for a variable."""

    name: str
    kind: str
    value: str | None
    fingerprint: str | None
    created_at: str


class EnvironmentItems(Answer):
    """The environment of a project. ``needs_redeploy``: it differs from what the last deploy took."""

    items: list[EnvironmentItem]
    missing: list[str]
    needs_redeploy: bool


class Stored(Answer):
    """A stored or removed name."""

    name: str
    ok: bool = True


class StoredAs(Stored, kw_only=True):
    """A stored name and its kind."""

    kind: str
