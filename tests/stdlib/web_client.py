"""The context of a program that asks servers of this machine."""

from __future__ import annotations

import pytest

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.native.http import NativeHttp
from language.runtime.context import Context


class LocalHost(NativeHost):
    """A native host whose HTTP door has roots or a resolver of a test."""

    def __init__(self, door):
        super().__init__()
        self._http = door


def context(*scopes, door=None):
    ctx = Context(LocalHost(door or NativeHttp()), collect=True)
    for scope in scopes or ("*",):
        ctx.capabilities.require("net", scope)
    return ctx


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message
