"""The link of a start, opened as its engine needs it: over a socket in a folder, or over TCP in the project's network."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.engines import Engine, Network
from runner.links import Egress, Link, LinkEvents, LinkState, StartValues, TcpLink

#: Who is believed about where a request came from: whoever connects to the socket that the program was handed.
TRUSTED = ("unix:",)
#: The port of a service that cannot be given a descriptor. It listens on its own address in the network of its project.
SERVICE_PORT = 8080
#: Where the engine finds the secret of a link over TCP, in the folder of the link.
SECRET_FILE = "secret"


async def opened_link(
    engine: Engine,
    project: str,
    folder: Path,
    values: StartValues,
    egress: Egress,
    events: LinkEvents,
    *,
    listening: Any = None,
    kept: LinkState | None = None,
) -> tuple[Link, str, Network | None]:
    """The link of a start, open, its address (empty where that is its socket in the folder), and the network it goes over.

    Args:
        folder: of this start alone.
        listening: the listening socket that a service is given; over TCP it gets a port in its place.
        kept: the state of the link that the program had with an earlier process of the runner.

    Errors: ``OSError``, ``EngineError``.
    """
    network = await engine.network(project)
    if network is None:
        link = Link(folder, values, egress, events, listening=listening, kept=kept)
        await link.open()
        return link, "", None
    given = (network.members if proxy in TRUSTED else proxy for proxy in values.trust_proxy)
    values = replace(values, trust_proxy=tuple(given))
    secret = secrets.token_hex(32) if kept is None else kept.secret
    ports = (0, 0) if kept is None else kept.ports
    door = await network.listen(ports[0])
    try:
        doors = door, await network.listen(ports[1])
    except BaseException:
        door.close()
        raise
    port = None if listening is None else SERVICE_PORT
    over_tcp = TcpLink(network.name, secret, values, egress, events, port=port, kept=kept, doors=doors)
    try:
        await over_tcp.open()
        over_tcp.state.secret, over_tcp.state.ports = secret, (over_tcp.port, over_tcp.egress_port)
        path = folder / SECRET_FILE
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", encoding="ascii") as file:
                file.write(secret)
    except BaseException:
        await over_tcp.close()
        raise
    return over_tcp, f"tcp://{network.name}:{over_tcp.port}", network
