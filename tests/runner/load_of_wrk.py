"""``wrk`` against an address, for as long as a test wants: it counts what was answered, and every request that was not."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

from deploying import until

from tests import servers

#: Counts answers by their text, and says so every so often; at the end also what went wrong.
_SCRIPT = """
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init(args) seen = {}; total = 0 end
function response(status, headers, body)
   local text = status .. " " .. string.gsub(string.sub(body, 1, 200), "[^%w ]", "")
   seen[text] = (seen[text] or 0) + 1
   if seen[text] % 10 == 0 then
      io.write(seen[text], " of ", text, "\\n")
      io.flush()
   end
end
function done(summary, latency, requests)
   local parts = {}
   for _, thread in ipairs(threads) do
      for text, count in pairs(thread:get("seen")) do parts[#parts + 1] = string.format('"%s": %d', text, count) end
   end
   local errors = summary.errors
   io.write(string.format('{"seen": {%s}, "requests": %d, "errors": [%d, %d, %d, %d, %d]}\\n', table.concat(parts, ", "),
      summary.requests, errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
"""


class Wrk:
    """A load from the beginning of a ``with`` statement to its end.

    Args:
        folder: for its files.
        keep: whether connections are kept; else each request has one of its own.

    Attributes:
        seen: after the end, how often each answer came, by ``status text``.
        errors: after the end, what failed: connections, reads, writes, statuses that are errors, requests without an answer.
    """

    def __init__(self, url: str, folder: Path, *, keep: bool) -> None:
        if shutil.which("wrk") is None:
            servers.missing("wrk", "wrk")
        self._said = folder / f"wrk-{'kept' if keep else 'new'}"
        script = self._said.with_suffix(".lua")
        script.write_text(_SCRIPT, encoding="ascii")
        words = ["wrk", "-t1", "-c4", "-d600s", "--timeout", "120s", "-s", str(script)]
        self._words = [*words, *([] if keep else ["-H", "Connection: close"]), url]
        self.seen: dict[str, int] = {}
        self.errors: list[int] = []

    def __enter__(self) -> Wrk:
        with open(self._said, "wb") as said:
            self._process = subprocess.Popen(self._words, stdout=said, stderr=said)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(180)
        finally:
            self._process.kill()
            self._process.wait()
        last = self._lines()[-1]
        assert last.startswith("{"), "\n".join(self._lines())
        found = json.loads(last)
        self.seen, self.errors = found["seen"], found["errors"]

    def see(self, text: str, count: int) -> None:
        """Waits until this answer has come so often more."""
        wanted = self._count(text) + count
        until(lambda: self._count(text) >= wanted, 120)

    def _count(self, text: str) -> int:
        return max((int(line.split()[0]) for line in self._lines() if line.endswith(f" of {text}")), default=0)

    def _lines(self) -> list[str]:
        lines = self._said.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines or [""]
