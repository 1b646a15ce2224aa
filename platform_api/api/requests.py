"""What every route shares: the request, its principal, the platform."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request
from litestar.exceptions import SerializationException

from platform_api.accounts.principal import Principal
from platform_api.field_faults import refusal_of
from platform_api.platform import Platform
from platform_api.refusals import Refusal


class PlatformRequest(Request[Any, Any, Any]):
    """A request of the service."""

    async def json(self) -> Any:
        """The body as the record that the route takes.

        Errors: ``bad_request`` for what is not JSON; ``validation``, with its name, for a field of the wrong type: a text is
        not taken for a number, nor a number for a truth value.
        """
        try:
            value = await super().json()
        except RecursionError:
            raise Refusal("validation", "The body is nested too deep.") from None
        except SerializationException as error:
            raise Refusal("bad_request", f"The body is not JSON: {str(error).removesuffix('.')}.") from None
        field = self.route_handler.parsed_fn_signature.parameters.get("data")
        if field is None:
            return value
        try:
            return msgspec.convert(value, field.annotation)
        except msgspec.ValidationError as error:
            raise refusal_of(error) from None

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

    @property
    def known_address(self) -> str:
        """The same, where it is that of who asks; ``""`` where a proxy speaks for others that the operator has not named."""
        return self.address if self.scope["state"].get("address_known", True) else ""


class ApiRequest(PlatformRequest):
    """A request whose body is JSON whatever its content type says, and ``{}`` when there is none."""

    async def body(self) -> bytes:
        """The bytes of the body."""
        received = await super().body()
        return received if received.strip() else b"{}"
