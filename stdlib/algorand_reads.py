"""Reading from Algorand nodes: the REST interface of algod. Gate: ``net`` with the host of the node."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from stdlib.chain_requests import ChainNode, plain_word, polled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("algorand_reads", "Algorand nodes")

#: The most rounds in which a transaction is valid (a bound of the protocol).
_ROUNDS = 1000


@family.builtin("algorand_params(url, headers?)", capability="net", context=True)
def algorand_params(ctx: Context, url: Any, headers: Any = None) -> dict[str, Any]:
    """The parameters for a new transaction: `fee` per byte and `min_fee` in microalgos, first and last valid round `fv` and
    `lv`, genesis hash `gh` (32 bytes) and genesis name `gen`. A header may hold a secret:
    `{"X-Algo-API-Token": secret("ALGOD")}`.
    """
    node = ChainNode(ctx, "algorand_params", url, headers)
    found = _map(node, node.get("/v2/transactions/params"))
    last = _whole(node, found, "last-round")
    return {
        "fee": _whole(node, found, "fee"),
        "min_fee": _whole(node, found, "min-fee"),
        "fv": last,
        "lv": last + _ROUNDS,
        "gh": _genesis_hash(node, found.get("genesis-hash")),
        "gen": found.get("genesis-id"),
    }


@family.builtin("algorand_account(url, addr, headers?)", capability="net", context=True)
def algorand_account(ctx: Context, url: Any, addr: Any, headers: Any = None) -> dict[str, Any]:
    """The node's record of an account, with the field names of the node: `amount` in microalgos, `assets`, ..."""
    node = ChainNode(ctx, "algorand_account", url, headers)
    return _map(node, node.get("/v2/accounts/" + plain_word("algorand_account", addr, "address")))


@family.builtin("algorand_wait(url, txid, timeout?, headers?)", capability="net", context=True)
def algorand_wait(ctx: Context, url: Any, txid: Any, timeout: Any = None, headers: Any = None) -> dict[str, Any] | None:
    """Waits until a transaction is in a round and gives the node's record of it, or `nothing` after `timeout` seconds (60
    unless given, at most a day). A transaction that the node has rejected is an error.
    """
    node = ChainNode(ctx, "algorand_wait", url, headers)
    path = "/v2/transactions/pending/" + plain_word("algorand_wait", txid, "transaction id")

    def poll() -> dict[str, Any] | None:
        found = _map(node, node.get(path))
        if found.get("pool-error"):
            raise node.fault(f"the transaction was rejected: {found['pool-error']}")
        at = found.get("confirmed-round")
        return found if type(at) is int and at > 0 else None

    answer: dict[str, Any] | None = polled(node, timeout, poll)
    return answer


def _map(node: ChainNode, value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise node.answered("returned no map")
    return value


def _whole(node: ChainNode, found: dict[str, Any], name: str) -> int:
    value = found.get(name)
    if type(value) is not int or value < 0:
        raise node.answered(f"returned an invalid {name}")
    return value


def _genesis_hash(node: ChainNode, value: Any) -> bytes:
    from stdlib.encoding import bytes_

    try:
        data = bytes_(value, "base64") if type(value) is str else b""
    except RuntimeFault:
        data = b""
    if len(data) != 32:
        raise node.answered("returned an invalid genesis-hash")
    return data
