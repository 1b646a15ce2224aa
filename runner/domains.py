"""Hosts and domains, as service and runner both compare them, and the domain that web projects may lie below."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@lru_cache(1024)
def canonical_host(authority: str) -> str | None:
    """The host of an authority (``host[:port]``): in lower case, without port and final dot, addresses in their short form.

    ``None`` for what is no host. The one function for both sides of every comparison of hosts here.
    """
    text = authority.strip().lower()
    if text.startswith("["):
        address, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not re.fullmatch(r":[0-9]{1,5}", rest)):
            return None
        try:
            return f"[{ip_address(address).compressed}]"
        except ValueError:
            return None
    host, colon, port = text.partition(":")
    if colon and not re.fullmatch(r"[0-9]{1,5}", port):
        return None
    host = host.removesuffix(".")
    return host if _NAME.fullmatch(host) else None


def registrable(host: str) -> str:
    """What of a host name somebody registered, by the Public Suffix List; a host without that, and an address, as it is.

    Args:
        host: as :func:`canonical_host` gives it.
    """
    from publicsuffixlist import PublicSuffixList

    if host.startswith("[") or host.rpartition(".")[2].isdigit():
        return host
    return PublicSuffixList(accept_unknown=True).privatesuffix(host) or host


def checked_apps_domain(text: str, base_url: str) -> str | None:
    """The domain below which web projects are reached, as it is spelled everywhere; ``None`` where the text is empty.

    Programs must not lie below the registrable domain of the dashboard: hosts below one share cookies in a browser.

    Args:
        text: the setting ``PLATFORM_APPS_DOMAIN``.
        base_url: how browsers reach the dashboard.

    Errors: ``ValueError`` that names the setting, and what cannot be.
    """
    if not text:
        return None
    domain = canonical_host(text)
    if domain is None or ":" in text or domain.startswith("[") or domain.rpartition(".")[2].isdigit():
        raise ValueError(f"PLATFORM_APPS_DOMAIN is a domain as apps.example.com, not {text!r}")
    dashboard = canonical_host(urlsplit(base_url).netloc)
    if dashboard is not None and registrable(dashboard) == registrable(domain):
        raise ValueError(
            f"PLATFORM_APPS_DOMAIN ({domain}) and the dashboard ({dashboard}) lie below one registrable domain, "
            f"{registrable(domain)}: browsers would give programs a hold on the dashboard's cookies. Use another domain"
        )
    return domain
