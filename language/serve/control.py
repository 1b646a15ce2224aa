"""The gates of a program that does not serve: only the reserved routes, for the runner or operator of the program."""

from __future__ import annotations

from language.gates.signature import verify_signature
from language.serve import approvals
from language.serve.reply import Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.gates.queue import GateQueue
    from language.serve.request import Request


class ControlApplication:
    """The application of the control listener. With ``secret`` every request must be signed like the webhook: with the HMAC of
    its exact body, also of an empty one, in ``X-Platform-Signature``.
    """

    in_flight = 0

    def __init__(self, queue: GateQueue, secret: str | None) -> None:
        self._queue = queue
        self._secret = secret

    def body_limit(self, request: Request) -> int:
        return approvals.BODY_LIMIT

    def is_reserved(self, request: Request) -> bool:
        return True

    def respond(self, request: Request) -> Reply:
        if not self._is_signed(request):
            return _error(401, "missing or wrong signature")
        path = approvals.shown_path(request.path)
        return approvals.answer(self._queue, request) or _error(404, f"no route for {request.method} {path}")

    def too_large(self, request: Request) -> Reply:
        return approvals.too_large()

    def stopping(self, request: Request) -> Reply:
        return _error(503, "the program has ended")

    def begin_shutdown(self) -> None:
        self._queue.refuse_new()

    def close_gates(self) -> None:
        self._queue.close()

    def cancel_all(self) -> None:
        pass  # no request blocks here, so there is nothing to cancel

    def _is_signed(self, request: Request) -> bool:
        if self._secret is None:
            return True
        return verify_signature(self._secret, request.body, request.field("x-platform-signature"))


def _error(status: int, text: str) -> Reply:
    import json

    body = json.dumps({"error": text, "status": status}).encode()
    return Reply(status, "application/json", body, [("Cache-Control", "no-store")])
