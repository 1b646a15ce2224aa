"""The domain of web projects: service and runner refuse one that shares cookies with the dashboard, in the same words."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from platform_api.settings import settings_from as service_settings
from runner.settings import settings_from as runner_settings

TOKEN = {"PLATFORM_RUNNER_TOKEN": "lr_abc"}
READERS: list[Callable[..., object]] = [service_settings, runner_settings]


def variables(domain: str, dashboard: str) -> dict[str, str]:
    return {**TOKEN, "PLATFORM_APPS_DOMAIN": domain, "PLATFORM_BASE_URL": dashboard}


@pytest.mark.parametrize("read", READERS, ids=["service", "runner"])
@pytest.mark.parametrize(
    ("domain", "dashboard"),
    [
        ("apps.example.com", "https://example.com"),
        ("example.com", "https://panel.example.com"),
        ("apps.example.com", "https://panel.example.com:8443"),
        ("apps.example.com", "https://apps.example.com"),
        ("Apps.Example.COM.", "https://panel.example.com"),
        ("apps.example.co.uk", "https://panel.example.co.uk"),
        ("apps.localhost", "http://apps.localhost:8787"),
    ],
)
def test_a_domain_that_shares_cookies_with_the_dashboard_is_refused(
    read: Callable[..., object], domain: str, dashboard: str
) -> None:
    with pytest.raises(ValueError, match=r"PLATFORM_APPS_DOMAIN .* one registrable domain"):
        read(variables(domain, dashboard))


@pytest.mark.parametrize("read", READERS, ids=["service", "runner"])
@pytest.mark.parametrize("domain", ["https://apps.example", "apps.example:80", "a b", "-x.example", "127.0.0.1", "[::1]"])
def test_what_is_no_domain_is_refused(read: Callable[..., object], domain: str) -> None:
    with pytest.raises(ValueError, match="PLATFORM_APPS_DOMAIN is a domain"):
        read(variables(domain, "https://panel.example.com"))


@pytest.mark.parametrize(
    ("domain", "dashboard"),
    [
        ("Example.APP.", "https://example.com"),
        ("one.github.io", "https://two.github.io"),  # a public suffix: browsers keep these two apart
        ("one.co.uk", "https://two.co.uk"),
        ("apps.example.com", "http://127.0.0.1:8787"),
    ],
)
def test_a_domain_apart_is_spelled_in_one_way(domain: str, dashboard: str) -> None:
    service, runner = service_settings(variables(domain, dashboard)), runner_settings(variables(domain, dashboard))
    assert service.apps_domain == runner.apps_domain == domain.lower().removesuffix(".")


def test_the_service_does_not_start_with_it(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parent.parent.parent
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(root)}
    environment |= variables("apps.example.com", "https://panel.example.com")
    for word in ("serve", "up"):
        command = [sys.executable, "-m", "language", "platform", word, "--data", str(tmp_path / "data")]
        ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        assert ended.returncode == 1 and "PLATFORM_APPS_DOMAIN (apps.example.com)" in ended.stderr
    assert not (tmp_path / "data").exists()
