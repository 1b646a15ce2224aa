"""Variables, secrets and what is sealed by hand."""

from __future__ import annotations

import pytest

from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from language.values.display import display
from stdlib.environment import as_secret, bearer, env, secret
from stdlib.json_format import json_encode

VARIABLES = {"A": "text", "EMPTY": "", "PLATFORM_TOKEN": "hidden"}


def context(*requires):
    ctx = Context(EmbeddedHost(VARIABLES), collect=True)
    for name, scope in requires:
        ctx.capabilities.require(name, scope)
    return ctx


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


class TestEnv:
    def test_lookup(self):
        ctx = context(("env", None))
        assert env(ctx, "A") == "text"
        assert env(ctx, "A", "default") == "text"
        assert env(ctx, "EMPTY", "default") == ""
        assert env(ctx, "NONE", "default") == "default"

    @pytest.mark.parametrize(
        ("default", "expected"),
        [
            (8080, "8080"),
            (1.5, "1.5"),
            (TRUE, "True"),
            (FALSE, "False"),
            (parse("1.50"), "1.50"),
            ([1, "a"], '[1, "a"]'),
            ("", ""),
        ],
    )
    def test_a_default_becomes_text(self, default, expected):
        assert env(context(("env", None)), "NONE", default) == expected

    @pytest.mark.parametrize(("function", "name"), [(env, "env"), (secret, "secret")])
    def test_nothing_found(self, function, name):
        ctx = context((name, None))
        expected = f'{name}("NONE"): variable not defined (not in the environment or the .env file, and no default is given)'
        assert error_of(function, ctx, "NONE") == expected
        assert error_of(function, ctx, "NONE", None) == expected

    @pytest.mark.parametrize(("function", "name"), [(env, "env"), (secret, "secret")])
    def test_the_gate_comes_first(self, function, name):
        ctx = context((name, "A"))
        assert display(function(ctx, "A"))
        assert error_of(function, ctx, "EMPTY", "default").startswith(f'Capability not granted: {name}("EMPTY")')
        assert error_of(function, ctx, "NONE").startswith(f'Capability not granted: {name}("NONE")')
        assert error_of(function, context(), "A").startswith(f'Capability not granted: {name}("A")')

    @pytest.mark.parametrize(("function", "name"), [(env, "env"), (secret, "secret")])
    def test_the_platforms_own_names_read_as_not_defined(self, function, name):
        ctx = context((name, "*"))
        assert "variable not defined" in error_of(function, ctx, "PLATFORM_TOKEN")
        assert function(ctx, "PLATFORM_TOKEN", "default") == "default"

    @pytest.mark.parametrize(("function", "name"), [(env, "env"), (secret, "secret")])
    def test_a_name_is_text(self, function, name):
        assert error_of(function, context((name, None)), 5) == f"{name}() expects the name of a variable as text, got number"

    def test_the_process_environment(self, monkeypatch):
        monkeypatch.setenv("FROM_PROCESS", "p\udcffq")
        ctx = Context(NativeHost({"FROM_PROCESS": "file", "FROM_FILE": "file"}), collect=True)
        ctx.capabilities.require("env", "FROM_*")
        assert env(ctx, "FROM_PROCESS") == "p\ufffdq"
        assert env(ctx, "FROM_FILE") == "file"
        monkeypatch.setenv("FROM_PROCESS", "")
        assert env(ctx, "FROM_PROCESS") == ""


class TestSecret:
    def test_a_variable_is_sealed_under_its_name(self):
        sealed = secret(context(("secret", "A")), "A")
        assert type(sealed) is Secret
        assert sealed.plaintext == "text"
        assert sealed.names == ("A",)
        assert display(sealed) == "secret(A)"
        assert "text" not in repr(sealed)

    def test_defaults(self):
        ctx = context(("secret", None))
        assert secret(ctx, "NONE", 12).plaintext == "12"
        assert secret(ctx, "NONE", "x").names == ("NONE",)
        sealed = Secret("k", ("OTHER",))
        assert secret(ctx, "NONE", sealed) is sealed

    def test_a_secret_default_of_env_stays_hidden(self):
        assert env(context(("env", None)), "NONE", Secret("k", ("OTHER",))) == "secret(OTHER)"

    def test_redaction(self):
        ctx = context(("secret", None))
        sealed = secret(ctx, "A")
        assert json_encode(ctx, {"k": sealed}) == '{"k": "[redacted]"}'
        assert display("key: " + sealed) == "secret(A)"


class TestAsSecret:
    def test_labels(self):
        assert display(as_secret("abc", "tenant")) == "secret(tenant)"
        assert display(as_secret("abc")) == "secret(sealed)"
        assert display(as_secret(b"abc", None)) == "secret(sealed)"
        assert as_secret("abc", 5).names == ("5",)
        assert as_secret("abc").plaintext == "abc"
        assert as_secret(b"abc").plaintext == b"abc"

    def test_a_secret_stays_as_it_is(self):
        sealed = Secret("k", ("K",))
        assert as_secret(sealed, "other") is sealed

    @pytest.mark.parametrize(("value", "name"), [(5, "number"), (None, "nothing"), (["hunter2"], "list"), (TRUE, "bool")])
    def test_other_types(self, value, name):
        message = error_of(as_secret, value)
        assert message.startswith(f"as_secret() expects text or bytes, got {name} ")
        assert "hunter2" not in message


class TestBearer:
    def test_of_a_secret(self):
        made = bearer(Secret("k", ("A", "B")))
        assert made.plaintext == "Bearer k"
        assert made.names == ("A", "B")
        assert bearer(Secret(b"k", ("A",))).plaintext == b"Bearer k"

    def test_of_text(self):
        made = bearer("k")
        assert made.plaintext == "Bearer k"
        assert made.names == ("bearer",)
        assert bearer(b"k").plaintext == b"Bearer k"

    def test_other_types(self):
        assert error_of(bearer, 5) == "bearer: the key must be a secret, text or bytes, got number"
