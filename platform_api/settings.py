"""The settings of the service: from the process environment and the command line, read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from runner.domains import checked_apps_domain

REPO_HOSTS = ("github.com", "gitlab.com", "codeberg.org", "bitbucket.org")


@dataclass(frozen=True)
class Settings:
    """Everything that an operator decides.

    Attributes:
        data: the folder of the embedded databases and the made master key.
        database: an SQLAlchemy or ``postgresql://`` URL; ``None`` is SQLite in ``data``.
        base_url: how browsers and clients reach the service; never taken from a request.
        trusted_proxies: addresses whose ``X-Forwarded-For`` is believed.
        token_days: days an API token lives after its last use.
        rate_limits: whether requests are counted.
        repo_hosts: hosts, or ``host:port`` with a literal address, that projects may be fetched from.
        notice_hosts: ``address:port`` outside of the public network that notices may be sent to.
        recipes: folder or https repository of the catalog; ``None`` is the bundled one.
        plans: the TOML file of the plans; ``None`` is the bundled one.
        apps_domain: the domain under which web projects are reached.
        apps_host: the host of projects that are reached by a port.
        first_apps_port: the first port of those.
        master_key: the key that stored secrets are encrypted with, as the operator gave it; ``None`` is the file in ``data``.
        playground: the folder of the playground, as ``python -m wasm_abi.playground --out`` writes it.
        log_format: ``text`` or ``json``.
    """

    data: Path
    database: str | None = field(default=None, repr=False)
    base_url: str = "http://127.0.0.1:8787"
    trusted_proxies: tuple[str, ...] = ()
    token_days: int = 90
    rate_limits: bool = True
    repo_hosts: tuple[str, ...] = REPO_HOSTS
    notice_hosts: tuple[str, ...] = ()
    recipes: str | None = None
    plans: Path | None = None
    apps_domain: str | None = None
    apps_host: str | None = None
    first_apps_port: int = 8800
    master_key: str | None = field(default=None, repr=False)
    playground: Path | None = None
    log_format: str = "text"

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"the base URL must be http:// or https:// with a host and no query: {self.base_url!r}")
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))
        object.__setattr__(self, "apps_domain", checked_apps_domain(self.apps_domain or "", self.base_url))

    @property
    def host(self) -> str:
        """The host of ``base_url`` in lower case, with its port where one is written."""
        return urlsplit(self.base_url).netloc.lower()

    @property
    def secure(self) -> bool:
        """Whether browsers reach the service over TLS."""
        return self.base_url.startswith("https:")

    def project_url(self, slug: str, port: int) -> str:
        """The address of a web project."""
        if self.apps_domain:
            return f"{urlsplit(self.base_url).scheme}://{slug}.{self.apps_domain}/"
        host = self.apps_host or urlsplit(self.base_url).hostname or "127.0.0.1"
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def settings_from(environment: Mapping[str, str] | None = None, **given: object) -> Settings:
    """The settings of this process.

    Args:
        environment: the variables, default those of the process.
        given: what the command line says; ``None`` leaves a value to the environment.

    Errors: ``ValueError`` that names the variable and the value that cannot be.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, object] = {"data": Path("~/.lang/platform").expanduser()}
    if days := environment.get("PLATFORM_TOKEN_DAYS"):
        if not days.isdigit() or not 1 <= int(days) <= 3650:
            raise ValueError(f"PLATFORM_TOKEN_DAYS must be a number of days from 1 to 3650, it is {days!r}")
        values["token_days"] = int(days)
    if limits := environment.get("PLATFORM_RATE_LIMITS"):
        if limits not in ("on", "off"):
            raise ValueError(f"PLATFORM_RATE_LIMITS must be on or off, it is {limits!r}")
        values["rate_limits"] = limits == "on"
    if hosts := environment.get("PLATFORM_REPO_HOSTS"):
        values["repo_hosts"] = tuple(host.strip().lower() for host in hosts.split(",") if host.strip())
    if places := environment.get("PLATFORM_NOTICE_HOSTS"):
        values["notice_hosts"] = tuple(place.strip() for place in places.split(",") if place.strip())
    if proxies := environment.get("PLATFORM_TRUSTED_PROXIES"):
        values["trusted_proxies"] = tuple(proxy.strip() for proxy in proxies.split(",") if proxy.strip())
    for name, variable in (
        ("base_url", "PLATFORM_BASE_URL"),
        ("database", "PLATFORM_DATABASE"),
        ("recipes", "PLATFORM_RECIPES"),
        ("apps_domain", "PLATFORM_APPS_DOMAIN"),
        ("apps_host", "PLATFORM_APPS_HOST"),
        ("master_key", "PLATFORM_MASTER_KEY"),
    ):
        if value := environment.get(variable):
            values[name] = value
    if port := environment.get("PLATFORM_APPS_PORT"):
        if not port.isdigit() or not 1 <= int(port) <= 65535:
            raise ValueError(f"PLATFORM_APPS_PORT must be a port, it is {port!r}")
        values["first_apps_port"] = int(port)
    if plans := environment.get("PLATFORM_PLANS"):
        values["plans"] = Path(plans)
    if playground := environment.get("PLATFORM_PLAYGROUND"):
        values["playground"] = Path(playground)
    values.update((name, value) for name, value in given.items() if value is not None)
    return Settings(**values)  # type: ignore[arg-type]
