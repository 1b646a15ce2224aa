"""Configuration: variables and secrets of the environment. Gates: ``env``, ``secret``."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Secret, type_of
from language.values.display import raw_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("environment", "Environment and secrets")


@family.builtin("env(name, default?)", capability="env", context=True)
def env(ctx: Context, name: Any, default: Any = None) -> str:
    """The text of a variable: that of the process environment (also when it is empty), else of the `.env` file, else
    `default` as text. No variable and no default is an error. Needs `require env("NAME")`.

    `env("PORT", 8080)` is `"8080"` where `PORT` is not set.
    """
    found = _lookup(ctx, "env", name)
    if found is not None:
        return found
    if default is None:
        raise _undefined(ctx, "env", name)
    return raw_text(default)


@family.builtin("secret(name, default?)", capability="secret", context=True)
def secret(ctx: Context, name: Any, default: Any = None) -> Secret:
    """A variable as a sealed value named `name`, looked up as by `env`. Needs `require secret("NAME")`.

    A secret shows as `secret(NAME)` wherever it would become text; keys, passwords and HTTP header values receive its
    plaintext. A `default` that is already a secret is returned unchanged.

    `hmac(body, secret("HOOK_KEY"))` signs with it; `print(secret("HOOK_KEY"))` shows `secret(HOOK_KEY)`.
    """
    found = _lookup(ctx, "secret", name)
    if found is not None:
        return Secret(found, (name,))
    if default is None:
        raise _undefined(ctx, "secret", name)
    return default if type(default) is Secret else Secret(raw_text(default), (name,))


@family.builtin("as_secret(value, label?)")
def as_secret(value: Any, label: Any = None) -> Secret:
    """Seals a text or bytes made while the program runs; it then shows as `secret(<label>)`, `sealed` without a label.

    A secret is given back unchanged. The label is not secret itself.

    `as_secret(token, "session")` displays as `secret(session)`.
    """
    if type(value) is Secret:
        return value
    if type(value) is not str and type(value) is not bytes:
        raise RuntimeFault(
            f"as_secret() expects text or bytes, got {type_of(value)} (seal its text: as_secret(text(v)))", kind="type"
        )
    return Secret(value, ("sealed" if label is None else raw_text(label),))


@family.builtin("bearer(s)")
def bearer(s: Any) -> Secret:
    """The secret `Bearer <plaintext>` for an `Authorization` header, with the names of `s`; made of text or bytes it is
    named `bearer`.
    """
    plaintext, names = (s.plaintext, s.names) if type(s) is Secret else (s, ("bearer",))
    if type(plaintext) is str:
        return Secret("Bearer " + plaintext, names)
    if type(plaintext) is bytes:
        return Secret(b"Bearer " + plaintext, names)
    raise RuntimeFault(f"bearer: the key must be a secret, text or bytes, got {type_of(s)}", kind="type")


def _lookup(ctx: Context, builtin: str, name: Any) -> str | None:
    if type(name) is not str:
        raise RuntimeFault(f"{builtin}() expects the name of a variable as text, got {type_of(name)}", kind="type")
    ctx.check(builtin, name)
    # These variables hold keys of gates, audit and platform: programs cannot read them.
    if name.startswith("PLATFORM_"):
        return None
    return ctx.host.environ(name) if builtin == "env" else ctx.host.secret_value(name)


def _undefined(ctx: Context, builtin: str, name: str) -> RuntimeFault:
    if ctx.host.deployed:
        command = f"lang env set {name}=VALUE" if builtin == "env" else f"lang secrets set {name}"
        return RuntimeFault(
            f'{builtin}("{name}"): variable not defined (the project has no value for it, and there is no default)',
            kind="name",
            code="E0504",
            help=f"set it with `{command}` and deploy again, or give a default as the second argument",
        )
    return RuntimeFault(
        f'{builtin}("{name}"): variable not defined (not in the environment or the .env file, and no default is given)',
        kind="name",
        code="E0504",
    )
