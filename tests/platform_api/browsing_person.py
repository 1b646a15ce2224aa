"""A person with a browser, spoken as HTTP: the session, its forms, what the pages say."""

from __future__ import annotations

import re

import httpx
from platform_service import Service

from platform_api.accounts.sessions import cookie_name, session_of, start_session

HTML = {"Accept": "text/html,application/xhtml+xml"}


class Person:
    """A signed-in browser of an account.

    Args:
        account: its id; ``None`` makes one.
    """

    def __init__(self, service: Service, account: str | None = None, **about: object) -> None:
        self.account = account or service.account(**about)  # type: ignore[arg-type]
        with service.platform.store.main.writing() as connection:
            value = start_session(connection, self.account, "127.0.0.1")
            session = session_of(connection, value)
        assert session is not None
        self.csrf = session.csrf
        self.client = service.client()
        self.client.headers.update(HTML)
        self.client.cookies.set(cookie_name(service.platform.settings), value)
        self._origin = service.url

    def get(self, path: str, **query: str) -> httpx.Response:
        return self.client.get(path, params=query or None)

    def shows(self, path: str, **query: str) -> str:
        """A page, which must be there."""
        answer = self.get(path, **query)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {plain(answer.text)}"
        assert answer.headers["content-type"].startswith("text/html")
        return answer.text

    def sends(self, path: str, *, csrf: str | None = None, files: object = None, **fields: object) -> httpx.Response:
        """A form with the token of the session, unless another one is given."""
        data = {**fields, "csrf": self.csrf if csrf is None else csrf}
        return self.client.post(path, data=data, files=files, headers={"Origin": self._origin})  # type: ignore[arg-type]


def plain(text: str) -> str:
    """The text of a page without its markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)).strip()
