"""Has repositories fetched in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import msgspec

from platform_api.packages.files import guess_encoding
from platform_api.packages.package import PackageFile
from platform_api.refusals import Refusal
from platform_api.repositories.address import AddressRefused, parse_repository, ref_problem
from platform_api.repositories.fetching import SECONDS, Request, Result
from platform_api.turns import Turns

#: Fetches at a time, of all accounts together, and those of one account that may be under way and wait.
_AT_A_TIME, _WAITING = 4, 16


class Repositories:
    """Fetches from the hosts that are allowed: one at a time an account, few at a time in all.

    Args:
        hosts: names, and ``address:port`` with a literal address.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = list(hosts)
        refusal = "Other repositories of this account are still being fetched."
        self._turns = Turns("fetch", _AT_A_TIME, _WAITING, refusal, SECONDS)

    async def fetch(self, account_id: str, url: str, ref: str = "") -> list[PackageFile]:
        """The files of a repository at a branch or tag, of its default branch without one.

        Args:
            account_id: whom it is fetched for.

        Errors: ``validation`` for a URL or a ref that is none, ``upstream_failed`` for what cannot be fetched,
            ``rate_limited`` when too many fetches of the account wait.
        """
        try:
            parse_repository(url, self._hosts)
        except AddressRefused as error:
            raise Refusal("validation", f"The repository is not fetched: {error}.", field="repo") from None
        if ref and (why := ref_problem(ref)):
            raise Refusal("validation", f"The ref is refused: {why}.", field="ref")
        request = Request(url, ref, self._hosts)
        result = await self._turns.take(account_id, lambda: _fetch(request))
        if result.error:
            raise Refusal("upstream_failed", f"The repository {url} could not be fetched: {result.error}.", field="repo")
        return [PackageFile(path, content, guess_encoding(content)) for path, content in result.files]

    def close(self) -> None:
        """Fetches nothing more."""
        self._turns.close()


def _fetch(request: Request) -> Result:
    command = [sys.executable, "-I", "-m", "platform_api.repositories.fetching"]
    with tempfile.TemporaryDirectory(prefix="platform-fetch-") as folder:
        # The child gets nothing of the service's environment: there are keys in it.
        environment = {"PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", "HOME": folder, "TMPDIR": folder}
        try:
            child = subprocess.run(
                command,
                input=msgspec.msgpack.encode(request),
                capture_output=True,
                timeout=SECONDS,
                env=environment,
                cwd=folder,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Result(error=f"it takes more than {SECONDS} seconds")
    if child.returncode in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGXFSZ) or b"MemoryError" in child.stderr[-200:]:
        return Result(error="it takes too much to unpack")
    if child.returncode != 0:
        shown = child.stderr[-4000:].decode("utf-8", "replace")
        raise RuntimeError(f"fetching {request.url} ended with {child.returncode}: {shown}")
    return msgspec.msgpack.decode(child.stdout, type=Result)
