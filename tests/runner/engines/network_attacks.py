"""Runs in a task of a swarm and tries to reach anything but the runner: one line of JSON for each attack, and what it got.

``[]``: it got nothing.

    python network_attacks.py '{"addresses": ["10.201.0.1"], "ports": [22], "names": ["example.com"]}'
"""

from __future__ import annotations

import ipaddress
import json
import os
import random
import selectors
import socket
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor

SECONDS = 2.0


def connected(places: list[tuple[str, int]]) -> list[str]:
    """Those of the places that a TCP connection can be made to, tried side by side."""
    found = []
    with selectors.DefaultSelector() as waiting:
        for place in places:
            client = socket.socket(socket.AF_INET6 if ":" in place[0] else socket.AF_INET)
            client.setblocking(False)
            try:
                client.connect(place)
            except BlockingIOError:
                waiting.register(client, selectors.EVENT_WRITE, place)
            except OSError:
                client.close()
        end = time.monotonic() + SECONDS
        while waiting.get_map() and (left := end - time.monotonic()) > 0:
            for key, _ in waiting.select(left):
                client = key.fileobj  # type: ignore[assignment]
                waiting.unregister(client)
                if not client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    found.append(f"{key.data[0]}:{key.data[1]}")
                client.close()
    return found


def sent(places: list[tuple[str, int]]) -> list[str]:
    """Those that a datagram could be sent to; who hears of one is known elsewhere."""
    found = []
    for place in places:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            try:
                client.sendto(b"x", place)
            except OSError:
                continue
            found.append(f"{place[0]}:{place[1]}")
    return found


def question(name: str) -> bytes:
    parts = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", random.getrandbits(16), 0x100, 1, 0, 0, 0) + parts + b"\0" + struct.pack(">HH", 1, 1)


def resolved(name: str) -> list[str]:
    """What the container's server of names knows of a name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(SECONDS)
        try:
            client.sendto(question(name), ("127.0.0.11", 53))
            answer = client.recv(4096)
        except OSError:
            return []
    return [name] if struct.unpack(">H", answer[6:8])[0] else []


def own() -> ipaddress.IPv4Interface:
    """The task's own address: what it would send from to its neighbours."""
    with open("/proc/net/route", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    _, target, gateway, *_ = rows[0]
    network = socket.inet_ntoa(struct.pack("<I", int(target, 16)))
    mask = socket.inet_ntoa(struct.pack("<I", int(rows[0][7], 16)))
    assert len(rows) == 1 and int(gateway, 16) == 0, rows
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect((str(ipaddress.ip_address(network) + 1), 9))
        return ipaddress.ip_interface(f"{client.getsockname()[0]}/{mask}")


def raw() -> list[str]:
    found = []
    for family, kind, protocol in ((2, 3, 1), (17, 3, 0x300), (10, 3, 58)):
        try:
            socket.socket(family, kind, protocol).close()
        except OSError:
            continue
        found.append(str((family, kind, protocol)))
    return found


def main(text: str) -> None:
    told = json.loads(text)
    mine = own()
    near = [str(address) for address in list(mine.network.hosts())[:30] if address != mine.ip]
    common = [22, 53, 80, 443, 2375, 2376, 2377, 4444, 7946, 8080]
    others = [(host, port) for host in told["addresses"] for port in {*common, *told["ports"]}]
    with ThreadPoolExecutor(16) as side_by_side:  # most of them wait for what does not come
        to_others = side_by_side.submit(connected, others)
        to_neighbours = side_by_side.submit(connected, [(host, port) for host in near for port in common])
        names = side_by_side.map(resolved, told["names"])
        attacks = {
            "interfaces": sorted(set(os.listdir("/sys/class/net")) - {"lo", "eth0"}),
            "ports of others": to_others.result(),
            "ports of its own network": to_neighbours.result(),
            "datagrams to others": sent([(host, port) for host in told["addresses"] for port in (53, 4444, 4789)]),
            "names": [found for each in names for found in each],
            "raw sockets": raw(),
        }
    print(json.dumps({"own": str(mine.ip), "tried": len(told["addresses"]), "got": attacks}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
