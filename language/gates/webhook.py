"""The webhook of human gates: one signed ``POST`` for every queued gate. Its success or failure does not affect the gate."""

from __future__ import annotations

from _thread import start_new_thread
from collections import deque

from language.gates import notice
from language.gates.signature import webhook_signature
from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from language.host import Host
    from language.shared.gate_board import GateRecord

#: The most concurrent deliveries: two thousand gates must not open two thousand connections to a receiver that hangs.
MOST_SENDERS = 32


class Webhook:
    """The webhook's URL and the threads that deliver to it."""

    def __init__(self, host: Host, url: str, secret: str | None, public_url: str | None) -> None:
        self._host = host
        self._url = url
        self._secret = secret
        self._public_url = public_url
        self.begin()

    def begin(self) -> None:
        """Marks this process as having no deliveries under way."""
        self._lock = Lock()
        self._outbox: deque[bytes] = deque()
        self._senders = 0

    def body(self, record: GateRecord, token: str) -> bytes:
        """The JSON body of a delivery."""
        import json

        fields: dict[str, Any] = {
            "id": record.id,
            "type": record.kind,
            "message": record.message,
            "expires_at": record.expires_at,
            "token": token,
            "respond_path": f"/approvals/{record.id}",
        }
        if record.options is not None:
            fields["options"] = record.options
        if self._public_url is not None:
            address = f"{self._public_url.rstrip('/')}/approvals/{record.id}"
            page = f"{address}/{token}"
            fields.update(
                respond_url=address, respond_page=page, respond_link_yes=page + "?d=yes", respond_link_no=page + "?d=no"
            )
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def headers(self, body: bytes) -> dict[str, str]:
        """The headers of a delivery; with a secret, the signature of the exact body."""
        headers = {"Content-Type": "application/json"}
        if self._secret is not None:
            headers["X-Platform-Signature"] = webhook_signature(self._secret, body)
        return headers

    def send(self, record: GateRecord, token: str) -> None:
        """Starts the single attempt to deliver, and returns."""
        body = self.body(record, token)
        with self._lock:
            self._outbox.append(body)
            if self._senders >= MOST_SENDERS:
                return
        try:
            start_new_thread(self._deliver, ())
        except RuntimeError:
            with self._lock:
                if not self._senders:
                    self._outbox.clear()
            self._failed("cannot start a thread")

    def _deliver(self) -> None:
        # Counted here and not by the new thread: a cancellation of the thread that starts it can end it before its first
        # statement.
        with self._lock:
            if self._senders >= MOST_SENDERS:
                return
            self._senders += 1
        while True:
            with self._lock:
                if not self._outbox:
                    self._senders -= 1
                    return
                body = self._outbox.popleft()
            reason = self._host.post_webhook(self._url, body, self.headers(body))
            if reason is not None:
                self._failed(reason)

    def _failed(self, reason: str) -> None:
        notice(
            self._host,
            "webhook",
            f"the approval webhook could not be delivered ({reason}). The gate waits all the same: decide it by the console "
            "line.",
        )


def configured(host: Host, settings: Mapping[str, str]) -> Webhook | None:
    """The webhook that the host configured. A URL that is not ``http`` or ``https`` gives a warning and no webhook."""
    url = settings.get("PLATFORM_HUMAN_WEBHOOK") or ""
    if not url.startswith(("http://", "https://")):
        host.write_error_line("lang: warning: PLATFORM_HUMAN_WEBHOOK is no http or https URL: no webhook is sent")
        return None
    secret = settings.get("PLATFORM_HUMAN_WEBHOOK_SECRET") or None
    return Webhook(host, url, secret, settings.get("PLATFORM_HUMAN_PUBLIC_URL") or None)
