"""The parts of a database URL that say how to log in and what to ask for. Errors never show them."""

from __future__ import annotations

from struct import error as struct_error
from urllib.parse import unquote

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.capabilities.scopes import DbTarget


#: What drivers raise for answers that no server of their kind gives.
UNREADABLE = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError, struct_error)


def login(target: DbTarget) -> tuple[str | None, str | None]:
    """User and password."""
    if target.userinfo is None:
        return None, None
    user, colon, password = target.userinfo.partition(":")
    return unquote(user) or None, unquote(password) if colon else None


def login_by_name(target: DbTarget) -> tuple[str, str]:
    """The same for a server that has no nameless users. Raises ``RuntimeFault`` without a user: drivers would take the name of
    the account that runs the program.
    """
    user, password = login(target)
    if user is None:
        raise RuntimeFault(f"db_open: the URL names no user (expected {target.scheme}://user:password@host/database)")
    return user, password or ""


def options(target: DbTarget, valid: tuple[str, ...]) -> dict[str, str]:
    """The options behind ``?``. Raises ``RuntimeFault`` for one that is not among ``valid``: many name files or other hosts."""
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
    """The fault of an answer that a driver could not make sense of; what it held is not shown."""
    text = str(error) if type(error) is RuntimeError else "the answer of the database server cannot be read"
    return RuntimeFault(text, kind="network")


def missing(package: str, extra: str) -> RuntimeFault:
    return RuntimeFault(
        f"db_open: the package {package} is not installed: pip install 'ceiling-lang[{extra}]'", kind="unsupported"
    )
