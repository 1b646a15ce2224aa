"""What a link is given for a program, and what it has to know after a restart of the runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StartValues:
    """All that a program is given when it starts. It comes over the link alone.

    Attributes:
        env: the variables that ``env()`` reads.
        secrets: those that ``secret()`` reads.
        public_url: where the program is reached from outside.
        approvals_url: the page where people decide its gates. Whoever opens it has to sign in: it holds no token.
        trust_proxy: the proxies whose ``X-Forwarded-*`` the program believes; ``unix:`` is whoever connects to the listening
            socket that it was handed.
        human_timeout: seconds that a gate without ``within`` waits; ``None`` is the language's own default.
        llm: settings of the model provider, by their names in the environment (``PLATFORM_LLM_...``).
    """

    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    public_url: str = ""
    approvals_url: str = ""
    trust_proxy: tuple[str, ...] = ()
    human_timeout: float | None = None
    llm: Mapping[str, str] | None = field(default=None, repr=False)

    def host(self) -> dict[str, Any]:
        """The settings of the platform, as ``Start`` has them."""
        given: dict[str, Any] = {"public_url": self.public_url, "trust_proxy": list(self.trust_proxy)}
        if self.approvals_url:
            given["approvals_url"] = self.approvals_url
        if self.human_timeout is not None:
            given["human_timeout"] = self.human_timeout
        if self.llm is not None:
            given["llm"] = dict(self.llm)
        return given


@dataclass(slots=True)
class LinkState:
    """What another runner process needs to take up the link of a program that is running. It holds secrets: mode 0600.

    Attributes:
        resume: the secret that the program proves itself with when it comes back; made with the link.
        audited: the number of the last audit record that was taken.
        ready: whether the program has said so.
        gates: the tokens of the pending gates by their ids.
        secret: of a link over TCP.
        ports: of a link over TCP: that of the link, and that of its proxy.
    """

    resume: str = field(default="", repr=False)
    audited: int = 0
    ready: bool = False
    gates: dict[str, str] = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)
    ports: tuple[int, int] = (0, 0)

    def to_json(self) -> dict[str, Any]:
        """What ``json.dumps`` takes."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> LinkState:
        """The state that :meth:`to_json` gave. Errors: ``KeyError``."""
        link, proxy = given.get("ports", (0, 0))
        return cls(
            str(given["resume"]),
            int(given["audited"]),
            bool(given["ready"]),
            dict(given["gates"]),
            str(given.get("secret", "")),
            (int(link), int(proxy)),
        )
