"""Cookies of a response (RFC 6265): setting and deleting them."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Bool, Secret, type_of
from language.values.display import display, number_text, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.serve.response_values import ResponseValue

family = Family("cookies", "Cookies")

_SET_OPTIONS = ("max_age", "path", "domain", "secure", "http_only", "same_site")
_CLEAR_OPTIONS = ("path", "domain")
_SAME_SITE = {"strict": "Strict", "lax": "Lax", "none": "None"}
_LONGEST_AGE = 2**53


@family.builtin("set_cookie(response, name, value, opts?)", context=True, reply="wraps")
def set_cookie(ctx: Context, response: Any, name: Any, value: Any, opts: Any = None) -> ResponseValue:
    """The response, or any value that a route may give, with one more `Set-Cookie`.

    `give set_cookie(redirect("/", 303), "sid", token(), {"max_age": 3600})`

    Options: `max_age` (seconds; without it the cookie ends with the browser), `path` (`"/"`), `domain`, `secure` (true, unless
    this request came over plain HTTP), `http_only` (true: scripts of the page do not see it), `same_site` (`"Lax"`, `"Strict"`
    or `"None"`). A value may contain visible ASCII except `"`, `,`, `;` and `\\`; encode anything else, for example with
    `decode(bytes(v), "base64url")`. A secret as the value is an error, because a browser does not keep it secret.
    """
    from stdlib.options import option_map
    from stdlib.responses import as_response

    options = option_map("set_cookie", opts, _SET_OPTIONS)
    field = f"{_name('set_cookie', name)}={_value(value)}"
    if "max_age" in options:
        field += f"; Max-Age={_max_age(options['max_age'])}"
    field += _scope("set_cookie", options)
    same_site = _same_site(options.get("same_site", "Lax"))
    if _secure(ctx, options, same_site):
        field += "; Secure"
    if "http_only" not in options or _flag(options, "http_only"):
        field += "; HttpOnly"
    return as_response(response).with_field("Set-Cookie", f"{field}; SameSite={same_site}")


@family.builtin("clear_cookie(response, name, opts?)", reply="wraps")
def clear_cookie(response: Any, name: Any, opts: Any = None) -> ResponseValue:
    """The response, or any value that a route may give, with a `Set-Cookie` that deletes a cookie in the browser. `path` and
    `domain` must be those with which it was set.

    `give clear_cookie(ok({"bye": true}), "sid")`
    """
    from stdlib.options import option_map
    from stdlib.responses import as_response

    options = option_map("clear_cookie", opts, _CLEAR_OPTIONS)
    field = f"{_name('clear_cookie', name)}=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT{_scope('clear_cookie', options)}"
    return as_response(response).with_field("Set-Cookie", field)


# ---- parts -------------------------------------------------------------------------------------------------------------


def _name(builtin: str, name: Any) -> str:
    from stdlib.response_headers import token_fault

    text = display(name)
    if not text:
        raise RuntimeFault(f'{builtin}: invalid cookie name "" — it must not be empty')
    fault = token_fault(text)
    if fault is not None:
        raise RuntimeFault(f"{builtin}: invalid cookie name {quote(text)} — {fault}")
    return text


def _value(value: Any) -> str:
    if value.__class__ is Secret:
        raise RuntimeFault("set_cookie: a secret cannot be the value of a cookie — what a browser keeps is not secret")
    text = display(value)
    # Cookie octets (RFC 6265 section 4.1.1). The error does not show the value itself: it may be a session.
    wrong = next((character for character in text if not "!" <= character <= "~" or character in '",;\\'), None)
    if wrong is not None:
        raise RuntimeFault(
            f"set_cookie: invalid cookie value — {wrong!r} is not allowed (RFC 6265 cookie octets: visible ASCII without "
            'quotes, commas, semicolons and backslashes). Encode it first: decode(bytes(v), "base64url")'
        )
    return text


def _max_age(value: Any) -> int:
    from stdlib.options import whole

    seconds = whole(value)
    if seconds is None or seconds < 0:
        got = number_text(value) if type_of(value) in ("number", "decimal") else type_of(value)
        raise RuntimeFault(f"set_cookie: max_age must be an integer >= 0 (seconds), got {got}")
    return min(seconds, _LONGEST_AGE)


def _scope(builtin: str, options: dict[str, Any]) -> str:
    field = f"; Path={_attribute(builtin, options, 'path')}" if "path" in options else "; Path=/"
    return field + f"; Domain={_attribute(builtin, options, 'domain')}" if "domain" in options else field


def _attribute(builtin: str, options: dict[str, Any], option: str) -> str:
    from stdlib.response_headers import has_control

    text: Any = options[option]
    if text.__class__ is not str:
        raise RuntimeFault(f"{builtin}: {option} must be text, got {type_of(text)}", kind="type")
    if ";" in text or "\t" in text or has_control(text):
        raise RuntimeFault(f"{builtin}: the {option} option must not contain ';' or control characters")
    return text


def _same_site(value: Any) -> str:
    found = _SAME_SITE.get(value.lower()) if value.__class__ is str else None
    if found is None:
        got = quote(value) if value.__class__ is str else type_of(value)
        raise RuntimeFault(f'set_cookie: same_site must be "Strict", "Lax" or "None", got {got}')
    return found


def _secure(ctx: Context, options: dict[str, Any], same_site: str) -> bool:
    if "secure" in options:
        secure = _flag(options, "secure")
        if same_site == "None" and not secure:
            raise RuntimeFault('set_cookie: same_site "None" requires secure: true — browsers drop the cookie otherwise')
        return secure
    request = ctx.request
    # Over plain HTTP a browser would not send the cookie back. One with SameSite=None it would not even store without `Secure`.
    return same_site == "None" or request is None or request.secure


def _flag(options: dict[str, Any], option: str) -> bool:
    value = options[option]
    if value.__class__ is not Bool:
        raise RuntimeFault(f"set_cookie: {option} must be a bool, got {type_of(value)}", kind="type")
    return bool(value)
