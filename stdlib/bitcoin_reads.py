"""Reading from Bitcoin: the REST interface of Esplora, and JSON-RPC of Bitcoin Core. Gate: ``net`` with the host."""

from __future__ import annotations

from language.registry import Family
from language.values import Secret, to_bool
from language.values.display import raw_text
from stdlib.chain_requests import ChainNode, confirmations_argument, list_argument, plain_word, polled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("bitcoin_reads", "Bitcoin nodes")


@family.builtin("btc_utxos(url, addr)", capability="net", context=True)
def btc_utxos(ctx: Context, url: Any, addr: Any) -> list[dict[str, Any]]:
    """The unspent outputs of an address: a list of `{txid, vout, amount, confirmations, confirmed}`, amounts in satoshi. `url`
    is that of an Esplora server: `https://blockstream.info/api`.
    """
    node = ChainNode(ctx, "btc_utxos", url)
    found = node.get(f"/address/{plain_word('btc_utxos', addr, 'address')}/utxo")
    if type(found) is not list:
        raise node.answered("returned no list")
    statuses = [_map(node, _map(node, one).get("status")) for one in found]
    tip = _tip(node) if any(map(_is_confirmed, statuses)) else 0
    return [
        {
            "txid": one.get("txid"),
            "vout": _whole(node, one, "vout"),
            "amount": _whole(node, one, "value"),
            "confirmations": _confirmations(node, status, tip),
            "confirmed": to_bool(_is_confirmed(status)),
        }
        for one, status in zip(found, statuses)
    ]


@family.builtin("btc_balance(url, addr)", capability="net", context=True)
def btc_balance(ctx: Context, url: Any, addr: Any) -> dict[str, int]:
    """The balance of an address in satoshi: `{confirmed, mempool, total}`; the amount in the mempool may be negative."""
    node = ChainNode(ctx, "btc_balance", url)
    found = _map(node, node.get(f"/address/{plain_word('btc_balance', addr, 'address')}"))
    sums = []
    for name in ("chain_stats", "mempool_stats"):
        stats = _map(node, found.get(name))
        sums.append(_whole(node, stats, "funded_txo_sum") - _whole(node, stats, "spent_txo_sum"))
    return {"confirmed": sums[0], "mempool": sums[1], "total": sums[0] + sums[1]}


@family.builtin("btc_fee_estimates(url)", capability="net", context=True)
def btc_fee_estimates(ctx: Context, url: Any) -> dict[str, Any]:
    """Estimated fees in satoshi per virtual byte: a map by the number of blocks within which a transaction is to be
    confirmed.
    """
    node = ChainNode(ctx, "btc_fee_estimates", url)
    return _map(node, node.get("/fee-estimates"))


@family.builtin("btc_wait(url, txid, confs?, timeout?)", capability="net", context=True)
def btc_wait(ctx: Context, url: Any, txid: Any, confs: Any = None, timeout: Any = None) -> dict[str, Any] | None:
    """Waits for a transaction: `{txid, confirmations, block_height, block_hash, block_time}` once it has 1 to 1000
    confirmations (1 unless given), or `nothing` after `timeout` seconds (60 unless given, at most a day).
    """
    node = ChainNode(ctx, "btc_wait", url)
    id_ = plain_word("btc_wait", txid, "transaction id")
    wanted = confirmations_argument("btc_wait", confs)

    def poll() -> dict[str, Any] | None:
        status = _map(node, node.get(f"/tx/{id_}/status"))
        if not _is_confirmed(status):
            return None
        count = _confirmations(node, status, _tip(node))
        if count < wanted:
            return None
        block = {name: status.get(name) for name in ("block_height", "block_hash", "block_time")}
        return {"txid": id_, "confirmations": count, **block}

    answer: dict[str, Any] | None = polled(node, timeout, poll)
    return answer


@family.builtin("btc_rpc(url, method, params?, auth?)", capability="net", context=True)
def btc_rpc(ctx: Context, url: Any, method: Any, params: Any = None, auth: Any = None) -> Any:
    """Calls a method of the JSON-RPC interface of Bitcoin Core with `params`, a list, and gives the decoded result. `auth` is
    `user:password`, as a secret or text.

    `btc_rpc(url, "getblockcount", [], secret("BITCOIN_RPC"))`
    """
    node = ChainNode(ctx, "btc_rpc", url)
    return node.rpc(
        raw_text(method),
        list_argument("btc_rpc", params, "params"),
        authorization=None if auth is None else _basic(node, auth),
        errors_by_status=True,
    )


def _basic(node: ChainNode, auth: Any) -> bytes:
    from binascii import b2a_base64

    plain = auth.plaintext if type(auth) is Secret else auth
    if type(plain) is not str or ":" not in plain:
        raise node.fault("auth must be user:password, as a secret or text")
    return b"Basic " + b2a_base64(plain.encode(), newline=False)


def _tip(node: ChainNode) -> int:
    height = node.get_text("/blocks/tip/height")
    if not height.isascii() or not height.isdigit() or len(height) > 12:
        raise node.answered("returned an invalid height")
    return int(height)


def _is_confirmed(status: dict[str, Any]) -> bool:
    return bool(status.get("confirmed"))


def _confirmations(node: ChainNode, status: dict[str, Any], tip: int) -> int:
    return max(0, tip - _whole(node, status, "block_height") + 1) if _is_confirmed(status) else 0


def _map(node: ChainNode, value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise node.answered("returned no map")
    return value


def _whole(node: ChainNode, found: dict[str, Any], name: str) -> int:
    value = found.get(name)
    if type(value) is not int:
        raise node.answered(f"returned an invalid {name}")
    return value
