"""Random bytes and tokens."""

from __future__ import annotations

import base64
import re

import pytest

from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import TRUE
from language.values.decimals import parse
from stdlib.tokens import random_bytes, token


def context(host=None, *, granted=True):
    ctx = Context(host or EmbeddedHost({}), collect=True)
    if granted:
        ctx.capabilities.require("random", None)
    return ctx


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(context(), *values)
    return caught.value.message


class Counting(EmbeddedHost):
    def random_bytes(self, count):
        return bytes(range(256))[-count:]


def test_lengths():
    for host in (EmbeddedHost({}), NativeHost()):
        for count in (1, 2, 32, 65536, 5.0, parse("7")):
            made = random_bytes(context(host), count)
            assert type(made) is bytes
            assert len(made) == int(count if isinstance(count, (int, float)) else 7)
    assert len(token(context())) == 43
    assert len(token(context(), None)) == 43
    assert len(token(context(), 16)) == 22
    assert len(token(context(), 256)) == 342


def test_a_token_is_base64url_of_what_the_host_drew():
    for count in (16, 17, 18, 32, 256):
        text = token(context(Counting({})), count)
        assert text == base64.urlsafe_b64encode(Counting({}).random_bytes(count)).decode().rstrip("=")
        assert re.fullmatch("[A-Za-z0-9_-]+", text)
    assert "_" in token(context(Counting({})), 256)
    assert "-" in token(context(Counting({})), 256)


def test_none_comes_twice():
    ctx = context()
    assert len({token(ctx, 16) for _ in range(1000)}) == 1000
    assert len({random_bytes(ctx, 16) for _ in range(1000)}) == 1000


@pytest.mark.parametrize("n", [0, -1, 65537, 1.5, 10**30, parse("1.5")])
def test_a_wrong_count_of_bytes(n):
    shown = n.display() if hasattr(n, "display") else repr(n)
    assert error_of(random_bytes, n) == f"random_bytes: n must be between 1 and 65536 bytes, got {shown}"


@pytest.mark.parametrize("n", [0, 15, 257, -16, 16.5])
def test_a_wrong_count_of_a_token(n):
    assert error_of(token, n) == f"token: n must be between 16 and 256 bytes, got {n!r}"


@pytest.mark.parametrize(("value", "kind"), [("32", "text"), (TRUE, "bool"), ([], "list")])
def test_a_count_of_another_type(value, kind):
    assert error_of(token, value) == f"token: n must be between 16 and 256 bytes, got {kind}"
    assert error_of(random_bytes, value) == f"random_bytes: n must be between 1 and 65536 bytes, got {kind}"


def test_the_gate():
    for function, values in ((token, ()), (random_bytes, (8,)), (random_bytes, (0,))):
        with pytest.raises(RuntimeFault, match="Runtime error: Capability not granted: random"):
            function(context(granted=False), *values)
