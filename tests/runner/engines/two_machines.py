"""A swarm of two machines: two Docker daemons, each in a network namespace of its own, with a wire between them.

The first is the manager, on the runner's machine. Needs the superuser, Docker, and a kernel with VXLAN.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests import servers

BASE = Path(__file__).resolve().parents[3] / "runner" / "image" / "base"
ADDRESSES = ("10.201.0.1", "10.201.0.2")
#: Runs in a machine's namespace of networks: says what reaches any of its addresses at a port, and every question for a name.
_WATCH = """
import select, socket, sys
doors = [socket.create_server(("0.0.0.0", 4444)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
         socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
doors[1].bind(("0.0.0.0", 53)); doors[2].bind(("0.0.0.0", 4444))
print("watching", flush=True)
while True:
    for door in select.select(doors, [], [])[0]:
        if door.type == socket.SOCK_STREAM:
            connection, peer = door.accept()
            connection.close()
        else:
            peer = door.recvfrom(4096)[1]
        print(peer[0], flush=True)
"""


def quiet(*words: str) -> str:
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=servers.START_SECONDS, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stdout}"
    return done.stdout


class TwoMachines:
    """Attributes: ``hosts``, the Docker APIs of the manager and of the other; ``nodes``, their ids."""

    def __init__(self, names: tuple[str, str], folders: tuple[Path, Path]) -> None:
        self.names = names
        self.hosts = tuple(f"unix://{folder}/docker.sock" for folder in folders)
        self.nodes: tuple[str, ...] = ()

    def docker(self, machine: int, *words: str) -> str:
        """What Docker's client says of a machine."""
        return quiet("docker", "--host", self.hosts[machine], *words)

    def inspected(self, machine: int, *labels: str) -> list[dict[str, Any]]:
        """The containers of a machine with these labels."""
        filters = [word for label in labels for word in ("--filter", f"label={label}")]
        found = self.docker(machine, "ps", "-aq", "--no-trunc", *filters).split()
        return json.loads(self.docker(machine, "inspect", *found)) if found else []  # type: ignore[no-any-return]

    def join(self) -> None:
        """Makes a swarm of the two. A machine that says nothing for six seconds is lost."""
        self.docker(0, "swarm", "init", "--advertise-addr", ADDRESSES[0], "--listen-addr", ADDRESSES[0],
                    "--dispatcher-heartbeat", "2s")  # fmt: skip
        token = self.docker(0, "swarm", "join-token", "-q", "worker").strip()
        self.docker(1, "swarm", "join", "--token", token, "--advertise-addr", ADDRESSES[1], "--listen-addr", ADDRESSES[1],
                    f"{ADDRESSES[0]}:2377")  # fmt: skip
        self.nodes = tuple(self.docker(machine, "info", "-f", "{{.Swarm.NodeID}}").strip() for machine in (0, 1))

    def inside(self, machine: int) -> list[str]:
        """What a command begins with that is to run in a machine's namespace of networks."""
        return ["nsenter", f"--net=/run/netns/{self.names[machine]}"]

    def cut(self) -> None:
        """The second machine is lost: nothing reaches it."""
        quiet("ip", "-n", self.names[1], "link", "set", "wire", "down")

    def mend(self) -> None:
        """It is back."""
        quiet("ip", "-n", self.names[1], "link", "set", "wire", "up")

    @contextmanager
    def watched(self) -> Iterator[list[str]]:
        """Says, once it is over, who reached a machine meanwhile: at any address, at port 4444 or as a server of names."""
        found: list[str] = []
        watchers = [
            subprocess.Popen([*self.inside(machine), sys.executable, "-Ic", _WATCH], stdout=subprocess.PIPE, text=True)
            for machine in (0, 1)
        ]
        try:
            for watcher in watchers:
                assert watcher.stdout is not None and watcher.stdout.readline() == "watching\n"
            yield found
        finally:
            for watcher in watchers:
                watcher.terminate()
                found += watcher.communicate()[0].split()

    def encrypts(self) -> bool:
        """Whether the kernel has what encrypted overlay networks stand on: IPsec with AES-GCM."""
        words = [
            "ip",
            "xfrm",
            "state",
            "add",
            "src",
            ADDRESSES[0],
            "dst",
            ADDRESSES[1],
            "proto",
            "esp",
            "spi",
            "1",
            "reqid",
            "1",
        ]
        words += ["mode", "transport", "aead", "rfc4106(gcm(aes))", "0x" + "01" * 20, "64"]
        tried = subprocess.run(["unshare", "--net", *words], capture_output=True, check=False)
        return tried.returncode == 0


def two_machines(*, equipped: bool = False) -> Iterator[TwoMachines]:
    """A swarm; the first machine has the image of the runtime.

    Args:
        equipped: so has the second one, where it is shared by this run of the tests. Else it comes from the first.
    """
    server = shutil.which("dockerd", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if server is None or shutil.which("docker") is None:
        servers.missing("Docker", "docker.io")
        return
    if os.geteuid() != 0:
        servers.missing("Docker, started by the superuser,", "docker.io")
        return
    vxlan = ["unshare", "--net", "ip", "link", "add", "trial", "type", "vxlan", "id", "1", "dstport", "4789"]
    if shutil.which("ip") is None or subprocess.run(vxlan, capture_output=True, check=False).returncode:
        servers.missing("a kernel with VXLAN, and `ip`,", "iproute2")
        return
    with ExitStack() as stack:
        names = (f"lang-{os.getpid()}-a", f"lang-{os.getpid()}-b")
        for name in names:
            quiet("ip", "netns", "add", name)
            stack.callback(quiet, "ip", "netns", "del", name)
            quiet("ip", "-n", name, "link", "set", "lo", "up")
        quiet("ip", "-n", names[0], "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", names[1])
        for name, address in zip(names, ADDRESSES):
            quiet("ip", "-n", name, "address", "add", f"{address}/24", "dev", "wire")
            quiet("ip", "-n", name, "link", "set", "wire", "up")
        folders = tuple(stack.enter_context(servers.memory_folder("lang-swarm-")) for _ in names)
        made = TwoMachines(names, (folders[0], folders[1]))
        for machine, folder in enumerate(folders):
            stack.enter_context(_daemon(server, made, machine, folder))
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        environ = {**os.environ, "DOCKER_HOST": made.hosts[0]}
        based = subprocess.run([BASE, version], env=environ, capture_output=True, text=True, timeout=900, check=False)
        if based.returncode:
            servers.missing(f"an image with Python {version} ({based.stderr.strip()})", "debootstrap")
        for host in made.hosts if equipped else made.hosts[:1]:
            servers.share_image(host)
        made.join()
        yield made


@contextmanager
def _daemon(server: str, made: TwoMachines, machine: int, folder: Path) -> Iterator[None]:
    parts = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid"}
    words = [*made.inside(machine), server, *(f"{option}={folder / part}" for option, part in parts.items())]
    words += [f"--host={made.hosts[machine]}", "--bridge=none"]

    def ready() -> bool:
        return subprocess.run(["docker", "--host", made.hosts[machine], "info"], capture_output=True).returncode == 0

    yield from servers.started(words, folder / "log", ready)
