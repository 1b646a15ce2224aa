"""Gates of a program under ``lang run`` that a runner answers: ``PLATFORM_CONTROL_ADDR`` (``docs/gates.md``)."""

from __future__ import annotations

import os

from language.cli.arguments import UsageError, clean
from language.errors import RuntimeFault
from language.gates.queue import GateQueue, configured_seconds
from language.native.server import Server, Settings, bind, bind_error, place
from language.serve.control import ControlApplication

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.host import Host
    from language.runtime.context import Context

# Read from the process environment only: a `.env` file, which comes with the program, must not give access to its gates.
ADDRESS = "PLATFORM_CONTROL_ADDR"
SECRET = "PLATFORM_CONTROL_SECRET"

#: Seconds to send the answer to the decision that ended the program.
_LAST_ANSWER_SECONDS = 2.0


def queue_gates(context: Context, host: Host) -> None:
    """Puts the gates of a program into a queue and listens for their decisions until the run ends.

    Raises ``UsageError`` for an address that is not valid, ``RuntimeFault`` if listening on it fails.
    """
    address, port = _place(os.environ[ADDRESS])
    secret = os.environ.get(SECRET) or None
    if secret is None and not _is_loopback(address):
        raise UsageError("run", f"{ADDRESS} is not a loopback address ({clean(address)}): set {SECRET} too", usage=False)
    queue = GateQueue(host, os.environ, seconds=configured_seconds(host), program=os.path.basename(context.program))
    try:
        listener = bind(address, port)
    except OSError as error:
        raise RuntimeFault(f"{ADDRESS}: {bind_error(address, port, error)}", kind="network", code="E0703") from None
    server = Server(listener, ControlApplication(queue, secret), Settings(workers=4, most_connections=64))
    server.start()
    if secret is None:  # with a secret every request must be signed, which a browser cannot do
        queue.local_url = f"http://{place(address, port)}"
    context.gates = queue
    context.lifetime.at_end(lambda: server.stop(_LAST_ANSWER_SECONDS))


def _place(text: str) -> tuple[str, int]:
    address, _, digits = text.rpartition(":")
    port = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else -1
    bare = address.removeprefix("[").removesuffix("]")
    if not bare or not 0 < port < 65536 or (":" in bare and bare == address):
        raise UsageError("run", f"{ADDRESS} must be <address>:<port>, got '{clean(text)}'", usage=False)
    return bare, port


def _is_loopback(address: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
