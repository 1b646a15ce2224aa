"""Who makes a request, and what they may do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from platform_api.refusals import Refusal

#: The scopes of tokens.
SCOPES = ("read", "deploy", "secrets", "approve")
#: The scopes of a device that asks for none.
DEVICE_SCOPES = ("read", "deploy", "secrets")
#: Every scope, and ``account``, the right to manage the account and its tokens.
ALL_SCOPES = frozenset((*SCOPES, "account"))


@dataclass(frozen=True, slots=True)
class Principal:
    """The account behind a token or a browser session.

    Attributes:
        via: ``login``, ``device``, ``token`` or ``session``: how the caller was authenticated.
        scopes: what it may do. ``account`` is present only together with all of ``SCOPES``.
        token_id: the token, ``None`` for a browser session.
        project_id: the one project that a token is limited to, ``None`` for all of the account.
        session: the digest of the browser session in the store, ``None`` for a token.
    """

    account_id: str
    email: str
    name: str
    plan: str
    admin: bool
    via: str
    scopes: frozenset[str]
    token_id: str | None = None
    project_id: str | None = None
    session: bytes | None = field(default=None, repr=False)

    @property
    def is_person(self) -> bool:
        """Whether a person acts, or a token that a person gave the right to decide for them."""
        return "approve" in self.scopes

    def needs(self, scope: str) -> None:
        """Errors: ``forbidden``, naming the scope, if this token does not have it."""
        if scope not in self.scopes:
            raise Refusal(
                "forbidden",
                f"This token lacks the scope {scope!r}: it has {', '.join(sorted(self.scopes)) or 'none'}.",
                details={"scope": scope},
            )


def parse_scopes(names: Iterable[str], field: str = "scopes") -> tuple[str, ...]:
    """The scopes in their fixed order, each once.

    Errors: ``validation`` for a name that is no scope.
    """
    wanted = set(names)
    for name in sorted(wanted):
        if name not in SCOPES:
            raise Refusal("validation", f"{name!r} is no scope: there are {', '.join(SCOPES)}.", field=field)
    return tuple(scope for scope in SCOPES if scope in wanted)


@lru_cache(64)
def scopes_of(text: str) -> frozenset[str]:
    """The scopes of a stored token. One that has all of them may also list and revoke tokens."""
    scopes = frozenset(text.split())
    return ALL_SCOPES if scopes >= set(SCOPES) else scopes
