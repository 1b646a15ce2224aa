"""Reading from nodes of Ethereum and compatible chains over JSON-RPC. Gate: ``net`` with the host of the node."""

from __future__ import annotations

from language.registry import Family
from language.values import as_map, type_of
from language.values.display import quote, raw_text
from stdlib.chain_requests import ChainNode, confirmations_argument, list_argument, map_argument, polled, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("evm_reads", "Ethereum nodes")

_TAGS = frozenset(("latest", "earliest", "pending", "safe", "finalized"))
_HEX = frozenset("0123456789abcdefABCDEF")
_FILTER = ("address", "topics", "fromBlock", "toBlock", "blockHash")
_FEE_BLOCKS = 10
_FEE_PERCENTILES = (50,)

_QUANTITIES = frozenset(
    (
        "blockNumber", "transactionIndex", "logIndex", "cumulativeGasUsed", "effectiveGasPrice", "gasUsed", "status", "type",
        "blobGasUsed", "blobGasPrice", "blockTimestamp",
    )
)  # fmt: skip
_ADDRESSES = frozenset(("from", "to", "contractAddress", "address"))


@family.builtin("evm_rpc(url, method, params?)", capability="net", context=True, aliases=("eth_rpc",))
def evm_rpc(ctx: Context, url: Any, method: Any, params: Any = None) -> Any:
    """Calls a method of the JSON-RPC interface of a node and gives the decoded result. In `params`, a list, integers are sent
    as hex quantities and bytes as `0x...` text.

    An error that the node reports, an invalid answer or a lost connection is an error: `evm_rpc: RPC error -32601: ...`.

    `evm_rpc(url, "eth_getBlockByNumber", [17, false])` sends `["0x11", false]`.
    """
    node = ChainNode(ctx, "evm_rpc", url)
    return node.rpc(raw_text(method), _encoded(node, list_argument("evm_rpc", params, "params")))


@family.builtin("evm_nonce(url, addr, block?)", capability="net", context=True, aliases=("eth_nonce",))
def evm_nonce(ctx: Context, url: Any, addr: Any, block: Any = None) -> int:
    """The number of transactions that an address has sent, including pending ones (`block` is `pending` unless given)."""
    node = ChainNode(ctx, "evm_nonce", url)
    return _quantity(node, node.rpc("eth_getTransactionCount", [_address(node, addr), _block(node, block, "pending")]))


@family.builtin("evm_balance(url, addr, block?)", capability="net", context=True, aliases=("eth_balance",))
def evm_balance(ctx: Context, url: Any, addr: Any, block: Any = None) -> int:
    """The balance of an address in wei, exact. `block` is `latest` (unless given), `earliest`, `pending`, `safe`, `finalized`
    or a number.
    """
    node = ChainNode(ctx, "evm_balance", url)
    return _quantity(node, node.rpc("eth_getBalance", [_address(node, addr), _block(node, block)]))


@family.builtin("evm_gas_price(url)", capability="net", context=True, aliases=("eth_gas_price",))
def evm_gas_price(ctx: Context, url: Any) -> int:
    """The price of gas that the node suggests, in wei."""
    node = ChainNode(ctx, "evm_gas_price", url)
    return _quantity(node, node.rpc("eth_gasPrice", []))


@family.builtin("evm_chain_id(url)", capability="net", context=True, aliases=("eth_chain_id",))
def evm_chain_id(ctx: Context, url: Any) -> int:
    """The number of the chain (EIP-155): 1 for the main network of Ethereum."""
    node = ChainNode(ctx, "evm_chain_id", url)
    return _quantity(node, node.rpc("eth_chainId", []))


@family.builtin("evm_block_number(url)", capability="net", context=True)
def evm_block_number(ctx: Context, url: Any) -> int:
    """The number of the newest block."""
    node = ChainNode(ctx, "evm_block_number", url)
    return _quantity(node, node.rpc("eth_blockNumber", []))


@family.builtin("evm_estimate_gas(url, tx)", capability="net", context=True, aliases=("eth_estimate_gas",))
def evm_estimate_gas(ctx: Context, url: Any, tx: Any) -> int:
    """An estimate of the gas for a transaction: a map of `from`, `to`, `value`, `data`, ..., integers and bytes as they are."""
    node = ChainNode(ctx, "evm_estimate_gas", url)
    return _quantity(node, node.rpc("eth_estimateGas", [_transaction(node, tx)]))


@family.builtin("evm_call(url, tx, block?)", capability="net", context=True, aliases=("eth_call",))
def evm_call(ctx: Context, url: Any, tx: Any, block: Any = None) -> bytes:
    """Calls a contract without a transaction and gives the raw bytes that it returns. `tx` is a map of `to` and `data`.

    `evm_call(url, {"to": token, "data": bytes("18160ddd", "hex")})` asks a token for its total supply.
    """
    node = ChainNode(ctx, "evm_call", url)
    return _data(node, node.rpc("eth_call", [_transaction(node, tx), _block(node, block)]))


@family.builtin("evm_fee_history(url, blocks?, percentiles?)", capability="net", context=True, aliases=("eth_fee_history",))
def evm_fee_history(ctx: Context, url: Any, blocks: Any = None, percentiles: Any = None) -> dict[str, Any]:
    """The fees of the newest blocks (10 unless given), in wei: `base_fee` of the next block, `priority` (the median of the
    first column of `rewards`), `base_fees` and `rewards`, one row for each block with a column for each of the `percentiles`
    (`[50]` unless given).
    """
    node = ChainNode(ctx, "evm_fee_history", url)
    count = _FEE_BLOCKS if blocks is None else whole(blocks)
    if count is None or not 1 <= count <= 1024:
        raise node.fault("blocks must be a whole number from 1 to 1024")
    wanted = list(_FEE_PERCENTILES) if percentiles is None else list_argument("evm_fee_history", percentiles, "percentiles")
    if any(type(p) not in (int, float) or not 0 <= p <= 100 for p in wanted):
        raise node.fault("percentiles must be numbers from 0 to 100")
    history = _map(node, node.rpc("eth_feeHistory", [hex(count), "latest", wanted]))
    base_fees = [_quantity(node, fee) for fee in _list(node, history.get("baseFeePerGas"))]
    if not base_fees:
        raise node.answered("returned a fee history without base fees")
    rewards = [[_quantity(node, fee) for fee in _list(node, row)] for row in _list(node, history.get("reward") or [])]
    first = sorted(row[0] for row in rewards if row)
    middle = len(first) // 2
    median = 0 if not first else first[middle] if len(first) % 2 else (first[middle - 1] + first[middle]) // 2
    return {"base_fee": base_fees[-1], "priority": median, "base_fees": base_fees, "rewards": rewards}


@family.builtin("evm_receipt(url, hash)", capability="net", context=True, aliases=("eth_receipt",))
def evm_receipt(ctx: Context, url: Any, hash: Any) -> dict[str, Any] | None:
    """The receipt of a transaction, `nothing` while there is none: a map with the names of the node, quantities as integers,
    addresses with their checksum (EIP-55), hashes as text, the data of logs as bytes.
    """
    node = ChainNode(ctx, "evm_receipt", url)
    return _receipt(node, _hash(node, hash))


@family.builtin("evm_wait(url, hash, confirmations?, timeout?)", capability="net", context=True, aliases=("eth_wait_receipt",))
def evm_wait(ctx: Context, url: Any, hash: Any, confirmations: Any = None, timeout: Any = None) -> dict[str, Any] | None:
    """Waits for a transaction: its receipt as `evm_receipt` gives it once it has 1 to 1000 `confirmations` (1 unless given), or
    `nothing` after `timeout` seconds (60 unless given, at most a day).
    """
    node = ChainNode(ctx, "evm_wait", url)
    wanted = confirmations_argument("evm_wait", confirmations)
    text = _hash(node, hash)

    def poll() -> dict[str, Any] | None:
        receipt = _receipt(node, text)
        if receipt is None or wanted == 1:
            return receipt
        at = receipt.get("blockNumber")
        if type(at) is not int:
            return None
        return receipt if _quantity(node, node.rpc("eth_blockNumber", [])) - at + 1 >= wanted else None

    answer: dict[str, Any] | None = polled(node, timeout, poll)
    return answer


@family.builtin("evm_logs(url, filter)", capability="net", context=True)
def evm_logs(ctx: Context, url: Any, filter: Any) -> list[dict[str, Any]]:
    """The logs that pass a filter, in the form of those in `evm_receipt`. The filter is a map of `address` (one or a list),
    `topics` (a list; `nothing` for any, a list for one of several) and `fromBlock` and `toBlock`, or `blockHash`.
    """
    node = ChainNode(ctx, "evm_logs", url)
    given = map_argument("evm_logs", filter, "the filter")
    for name in given:
        if name not in _FILTER:
            raise node.fault(f"unknown key {quote(name)} in the filter (valid: {', '.join(_FILTER)})")
    if "blockHash" in given and ("fromBlock" in given or "toBlock" in given):
        raise node.fault("a filter has blockHash, or fromBlock and toBlock")
    sent: dict[str, Any] = {}
    for name, value in given.items():
        if name == "address":
            sent[name] = [_address(node, one) for one in value] if type(value) is list else _address(node, value)
        elif name == "topics":
            sent[name] = [_topic(node, one) for one in list_argument("evm_logs", value, "topics")]
        elif name == "blockHash":
            sent[name] = _hash(node, value)
        else:
            sent[name] = _block(node, value)
    return [_settled(node, _map(node, log)) for log in _list(node, node.rpc("eth_getLogs", [sent]))]


def checksummed(address: bytes) -> str:
    """The text of an address with its checksum in upper and lower case (EIP-55)."""
    from stdlib.hash_functions import keccak256

    digits = address.hex()
    marks = keccak256(digits.encode()).hex()
    return "0x" + "".join(c.upper() if int(mark, 16) >= 8 else c for c, mark in zip(digits, marks))


# ---- arguments ---------------------------------------------------------------------------------------------------------


def _encoded(node: ChainNode, value: Any, depth: int = 0) -> Any:
    """A parameter in the encoding of the interface: integers as quantities, bytes as hex."""
    if depth > 64:
        raise node.fault("the parameters are nested too deeply")
    if type(value) is int:
        if value < 0:
            raise node.fault("a quantity cannot be negative")
        return hex(value)
    if type(value) is bytes:
        return "0x" + value.hex()
    if type(value) is list:
        return [_encoded(node, item, depth + 1) for item in value]
    entries = as_map(value)
    return value if entries is None else {name: _encoded(node, item, depth + 1) for name, item in entries.items()}


def _hex_argument(node: ChainNode, value: Any, size: int, what: str) -> str:
    if type(value) is bytes and len(value) == size:
        return "0x" + value.hex()
    if type(value) is str and len(value) == 2 + 2 * size and value[:2] == "0x" and _HEX.issuperset(value[2:]):
        return value
    raise node.fault(f"{what} must be {size} bytes, or 0x and {2 * size} hex digits")


def _address(node: ChainNode, value: Any) -> str:
    return _hex_argument(node, value, 20, "an address")


def _hash(node: ChainNode, value: Any) -> str:
    return _hex_argument(node, value, 32, "a hash")


def _topic(node: ChainNode, value: Any) -> Any:
    if value is None:
        return None
    if type(value) is list:
        return [_hash(node, one) for one in value]
    return _hash(node, value)


def _block(node: ChainNode, value: Any, default: str = "latest") -> str:
    if value is None:
        return default
    number = whole(value)
    if number is not None and number >= 0:
        return hex(number)
    if type(value) is str and (value in _TAGS or _is_quantity(value)):
        return value
    raise node.fault(f"a block is {', '.join(sorted(_TAGS))}, a number, or a 0x quantity without leading zeros")


def _transaction(node: ChainNode, tx: Any) -> Any:
    return _encoded(node, map_argument(node.builtin, tx, "the transaction"))


# ---- answers -----------------------------------------------------------------------------------------------------------


def _is_quantity(value: Any) -> bool:
    if type(value) is not str or value[:2] != "0x":
        return False
    digits = value[2:]
    return 1 <= len(digits) <= 64 and _HEX.issuperset(digits) and (digits == "0" or digits[0] != "0")


def _quantity(node: ChainNode, value: Any) -> int:
    if not _is_quantity(value):
        raise node.answered(f"returned an invalid quantity: {_shown(value)}")
    return int(value, 16)


def _data(node: ChainNode, value: Any) -> bytes:
    if type(value) is str and value[:2] == "0x" and len(value) % 2 == 0 and _HEX.issuperset(value[2:]):
        return bytes.fromhex(value[2:])
    raise node.answered(f"returned invalid data: {_shown(value)}")


def _map(node: ChainNode, value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise node.answered(f"returned {type_of(value)} in place of a map")
    return value


def _list(node: ChainNode, value: Any) -> list[Any]:
    if type(value) is not list:
        raise node.answered(f"returned {type_of(value)} in place of a list")
    return value


def _shown(value: Any) -> str:
    text = raw_text(value)
    return quote(text if len(text) <= 80 else text[:80] + "…")


def _receipt(node: ChainNode, hash: str) -> dict[str, Any] | None:
    found = node.rpc("eth_getTransactionReceipt", [hash])
    return None if found is None else _settled(node, _map(node, found))


def _settled(node: ChainNode, found: dict[str, Any]) -> dict[str, Any]:
    """A receipt or a log with its hex texts converted to values of the language."""
    settled: dict[str, Any] = {}
    for name, value in found.items():
        if value is None:
            settled[name] = None
        elif name in _QUANTITIES:
            settled[name] = _quantity(node, value)
        elif name in _ADDRESSES:
            address = _data(node, value)
            if len(address) != 20:
                raise node.answered(f"returned an invalid address: {_shown(value)}")
            settled[name] = checksummed(address)
        elif name == "data":
            settled[name] = _data(node, value)
        elif name == "logs":
            settled[name] = [_settled(node, _map(node, log)) for log in _list(node, value)]
        else:
            settled[name] = value
    return settled
