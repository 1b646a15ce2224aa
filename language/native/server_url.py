"""The login and the options of a database URL. Error messages never show them."""

from __future__ import annotations

from struct import error as struct_error
from urllib.parse import unquote

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.capabilities.scopes import DbTarget


#: Exceptions that drivers raise for a reply that no server of their kind sends.
UNREADABLE = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError, struct_error)


def login(target: DbTarget) -> tuple[str | None, str | None]:
    """User and password."""
    if target.userinfo is None:
        return None, None
    user, colon, password = target.userinfo.partition(":")
    return unquote(user) or None, unquote(password) if colon else None


def login_by_name(target: DbTarget) -> tuple[str, str]:
    """User and password for a kind of server that has no users without a name.

    Raises ``RuntimeFault`` without a user: drivers would otherwise use the account that runs the program.
    """
    user, password = login(target)
    if user is None:
        raise RuntimeFault(f"db_open: the URL names no user (expected {target.scheme}://user:password@host/database)")
    return user, password or ""


def options(target: DbTarget, valid: tuple[str, ...]) -> dict[str, str]:
    """The options after ``?``. Raises ``RuntimeFault`` for one that is not in ``valid``: many name files or other hosts."""
    found: dict[str, str] = {}
    for piece in (target.query or "").split("&"):
        if piece:
            name, _, value = piece.partition("=")
            name = unquote(name)
            if name not in valid:
                raise RuntimeFault(f'db_open: unknown option "{name}" in the URL (valid options: {", ".join(valid)})')
            found[name] = unquote(value)
    return found


def unreadable(error: Exception) -> RuntimeFault:
    """The error of a reply that a driver could not parse. The reply is not shown."""
    text = str(error) if type(error) is RuntimeError else "the answer of the database server cannot be read"
    return RuntimeFault(text, kind="network")


def missing(package: str, extra: str) -> RuntimeFault:
    return RuntimeFault(
        f"db_open: the package {package} is not installed: pip install 'ceiling-lang[{extra}]'", kind="unsupported"
    )
