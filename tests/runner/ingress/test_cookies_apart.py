"""Cookies of one program stay with it, and those of the dashboard reach none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.ingress.cookies import CookieRules, prefix_of

DASHBOARD = (b"__Host-platform-session", b"platform-session")
ALONE, ONE, TWO = CookieRules(DASHBOARD), CookieRules(DASHBOARD, prefix_of("one")), CookieRules(DASHBOARD, prefix_of("two"))
NAMES = st.from_regex(rb"(__Host-|__Secure-)?[a-z][a-z0-9_-]{0,8}", fullmatch=True)


def test_cookies_of_the_dashboard_go_through_in_no_direction() -> None:
    assert ALONE.to_program(b"a=1; __Host-platform-session=x;PLATFORM-SESSION=y; b=2") == b"a=1; b=2"
    assert ALONE.to_browser(b"platform-session=x; Path=/") is None
    assert ALONE.to_browser(b"__host-platform-session=x; Path=/") is None


def test_a_cookie_is_not_set_for_other_hosts() -> None:
    assert ALONE.to_browser(b"a=1; Path=/; DOMAIN=example.com; Secure") == b"a=1; Path=/; Secure"
    assert ALONE.to_browser(b"a=1; domain =.example.com") == b"a=1"


def test_a_cookie_without_a_name_is_not_set() -> None:
    """Browsers send ``=a=b`` and ``a=b`` as the same text."""
    assert ALONE.to_browser(b"=platform-session=x") is None
    assert ALONE.to_browser(b"x") is None


def test_the_marks_of_browsers_stay_in_front() -> None:
    assert ONE.to_browser(b"__Host-a=1; Secure; Path=/") == b"__Host-p-one_a=1; Secure; Path=/"
    assert ONE.to_program(b"__Host-p-one_a=1; __Host-a=2") == b"__Host-a=1"


@given(NAMES, st.from_regex(rb"[a-z0-9=]{0,8}", fullmatch=True))
def test_a_project_gets_its_own_back_and_no_other_one_does(name: bytes, value: bytes) -> None:
    outside = ONE.to_browser(name + b"=" + value)
    assert outside is not None
    assert ONE.to_program(outside) == name + b"=" + value
    assert TWO.to_program(outside) == b""
    assert ONE.to_program(name + b"=" + value) == b""


def test_a_slug_that_begins_with_another_one_gives_away_no_cookie() -> None:
    """``shop`` is one project and ``shop-2`` another one, most often of another account."""
    one, two = CookieRules(DASHBOARD, prefix_of("shop")), CookieRules(DASHBOARD, prefix_of("shop-2"))
    for name in (b"session", b"2-session", b"2_session", b"__Host-session"):
        outside_one, outside_two = one.to_browser(name + b"=1"), two.to_browser(name + b"=1")
        assert outside_one is not None and outside_two is not None
        assert one.to_program(outside_two) == two.to_program(outside_one) == b""
