"""What every route shares: the request, its principal, the platform."""

from __future__ import annotations

from typing import Any

from litestar import Request

from platform_api.accounts.principal import Principal
from platform_api.platform import Platform


class PlatformRequest(Request[Any, Any, Any]):
    """A request of the service."""

    @property
    def principal(self) -> Principal:
        """Who makes the request. There on every route that is not open."""
        found = self.scope["state"]["principal"]
        assert isinstance(found, Principal)
        return found

    @property
    def platform(self) -> Platform:
        """The service that this request came to."""
        found = self.app.state.platform
        assert isinstance(found, Platform)
        return found

    @property
    def address(self) -> str:
        """Where the request came from."""
        return self.client.host if self.client else ""


class ApiRequest(PlatformRequest):
    """A request whose body is JSON whatever its content type says, and ``{}`` when there is none."""

    async def body(self) -> bytes:
        """The bytes of the body."""
        received = await super().body()
        return received if received.strip() else b"{}"
