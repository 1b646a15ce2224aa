"""The connections to the provider of a language model, over the HTTP client of the native host."""

from __future__ import annotations

from language.capabilities.scopes import NetTarget
from language.errors import RuntimeFault
from language.host.http import HttpRequest, NotConnected, TransportFailure
from language.models.attempts import NoAnswer
from language.models.settings import place_of
from language.native.http import NativeHttp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.models.attempts import Headers, OnHead

#: Seconds without a byte after which a connection counts as lost, regardless of how long the content may take.
_SILENCE = 600


class ModelTransport:
    """Reaches the provider at a base URL. ``http`` is used for nothing else, because its connections are made under the
    capability ``llm``.

    ``anywhere`` says whether the base URL may lead to any address that is not public. Without it, of those only the addresses
    of this machine are allowed.
    """

    def __init__(self, base: str, http: NativeHttp, *, anywhere: bool) -> None:
        place = place_of(base)
        assert place is not None, "the settings hold a base URL that was checked"
        host, port, self._path, secure = place
        scheme = "https" if secure else "http"
        self._target = NetTarget(scheme, host, port, "/", None)
        self._http = http
        self._anywhere = anywhere

    def post(
        self,
        path: str,
        headers: list[tuple[str, bytes]],
        body: bytes,
        connect: float,
        end: Callable[[], float],
        on_head: OnHead,
    ) -> tuple[int, Headers, bytes]:
        request = HttpRequest(
            *("POST", self._target, self._path + path, headers, body, _SILENCE, self._check_address),
            enough=on_head,
            connect=connect,
            deadline=end,
        )
        try:
            reply = self._http.exchange(request)
        except TransportFailure as error:
            raise NoAnswer(str(error), connected=not isinstance(error, NotConnected)) from error
        return reply.status, reply.headers, reply.body

    def _check_address(self, address: str, port: int) -> None:
        from ipaddress import ip_address

        if not self._anywhere and not ip_address(address.partition("%")[0]).is_loopback:
            raise RuntimeFault(
                f"the provider's base URL from .env leads to {address}, which is not public",
                kind="capability",
                help="Set PLATFORM_LLM_BASE_URL in the environment of the process.",
            )
