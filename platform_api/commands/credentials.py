"""The tokens of ``lang login``: in the keyring of the system if there is one, else in a file that only its owner can read."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from platform_api.commands.failure import Failure

SERVICE = "lang"


def _folder() -> Path:
    return Path(os.environ.get("LANG_HOME") or "~/.lang").expanduser()


def _file() -> Path:
    return _folder() / "credentials.json"


class Credentials:
    """The addresses that somebody has signed in to, and the one of the last sign-in.

    The file holds the addresses, and the tokens where the system has no keyring.
    """

    def __init__(self) -> None:
        self._content = _read(_file())

    @property
    def last_url(self) -> str | None:
        """The address of the last sign-in."""
        last = self._content.get("last")
        return last if isinstance(last, str) else None

    def token(self, url: str) -> str | None:
        """The token of an address, ``None`` without one."""
        entry = self._content.get("tokens", {}).get(url)
        if entry is None:
            return None
        if token := entry.get("token"):
            return str(token)
        keyring = _keyring()
        found = keyring.get_password(SERVICE, url) if keyring else None
        return None if found is None else str(found)

    def keep(self, url: str, token: str) -> str:
        """Stores a token and returns the name of the place."""
        keyring = _keyring()
        place, entry = str(_file()), {"token": token}
        if keyring is not None:
            keyring.set_password(SERVICE, url, token)
            place, entry = "the keyring of this system", {}
        self._content.setdefault("tokens", {})[url] = entry
        self._content["last"] = url
        _write(_file(), self._content)
        return place

    def forget(self, url: str) -> None:
        """Deletes the token of an address."""
        entry = self._content.get("tokens", {}).pop(url, None)
        keyring = _keyring()
        if entry is not None and "token" not in entry and keyring is not None:
            keyring.delete_password(SERVICE, url)
        _write(_file(), self._content)


def _keyring() -> Any:
    """The ``keyring`` package, if it is installed and the system has a keyring."""
    try:
        import keyring
    except ImportError:
        return None
    return keyring if keyring.get_keyring().priority >= 1 else None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Failure(f"{path} cannot be read ({error}): correct or remove it, then run `lang login`") from None
    if not isinstance(content, dict) or not isinstance(content.get("tokens", {}), dict):
        raise Failure(f"{path} is not what `lang login` writes: remove it, then run `lang login`")
    return content


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replaces the file atomically. Other commands read the old content or the new one; other users can read neither."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
