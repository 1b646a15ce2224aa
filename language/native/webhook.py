"""The webhook of the human gates: the host configured it, so it needs no capability of the program."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from ssl import SSLContext
from threading import Timer

import httpx

SECONDS = 10.0


def post(url: str, body: bytes, headers: Mapping[str, str]) -> str | None:
    """One ``POST``, ten seconds in all, no redirect followed, the answer's body ignored; why it failed, or ``None``."""
    client = httpx.Client(
        verify=_certificates() if url.startswith("https://") else False,
        timeout=SECONDS,
        follow_redirects=False,
        trust_env=False,
    )
    end = Timer(SECONDS, client.close)
    end.daemon = True
    end.start()
    try:
        with client.stream("POST", url, content=body, headers=dict(headers)) as response:
            return None if response.is_success else f"HTTP {response.status_code}"
    except (httpx.HTTPError, httpx.InvalidURL, RuntimeError, OSError) as error:
        return type(error).__name__
    finally:
        end.cancel()
        client.close()


@cache
def _certificates() -> SSLContext:
    """Whom to believe over TLS. Read once: it takes a hundred times as long as the rest, and gates can come by the thousand."""
    return httpx.create_ssl_context(trust_env=False)
