"""Accounts and their tokens."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from platform_api.api.schemas.shared import Answer, Name


class Account(Answer):
    """An account, and how the token of this call was obtained."""

    id: str
    email: str
    name: str
    plan: str
    admin: bool
    via: str


class Login(Struct):
    """The body of ``POST /auth/login``.

    Attributes:
        code: what the authenticator app shows, for an account with a second factor.
    """

    email: str
    password: str
    code: str | None = None


class SignedIn(Answer):
    """A token, which is shown once, and its account."""

    token: str
    user: Account


class Device(Struct):
    """The body of ``POST /auth/device``.

    Attributes:
        name: how the person knows the device.
        scopes: what its token shall do; none stands for ``read``, ``deploy`` and ``secrets``.
    """

    name: Name = "device"
    scopes: list[str] = []


class DeviceAsked(Answer):
    """The codes of a device.

    Attributes:
        device_code: what ``POST /auth/device/token`` takes.
        user_code: what the person types at ``verify_url``.
        expires_in: seconds.
        interval: seconds between two polls.
    """

    device_code: str
    user_code: str
    verify_url: str
    expires_in: int
    interval: int


class DevicePoll(Struct):
    """The body of ``POST /auth/device/token``."""

    device_code: str


class DeviceAnswer(Answer, omit_defaults=True):
    """``pending`` while nobody has decided; ``ok`` with the token, once."""

    status: Literal["pending", "ok"]
    token: str | None = None
    user: Account | None = None


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
    next_cursor: str | UnsetType | None = UNSET
