"""Where an account wants its notices."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from platform_api.api.schemas.shared import PLAIN, Answer


class NewNotice(Struct):
    """The body of ``POST .../notices``. ``url`` is one of apprise (https://appriseit.com/services/)."""

    url: Annotated[str, Meta(min_length=1, max_length=2000, pattern=PLAIN)]
    name: Annotated[str, Meta(max_length=100, pattern=PLAIN)] = ""
    kinds: list[str] | None = None


class Notice(Answer):
    """A setting, without its URL: that holds tokens and passwords. ``service`` is how the URL begins."""

    id: str
    project_id: str | None
    name: str
    service: str
    kinds: list[str]
    created_at: str
    sent_at: str | None
    failed_at: str | None
    error: str | None


class Notices(Answer):
    """Settings, newest first."""

    items: list[Notice]


class NoticeMade(Answer):
    """A setting that was made."""

    id: str
    ok: bool = True
