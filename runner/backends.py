"""What the ingress asks of a web project: where its program listens, and to be let in before a request goes there."""

from __future__ import annotations

from typing import Protocol


class StartFailed(Exception):
    """The program did not start.

    Args:
        reason: for the log of the project; visitors do not see it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StartTimeout(Exception):
    """The program was not ready within the seconds that a request is held."""


class Unavailable(Exception):
    """The project is not meant to be up: it was stopped, or never deployed."""


class Backend(Protocol):
    """A web project as the ingress sees it. Each entry that succeeded is followed by exactly one ``leave``.

    Attributes:
        project: its id.
        slug: its name in addresses.
        port: where projects are told apart by ports, else ``None``.
        epoch: grows when the listening program was exchanged for a newer one: connections that were kept from before carry no
            further request.
    """

    @property
    def project(self) -> str: ...

    @property
    def slug(self) -> str: ...

    @property
    def port(self) -> int | None: ...

    @property
    def epoch(self) -> int: ...

    def enter_at_once(self) -> str | None:
        """The path of the listening Unix socket if the program is ready; ``None`` when it has to be waited for, and then
        nothing was entered.
        """

    async def enter(self) -> str:
        """The same for a program that may have to be woken, resumed or waited for.

        Errors: ``StartFailed``, ``StartTimeout``, ``Unavailable``.
        """

    def leave(self) -> None:
        """A request, or a stream, has ended."""
