"""``lang platform ingress-config``: the configuration of nginx or Caddy in front of the service and of a runner's ingress."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from platform_api.gateway import ASK, LARGEST_BODY
from runner.domains import canonical_host

if TYPE_CHECKING:
    from platform_api.settings import Settings

#: Paths that only this machine may request: the metrics, and Caddy's question whether a host belongs to the platform.
INSIDE = ("/metrics", ASK)
#: The proxy refuses larger bodies. The limit of the service is a little lower, so that its own answer reaches most clients.
LARGEST_MEGABYTES = LARGEST_BODY // 1_000_000 + 2
_PATH = re.compile(r"[\w./@+=,:-]+")


@dataclass(frozen=True, kw_only=True)
class Front:
    """The addresses of the proxy and of the service and ingresses behind it.

    Attributes:
        host: the host of the dashboard.
        port: the port of the dashboard.
        apps_domain: the domain of web projects.
        service: where the service listens, ``address:port``; several are replicas of one.
        ingress: where the ingress of a runner listens; several are several runners.
        certificate: files of the certificate and the key of the dashboard; ``None``: certbot's, or those that Caddy gets.
        apps_certificate: the same for all hosts below the domain.
        listen: the address that the proxy listens on; ``None`` is every address.
    """

    host: str
    port: int
    apps_domain: str
    service: tuple[str, ...]
    ingress: tuple[str, ...]
    certificate: tuple[str, str] | None = None
    apps_certificate: tuple[str, str] | None = None
    listen: str | None = None


def front(
    settings: Settings,
    *,
    service: Sequence[str],
    ingress: Sequence[str],
    certificate: Sequence[str] | None = None,
    apps_certificate: Sequence[str] | None = None,
    listen: str | None = None,
) -> Front:
    """Combines the settings of the service and the command line.

    Errors: ``ValueError`` that names what is missing or not valid, and what to set.
    """
    url = urlsplit(settings.base_url)
    host = canonical_host(url.netloc)
    missing = []
    if not settings.secure or host is None or _is_address(host):
        missing.append("PLATFORM_BASE_URL=https://HOST, the name of the dashboard")
    if settings.apps_domain is None:
        missing.append("PLATFORM_APPS_DOMAIN=DOMAIN, below which each web project has a name; another domain than that of HOST")
    if missing or host is None or settings.apps_domain is None:
        raise ValueError(
            "a proxy distinguishes projects by their host names: set "
            + " and ".join(missing)
            + ", for the service and for every runner. Names below the domain lead to this proxy: a DNS record for *.DOMAIN"
        )
    if listen is not None:
        listen = _address(listen)
    return Front(
        host=host,
        port=url.port or 443,
        apps_domain=settings.apps_domain,
        service=tuple(_place(place, "--service") for place in service),
        ingress=tuple(_place(place, "--ingress (PLATFORM_INGRESS)") for place in ingress),
        certificate=_files(certificate, "--certificate"),
        apps_certificate=_files(apps_certificate, "--apps-certificate"),
        listen=listen,
    )


def nginx(front: Front) -> str:
    """A file for ``/etc/nginx/conf.d``, for nginx 1.19.4 and newer."""
    own = front.certificate or _of_certbot(front.host)
    apps = front.apps_certificate or _of_certbot(front.apps_domain)
    names = f"{front.host} *.{front.apps_domain}"
    addresses = [f"[{front.listen}]:" if ":" in front.listen else f"{front.listen}:"] if front.listen else ["", "[::]:"]
    at_443 = "".join(f"    listen {address}443 ssl http2;\n" for address in addresses)
    at_own = "".join(f"    listen {address}{front.port} ssl http2;\n" for address in addresses)
    at_80 = "".join(f"    listen {address}80;\n" for address in addresses)
    closed = "".join(f"    location = {path} {{ return 404; }}\n" for path in INSIDE)
    pools = _pool("platform_service", front.service)
    ways = ""
    for number, place in enumerate(front.ingress):
        # If a runner does not answer at all, the request goes to another one, which may have the project.
        others = [other for other in front.ingress if other != place]
        pools += _pool(f"platform_ingress_{number}", (place, *(f"{other} backup" for other in others)))
        ways += _way(number, last=number == len(front.ingress) - 1)
    return f"""\
# /etc/nginx/conf.d/platform.conf, as `lang platform ingress-config nginx` prints it: TLS in front of the platform.
{_settings(front)}
map $http_upgrade $platform_connection {{
    ""      "";
    default upgrade;
}}

{pools}
server {{
{at_80}    server_name {names};
    return 308 https://$host$request_uri;
}}

# The dashboard and the API.
server {{
{at_own}    server_name {front.host};
    ssl_certificate {own[0]};
    ssl_certificate_key {own[1]};
{_TLS}    client_max_body_size {LARGEST_MEGABYTES}m;
{closed}    location / {{
        proxy_pass http://platform_service;
{_FORWARDED}        proxy_set_header Connection "";
        proxy_read_timeout 120s;
    }}
}}

# The web programs.
server {{
{at_443}    server_name *.{front.apps_domain};
    ssl_certificate {apps[0]};
    ssl_certificate_key {apps[1]};
{_TLS}    client_max_body_size 0;
{ways}}}
"""


_TLS = """\
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:platform:10m;
    server_tokens off;
"""
#: Streams are forwarded without a buffer. Forwarding headers of the client are replaced.
_FORWARDED = """\
        proxy_http_version 1.1;
        proxy_buffering off;
        proxy_redirect off;
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Proto https;
        proxy_set_header X-Forwarded-Host "";
        proxy_set_header Forwarded "";
        proxy_set_header X-Real-IP "";
"""


def _pool(name: str, places: Sequence[str]) -> str:
    servers = "".join(f"    server {place};\n" for place in places)
    return f"upstream {name} {{\n{servers}    keepalive 32;\n}}\n"


def _way(number: int, *, last: bool) -> str:
    """One runner. If it does not have the project it answers 421, before it reads a body, and nginx tries the next one."""
    name = "/" if number == 0 else f"@platform_{number}"
    lines = f"        proxy_pass http://platform_ingress_{number};\n{_FORWARDED}"
    lines += "        proxy_set_header Upgrade $http_upgrade;\n        proxy_set_header Connection $platform_connection;\n"
    lines += "        proxy_read_timeout 1h;\n        proxy_send_timeout 1h;\n"
    if number == 0 and last:
        lines += "        proxy_request_buffering off;\n"
    if not last:
        lines += "        proxy_intercept_errors on;\n        recursive_error_pages on;\n"
        lines += f"        error_page 421 = @platform_{number + 1};\n"
    return f"    location {name} {{\n{lines}    }}\n"


def caddy(front: Front) -> str:
    """A Caddyfile, for Caddy 2.6 and newer.

    Errors: ``ValueError`` for several runners.
    """
    if len(front.ingress) > 1:
        raise ValueError(
            "Caddy can use one ingress only, because it cannot send a body again to a second one. "
            "Use nginx for several runners, or a domain and a Caddy for each runner"
        )
    listed = "" if front.apps_certificate else f"\ton_demand_tls {{\n\t\task http://{front.service[0]}{ASK}\n\t}}\n"
    bound = f"\tdefault_bind {front.listen}\n" if front.listen else ""
    own = "\ttls {} {}\n".format(*front.certificate) if front.certificate else ""
    apps = "\ttls {} {}\n".format(*front.apps_certificate) if front.apps_certificate else "\ttls {\n\t\ton_demand\n\t}\n"
    place = front.host if front.port == 443 else f"{front.host}:{front.port}"
    options = f"{{\n{bound}{listed}}}\n\n" if bound or listed else ""
    return f"""\
# /etc/caddy/Caddyfile, as `lang platform ingress-config caddy` prints it: TLS in front of the platform.
{_settings(front)}
{options}# The dashboard and the API.
https://{place} {{
{own}\trequest_body {{
\t\tmax_size {LARGEST_MEGABYTES}MB
\t}}
\t@inside path {" ".join(INSIDE)}
\trespond @inside 404
\treverse_proxy {" ".join(front.service)} {{
\t\tflush_interval -1
\t}}
}}

# The web programs.
https://*.{front.apps_domain} {{
{apps}\treverse_proxy {front.ingress[0]} {{
\t\tflush_interval -1
\t}}
}}
"""


#: The proxies by name.
PROXIES: dict[str, Callable[[Front], str]] = {"caddy": caddy, "nginx": nginx}


def _settings(front: Front) -> str:
    """What the operator sets on this side, as comments."""
    near = all(_is_loopback(place) for place in (*front.service, *front.ingress))
    proxy = "127.0.0.1" if near else "ADDRESS OF THIS PROXY, AS SERVICE AND RUNNERS SEE IT"
    port = "" if front.port == 443 else f":{front.port}"
    lines = [
        "Service and runners need, beside what they have:",
        f"  PLATFORM_BASE_URL=https://{front.host}{port}",
        f"  PLATFORM_APPS_DOMAIN={front.apps_domain}",
        f"  PLATFORM_TRUSTED_PROXIES={proxy}",
    ]
    for place in front.ingress:
        lines.append(f"  PLATFORM_INGRESS={place}" + (" (of its runner)" if len(front.ingress) > 1 else ""))
    lines.append(f"DNS leads {front.host} and *.{front.apps_domain} to this proxy.")
    return "".join(f"# {line}\n" for line in lines)


def _of_certbot(name: str) -> tuple[str, str]:
    folder = f"/etc/letsencrypt/live/{name}"
    return f"{folder}/fullchain.pem", f"{folder}/privkey.pem"


def _files(given: Sequence[str] | None, name: str) -> tuple[str, str] | None:
    if given is None:
        return None
    for path in given:
        if not _PATH.fullmatch(path):
            raise ValueError(f"{name}: a path may contain only letters, digits and ./@+=,:_-, not {path!r}")
    certificate, key = given
    return certificate, key


def _place(text: str, name: str) -> str:
    """An address and a port that a proxy can connect to."""
    host, _, port = text.rpartition(":")
    found = canonical_host(f"[{host}]" if ":" in host and "[" not in host else host)
    if found is None or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{name} must be an address and a port such as 127.0.0.1:8787, not {text!r}")
    return f"{ {'0.0.0.0': '127.0.0.1', '[::]': '[::1]'}.get(found, found) }:{port}"


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        raise ValueError(f"--listen must be an IP address of this machine, not {text!r}") from None


def _is_address(host: str) -> bool:
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def _is_loopback(place: str) -> bool:
    host = place.rpartition(":")[0]
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host.strip("[]")).is_loopback)
