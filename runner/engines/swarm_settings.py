"""The settings of the engine ``swarm``, and what the operator is told of them."""

from __future__ import annotations

import os

from runner.engines import EngineError

#: Docker APIs of the other machines, separated by commas; ``off``: networks are not encrypted.
NODES, ENCRYPTION = "PLATFORM_SWARM_NODES", "PLATFORM_SWARM_ENCRYPTION"


def daemons(text: str) -> tuple[str, ...]:
    """Docker APIs of other machines, from a list of them. Raises ``EngineError`` for one that anybody could command."""
    hosts = tuple(part.strip() for part in text.split(",") if part.strip())
    for host in hosts:
        if host.startswith("tcp://") and not os.environ.get("DOCKER_TLS_VERIFY"):
            raise EngineError(
                f"{NODES}: {host} without TLS: whoever reaches a Docker API owns its machine. Set DOCKER_TLS_VERIFY=1 and "
                "DOCKER_CERT_PATH, or name a Unix socket that SSH forwards"
            )
        if not host.startswith(("tcp://", "unix://")):
            raise EngineError(f"{NODES} is a list of unix:// and tcp:// addresses, not {host!r}")
    return hosts


def encrypted_by(text: str) -> bool:
    """Whether networks are encrypted between machines, by the setting. Raises ``EngineError`` for what it cannot be."""
    if text not in ("", "on", "off"):
        raise EngineError(f"{ENCRYPTION} is on or off, not {text!r}")
    return text != "off"


def remarks(encrypted: bool, others: int) -> tuple[str, ...]:
    """What the operator is told. Args: others: how many machines there are beside the runner's."""
    said = [
        "descriptors do not cross machines: links are TCP in a network of each project's own, with a secret for each start; "
        "programs listen there, and connect through the port of their link"
    ]
    if not encrypted:
        said.append(f"networks are not encrypted between machines ({ENCRYPTION}=off): whoever sees their traffic reads it")
    if not others:
        said.append(f"programs run on this machine alone: {NODES} names the Docker APIs of others")
    return tuple(said)
