"""The runner's end of the host link: one ``Link`` for a started program, and the second check of where it connects to.

The protocol is described in ``docs/host-link.md``. Everything here runs on one asyncio loop; nothing that a program sends can
take more of it than its bounds, and nothing of a program is opened but the connections that its ceiling covers.
"""

from __future__ import annotations

from language.host_link import GateAsked
from runner.links.egress import Egress, EgressRefused
from runner.links.forwarding import Forwarding
from runner.links.link import Link, LinkEvents
from runner.links.names import Names
from runner.links.tcp import TcpLink
from runner.links.values import LinkState, StartValues

__all__ = [
    "Egress",
    "EgressRefused",
    "Forwarding",
    "GateAsked",
    "Link",
    "LinkEvents",
    "LinkState",
    "Names",
    "StartValues",
    "TcpLink",
]
