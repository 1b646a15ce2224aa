"""Runs the tasks of a served program for one request: its handler, its auth task, its errors task.

Every error of a handler becomes a reply; nothing is raised to the server.
"""

from __future__ import annotations

from language.errors import ExitProgram, GiveOutside, InternalError, StopLoop
from language.runtime.calls import callback
from language.serve.exchange import EndRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.serve.exchange import Exchange
    from language.serve.instances import Instances, ProgramCopy
    from language.serve.routes import Route

OUTSIDE = "'give'/'stop' used outside of a task or loop"


class HandlerFailed(Exception):
    """A task of the program ended with an error, whose text is on one line."""


def handle(copy: ProgramCopy, route: Route, exchange: Exchange) -> Any:
    """The value that the handler of the route gives. Raises :class:`HandlerFailed`, :class:`EndRequest`, and the exceptions
    that cancel a request.
    """
    _enter(copy, exchange)
    function = copy.functions[route.handler]
    try:
        return function(*exchange.arguments(route.names, route.fields))
    except Exception as error:
        raise HandlerFailed(_line(error)) from None
    except (StopLoop, GiveOutside):
        raise HandlerFailed(OUTSIDE) from None
    except ExitProgram:
        raise HandlerFailed("exit() cannot be called in a handler") from None


def admit(instances: Instances, auth: int, count: int, token: str, exchange: Exchange) -> tuple[Any, str | None]:
    """The value that the auth task gives for a token, and the error that it ended with. It runs in its own copy of the program.

    Raises :class:`EndRequest` if it reads a body that is not of its declared type.
    """
    copy = instances.take(exchange)
    _enter(copy, exchange)
    try:
        given = [token] if count == 1 else [token, exchange.values()]
        return callback(copy.functions[auth], count)(*given), None
    except Exception as error:
        return None, _line(error)
    except (StopLoop, GiveOutside):
        return None, OUTSIDE
    except ExitProgram:
        return None, "exit() cannot be called in an auth task"
    finally:
        instances.give_back(copy, exchange)


def shape_error(instances: Instances, task: int, status: int, message: str, exchange: Exchange) -> tuple[Any, str | None]:
    """The value that the errors task gives for an error, and the error that the task itself ended with."""
    copy = instances.take(exchange)
    _enter(copy, exchange)
    try:
        return callback(copy.functions[task], 3)(status, message, exchange.values()), None
    except Exception as error:
        return None, _line(error)
    except EndRequest:
        return None, "the body is not of the type that it declares"
    except (StopLoop, GiveOutside):
        return None, OUTSIDE
    except ExitProgram:
        return None, "exit() cannot be called in an errors task"
    finally:
        instances.give_back(copy, exchange)


def _enter(copy: ProgramCopy, exchange: Exchange) -> None:
    context = copy.context
    context.exchange = exchange
    if context.lines is not None:
        context.lines = exchange.log


def token_of(authorization: str) -> str:
    """The token of an ``Authorization`` field: the text after ``Bearer`` (RFC 6750), else the whole value."""
    scheme, _, rest = authorization.partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else authorization


def _line(error: Exception) -> str:
    """The error as ``lang run`` prints it. An error of the runtime itself is called an internal error."""
    from language.runtime.python_errors import located

    try:
        return str(located(error))
    except InternalError as defect:
        return f"Runtime error: internal error: {defect}"
    finally:
        error.__traceback__ = None
