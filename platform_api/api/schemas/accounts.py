"""Accounts and their tokens."""

from __future__ import annotations

from msgspec import Struct

from platform_api.api.schemas.shared import Answer


class Account(Answer):
    """An account, and how the token of this call was obtained."""

    id: str
    email: str
    name: str
    plan: str
    admin: bool
    via: str


class Login(Struct):
    """The body of ``POST /auth/login``."""

    email: str
    password: str


class SignedIn(Answer):
    """A token, which is shown once, and its account."""

    token: str
    user: Account


class Token(Answer):
    """An API token, without the token itself."""

    id: str
    name: str
    scopes: list[str]
    via: str
    project_id: str | None
    created_at: str
    last_used_at: str


class Tokens(Answer):
    """The tokens of an account."""

    items: list[Token]
