"""Sends one notice with apprise, in a process of its own, because the URL is not trusted and many plugins parse it.

    python -I -m platform_api.notices.post DESCRIPTOR

is the fork server (``platform_api.forking``) for that: loading the plugins takes more than a second. A request is
``{"url", "title", "body", "send", "allowed"}``, an answer ``{"ok", "why"}``, both in JSON. Whatever a plugin does with the URL,
its process can reach only the public network and the hosts (``address:port``) that the operator allows. It opens no files
outside of its libraries and starts no processes. An audit hook of Python (PEP 578) enforces this, after names were resolved and
for every redirect.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import sysconfig
from typing import Any

from language import is_public_address
from platform_api.forking.server import serve

#: Seconds for one notice. Then its process is ended.
SECONDS = 30
#: Seconds without a notice after which the fork server ends, because it takes 60 MB.
_IDLE = 600.0

_FORBIDDEN = ("subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "pty.", "syslog.", "os.kill")
_CHANGING = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SYSTEM = (
    "/etc/ssl/",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/mime.types",
    "/usr/share/zoneinfo/",
    "/dev/null",
    "/dev/urandom",
)


class Refused(OSError):
    """What a notice may not do."""


class Guard:
    """The audit hook that Python calls before every effect of the process outside of it.

    Args:
        allowed: each ``address:port`` outside of the public network that may be reached nevertheless.

    Attributes:
        refused: the first address that was refused, as a sentence; the empty text when none was.
    """

    def __init__(self, allowed: list[str]) -> None:
        self.refused = ""
        self._allowed = frozenset(allowed)
        paths = {*sys.path, *sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}
        self._readable = (*(os.path.realpath(path) + os.sep for path in paths if path), *_SYSTEM)

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """Errors: ``Refused``."""
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            self._reach(args[1])
        elif event == "open":
            self._open(args[0], args[2])
        elif event.startswith(_FORBIDDEN) or event in _CHANGING:
            raise Refused(f"a notice does not {event}")

    def _reach(self, address: Any) -> None:
        if not isinstance(address, tuple):
            if address is not None:
                raise Refused("a notice goes to another machine")
            return
        host, port = str(address[0]), address[1]
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if place not in self._allowed and not is_public_address(host):
            self.refused = self.refused or f"{place} is not of the public network"
            raise Refused(self.refused)

    def _open(self, path: Any, flags: Any) -> None:
        if isinstance(path, int):
            return
        name = os.path.realpath(os.fsdecode(path))
        writes = isinstance(flags, int) and flags & _WRITES and name != "/dev/null"
        if writes or not name.startswith(self._readable):
            raise Refused("a notice opens no file")


def post(request: dict[str, Any]) -> dict[str, Any]:
    """Sends a notice, or only looks whether its URL is one. From then on this process is confined: call it once in each."""
    import logging

    import apprise

    logging.disable()  # messages of apprise may contain parts of the URL
    guard = Guard(request["allowed"])
    sys.addaudithook(guard)
    asset = apprise.AppriseAsset(async_mode=False, plugin_paths=[], secure_logging=True, app_id="Platform", app_desc="Platform")
    try:
        plugin = apprise.Apprise.instantiate(request["url"], asset=asset, suppress_exceptions=True)
        if plugin is None:
            return {"ok": False, "why": guard.refused or "this is no URL that apprise knows"}
        if not request["send"]:
            return {"ok": True, "why": ""}
        sent = plugin.notify(title=request["title"], body=request["body"], body_format=apprise.NotifyFormat.TEXT)
    except Exception as error:
        return {"ok": False, "why": guard.refused or f"the notice failed ({type(error).__name__})"}
    return {"ok": bool(sent), "why": "" if sent else guard.refused or "the service it goes to did not take it"}


def answer(request: bytes) -> bytes:
    """Sends what one request asks for."""
    return json.dumps(post(json.loads(request))).encode()


def main() -> None:
    """Answers requests until nobody is left who could ask."""
    import apprise

    apprise.Apprise.instantiate("json://localhost")  # loads all plugins, which every child then shares
    serve(socket.socket(fileno=int(sys.argv[1])), answer, idle=_IDLE, patience=SECONDS)


if __name__ == "__main__":
    main()
