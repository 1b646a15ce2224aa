"""The settings of a runner: from the process environment and the command line, read once."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

from runner.domains import canonical_host, checked_apps_domain
from runner.wanted import Patience

EngineName = Literal["auto", "docker", "process", "swarm"]
#: Part of the machine's memory that programs may take in all, where no capacity is set.
SHARE = 0.75
#: Longest path of the data folder in bytes: sockets lie in it, and the system takes 107 bytes for the path of one.
LONGEST_FOLDER = 107 - len("/sockets/prj_01234567890123456789012345.sock")
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True, kw_only=True)
class RunnerSettings:
    """Everything that the operator of a runner decides.

    Attributes:
        data: the folder of volumes, packages, and of what outlives a restart. Nobody else may enter it.
        service: the URL of the service.
        token: as ``lang platform runner-token`` prints it.
        id: the runner that the token was made for.
        engine: what programs run in; ``auto`` is the best that answers on this machine.
        base_url: how browsers reach the service, where that is not ``service``. The service refuses requests for another host.
        apps_domain: the domain under which web projects are reached; ``None``: each at a port of its own.
        apps_host: the host of projects that are reached by a port.
        ingress: the address and port where requests for all projects below the domain arrive.
        trusted_proxies: who may say, in ``X-Forwarded-*``, where a request came from.
        capacity_mb: memory for programs in all.
        patience: how long web programs that nobody asks for are kept.
        webhook_hosts: ``address:port`` outside of the public network that webhooks of programs may be sent to.
        ca_file: certificates that the service's is checked with; ``None``: those of the public authorities.
    """

    data: Path
    service: str
    token: str = field(repr=False)
    id: str = "runner"
    engine: EngineName = "auto"
    base_url: str
    apps_domain: str | None = None
    apps_host: str = "127.0.0.1"
    ingress: tuple[str, int] = ("127.0.0.1", 8788)
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    capacity_mb: int
    patience: Patience = field(default_factory=Patience)
    webhook_hosts: tuple[str, ...] = ()
    ca_file: Path | None = None


def settings_from(environment: Mapping[str, str] | None = None, **given: object) -> RunnerSettings:
    """The settings of this process.

    Args:
        environment: the variables, default those of the process.
        given: what the command line says: ``data``, ``service``, ``token_file``, ``id``, ``engine``, ``base_url``,
            ``capacity_mb``; ``None`` leaves a value to the environment.

    Errors: ``ValueError`` that names the setting and the value that cannot be.
    """
    environment = os.environ if environment is None else environment
    given = {name: value for name, value in given.items() if value is not None}

    def text(name: str, variable: str, default: str = "") -> str:
        return str(given.get(name) or environment.get(variable) or default)

    service = _url(text("service", "PLATFORM_SERVICE_URL", "http://127.0.0.1:8787"), "--service (PLATFORM_SERVICE_URL)")
    _refuse_open_way(service)
    base_url = _url(text("base_url", "PLATFORM_BASE_URL", service), "--base-url (PLATFORM_BASE_URL)")
    runner_id = text("id", "PLATFORM_RUNNER_ID", "runner")
    if not _ID.fullmatch(runner_id):
        raise ValueError(f"--id (PLATFORM_RUNNER_ID) is lower-case letters, digits and hyphens, not {runner_id!r}")
    engine = text("engine", "PLATFORM_RUNNER_ENGINE", "auto")
    if engine not in get_args(EngineName):
        raise ValueError(f"--engine (PLATFORM_RUNNER_ENGINE) is {', '.join(get_args(EngineName))}, not {engine!r}")
    data = Path(text("data", "PLATFORM_RUNNER_DATA", "~/.lang/runner")).expanduser().absolute()
    if len(os.fsencode(data)) > LONGEST_FOLDER:
        raise ValueError(
            f"--data (PLATFORM_RUNNER_DATA) is too long: sockets lie in this folder, and with more than {LONGEST_FOLDER} "
            f"bytes the system does not take their paths: {data}"
        )
    ca_file = environment.get("PLATFORM_RUNNER_CA_FILE")
    apps_domain = checked_apps_domain(environment.get("PLATFORM_APPS_DOMAIN", ""), base_url)
    apps_host = environment.get("PLATFORM_APPS_HOST") or urlsplit(base_url).hostname or "127.0.0.1"
    if canonical_host(f"[{apps_host}]" if ":" in apps_host and "[" not in apps_host else apps_host) is None:
        raise ValueError(f"PLATFORM_APPS_HOST is a host without a port, not {apps_host!r}")
    return RunnerSettings(
        data=data,
        service=service,
        token=_token(given.get("token_file"), environment),
        id=runner_id,
        engine=engine,  # type: ignore[arg-type]
        base_url=base_url,
        apps_domain=apps_domain,
        apps_host=f"[{apps_host}]" if ":" in apps_host and "[" not in apps_host else apps_host,
        ingress=_place(environment.get("PLATFORM_INGRESS") or "127.0.0.1:8788"),
        trusted_proxies=tuple(_networks(environment.get("PLATFORM_TRUSTED_PROXIES", ""))),
        capacity_mb=_capacity(text("capacity_mb", "PLATFORM_RUNNER_CAPACITY_MB")),
        patience=_patience(environment),
        webhook_hosts=tuple(
            place.strip() for place in environment.get("PLATFORM_NOTICE_HOSTS", "").split(",") if place.strip()
        ),
        ca_file=Path(ca_file) if ca_file else None,
    )


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    try:
        address = str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        address = ""
    if not address or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"PLATFORM_INGRESS is an address and a port, as 0.0.0.0:8788, not {text!r}")
    return address, int(port)


def _networks(text: str) -> Iterator[IPv4Network | IPv6Network]:
    for item in (part.strip() for part in text.split(",")):
        if item:
            try:
                yield ipaddress.ip_network(item, strict=False)
            except ValueError:
                raise ValueError(f"PLATFORM_TRUSTED_PROXIES: {item!r} is neither an address nor a network") from None


def _url(text: str, name: str) -> str:
    try:
        parts = urlsplit(text)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username
        _ = parts.port
    except ValueError:
        wrong = True
    if wrong:
        raise ValueError(f"{name} must be http:// or https:// with a host and no query: {text!r}")
    return text.rstrip("/")


def _refuse_open_way(service: str) -> None:
    """Secrets of projects come over this connection."""
    parts = urlsplit(service)
    if parts.scheme == "http" and not _is_here(parts.hostname or ""):
        raise ValueError(
            f"--service (PLATFORM_SERVICE_URL) must be https:// for another machine: secrets come over it: {service!r}"
        )


def _is_here(host: str) -> bool:
    """Whether a host is this machine: a name that is always that, or an address that can be listened on."""
    if host == "localhost":
        return True
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.bind((host, 0))
    except (ValueError, OSError):
        return False
    return True


def _token(file: object, environment: Mapping[str, str]) -> str:
    path = file or environment.get("PLATFORM_RUNNER_TOKEN_FILE")
    if path:
        try:
            token = Path(str(path)).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"--token-file (PLATFORM_RUNNER_TOKEN_FILE) cannot be read: {error}") from None
        name = f"the file {path}"
    else:
        token, name = environment.get("PLATFORM_RUNNER_TOKEN", "").strip(), "PLATFORM_RUNNER_TOKEN"
        if not token:
            raise ValueError(
                "the runner needs its token: --token-file FILE, PLATFORM_RUNNER_TOKEN_FILE or PLATFORM_RUNNER_TOKEN. "
                "`lang platform runner-token ID` prints one"
            )
    if not token.startswith("lr_") or not token.isascii() or any(not character.isprintable() for character in token):
        raise ValueError(f"{name} holds no runner token: `lang platform runner-token ID` prints one, it begins with lr_")
    return token


def _patience(environment: Mapping[str, str]) -> Patience:
    return Patience(
        idle=_seconds(environment, "PLATFORM_RUNNER_IDLE_SECONDS"),
        paused=_seconds(environment, "PLATFORM_RUNNER_PAUSED_SECONDS"),
    )


def _seconds(environment: Mapping[str, str], name: str) -> float | None:
    text = environment.get(name, "")
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,8}(\.[0-9]{1,3})?", text) or not float(text):
        raise ValueError(f"{name} is a number of seconds above 0, not {text!r}")
    return float(text)


def _capacity(text: str) -> int:
    if not text:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return int(pages * SHARE) // 2**20
    if not text.isdigit() or not 0 < int(text) < 2**31:
        raise ValueError(f"--capacity-mb (PLATFORM_RUNNER_CAPACITY_MB) is a number of megabytes, not {text!r}")
    return int(text)
