"""Reading from Solana nodes over JSON-RPC. Gate: ``net`` with the host of the node."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values.display import raw_text
from stdlib.chain_requests import ChainNode, list_argument, polled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("solana_reads", "Solana nodes")

_TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
_ACCOUNTS_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"

# Curve25519 in Edwards form (RFC 8032, 5.1)
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P


@family.builtin("solana_rpc(url, method, params?)", capability="net", context=True)
def solana_rpc(ctx: Context, url: Any, method: Any, params: Any = None) -> Any:
    """Calls a method of the JSON-RPC interface of a node with `params`, a list, and gives the decoded result."""
    return ChainNode(ctx, "solana_rpc", url).rpc(raw_text(method), list_argument("solana_rpc", params, "params"))


@family.builtin("solana_latest_blockhash(url)", capability="net", context=True)
def solana_latest_blockhash(ctx: Context, url: Any) -> bytes:
    """The 32 bytes of the newest finalized block hash."""
    node = ChainNode(ctx, "solana_latest_blockhash", url)
    value = _field(node, _value(node, node.rpc("getLatestBlockhash", [])), "blockhash")
    hash_ = _base58(value)
    if hash_ is None or len(hash_) != 32:
        raise node.answered("returned an invalid block hash")
    return hash_


@family.builtin("solana_balance(url, pubkey)", capability="net", context=True)
def solana_balance(ctx: Context, url: Any, pubkey: Any) -> int:
    """The balance of an account in lamports, exact. `pubkey` is 32 bytes or their base58 text."""
    node = ChainNode(ctx, "solana_balance", url)
    return _amount(node, _value(node, node.rpc("getBalance", [_key_text(node, pubkey)])))


@family.builtin("solana_wait(url, sig, timeout?)", capability="net", context=True, aliases=("solana_confirm",))
def solana_wait(ctx: Context, url: Any, sig: Any, timeout: Any = None) -> dict[str, Any] | None:
    """Waits for a transaction: `{slot, confirmations, confirmation_status, err}` once it is confirmed, finalized or has failed,
    or `nothing` after `timeout` seconds (60 unless given, at most a day).
    """
    node = ChainNode(ctx, "solana_wait", url)
    signature = _base58(sig) if type(sig) is str else sig
    if type(signature) is not bytes or len(signature) != 64:
        raise node.fault("the signature must be 64 bytes or their base58 text")
    text = sig if type(sig) is str else _to_base58(signature)

    def poll() -> dict[str, Any] | None:
        statuses = _value(node, node.rpc("getSignatureStatuses", [[text], {"searchTransactionHistory": _true()}]))
        if type(statuses) is not list or len(statuses) != 1:
            raise node.answered("returned no list of one status")
        status = statuses[0]
        if status is None:
            return None
        if type(status) is not dict:
            raise node.answered("returned a status that is no map")
        reached = status.get("confirmationStatus")
        if status.get("err") is None and reached not in ("confirmed", "finalized"):
            return None
        return {
            "slot": status.get("slot"),
            "confirmations": status.get("confirmations"),
            "confirmation_status": reached,
            "err": status.get("err"),
        }

    answer: dict[str, Any] | None = polled(node, timeout, poll)
    return answer


@family.builtin("spl_balance(url, owner, mint, token_program?)", capability="net", context=True)
def spl_balance(ctx: Context, url: Any, owner: Any, mint: Any, token_program: Any = None) -> dict[str, Any]:
    """The balance of a token in the owner's associated account: `{amount, decimals, ata}`, the amount an exact integer of the
    smallest unit, `ata` the address of the account. Without such an account it is an error.
    """
    node = ChainNode(ctx, "spl_balance", url)
    program = _key(node, _TOKEN_PROGRAM if token_program is None else token_program)
    account = _to_base58(associated_account(_key(node, owner), program, _key(node, mint)))
    value = _value(node, node.rpc("getTokenAccountBalance", [account]))
    amount = _field(node, value, "amount")
    if type(amount) is not str or not amount.isascii() or not amount.isdigit() or len(amount) > 20:
        raise node.answered("returned an invalid amount")
    return {"amount": int(amount), "decimals": _amount(node, _field(node, value, "decimals")), "ata": account}


def associated_account(owner: bytes, program: bytes, mint: bytes) -> bytes:
    """The address of an owner's token account, derived as the associated token account program does."""
    from hashlib import sha256

    accounts = _base58(_ACCOUNTS_PROGRAM)
    assert accounts is not None
    for bump in range(255, -1, -1):
        address = sha256(owner + program + mint + bytes([bump]) + accounts + b"ProgramDerivedAddress").digest()
        # An address on the curve could have a private key.
        if not _is_on_curve(address):
            return address
    raise RuntimeFault("spl_balance: no address can be derived for this owner and mint")


def _is_on_curve(point: bytes) -> bool:
    y = int.from_bytes(point, "little") & ((1 << 255) - 1)
    y2 = y * y % _P
    # x² = (y² - 1) / (d y² + 1) has a root exactly when the product of both is a square.
    product = (y2 - 1) * (_D * y2 + 1) % _P
    return product == 0 or pow(product, (_P - 1) // 2, _P) == 1


def _true() -> Any:
    from language.values import TRUE

    return TRUE


def _base58(text: Any) -> bytes | None:
    from stdlib.encoding import bytes_

    if type(text) is not str or len(text) > 128:
        return None
    try:
        found: bytes = bytes_(text, "base58")
    except RuntimeFault:
        return None
    return found


def _to_base58(data: bytes) -> str:
    from stdlib.encoding import decode

    return decode(data, "base58")


def _key(node: ChainNode, value: Any) -> bytes:
    key = _base58(value) if type(value) is str else value
    if type(key) is not bytes or len(key) != 32:
        raise node.fault("a public key must be 32 bytes or their base58 text")
    return key


def _key_text(node: ChainNode, value: Any) -> str:
    key = _key(node, value)
    return value if type(value) is str else _to_base58(key)


def _field(node: ChainNode, value: Any, name: str) -> Any:
    if type(value) is not dict or name not in value:
        raise node.answered(f"returned a result without {name}")
    return value[name]


def _value(node: ChainNode, result: Any) -> Any:
    return _field(node, result, "value")


def _amount(node: ChainNode, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise node.answered("returned an invalid amount")
    return value
