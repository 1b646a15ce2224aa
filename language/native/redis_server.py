"""Redis, over redis-py: commands as words, replies as they come."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.databases import CONNECT_SECONDS, DatabaseEngine
from language.native.outgoing import connect
from language.native.server_url import UNREADABLE, login, missing, options, unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from language.capabilities.scopes import DbTarget
    from language.host.databases import AddressCheck


class RedisEngine(DatabaseEngine):
    """One connection to a Redis server."""

    family = "redis"

    def __init__(self, target: DbTarget, check: AddressCheck) -> None:
        try:
            import redis
        except ImportError:
            raise missing("redis", "redis") from None
        self._redis: Any = redis
        options(target, ())
        number = target.database or "0"
        if not number.isdecimal():
            raise RuntimeFault("db_open: the database of a Redis URL is a number (redis://host/0)")
        user, password = login(target)
        kind = _checking(redis, target.scheme == "rediss", check)
        self._connection: Any = kind(
            host=target.host,
            port=target.port or 6379,
            db=int(number),
            username=user,
            password=password,
            socket_connect_timeout=CONNECT_SECONDS,
            protocol=2,
        )
        try:
            self._connection.connect()
        except (redis.RedisError, OSError) as error:
            raise RuntimeFault(str(error), kind="network") from None
        except UNREADABLE as error:
            raise unreadable(error) from None

    def command(self, words: Sequence[Any]) -> Any:
        connection = self._connection
        try:
            connection.send_command(*words)
            return connection.read_response()
        except (self._redis.RedisError, OSError) as error:
            if not isinstance(error, self._redis.ResponseError):
                connection.disconnect()  # the next command opens a new connection
            raise RuntimeFault(str(error), kind="network") from None
        except UNREADABLE as error:
            connection.disconnect()
            raise unreadable(error) from None

    def close(self) -> None:
        self._connection.disconnect()


def _checking(redis: Any, over_tls: bool, check: AddressCheck) -> Any:
    """A class of connections that connects to checked addresses only."""

    class Checking(redis.Connection):  # type: ignore[misc]
        def _connect(self) -> Any:
            return connect(self.host, self.port, check, CONNECT_SECONDS, capability="db")

    class CheckingOverTLS(redis.SSLConnection, Checking):  # type: ignore[misc]
        """TLS over the connection that the checking class makes."""

    return CheckingOverTLS if over_tls else Checking
