"""Reading from block chains: nodes are servers of this machine that answer as the real ones do."""

from __future__ import annotations

import json
import time
from typing import ClassVar

import pytest
from web_server import WebServer, json_reply, reply

import language
from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from stdlib import all_builtins
from stdlib.algorand_reads import algorand_account, algorand_params, algorand_wait
from stdlib.bitcoin_reads import btc_balance, btc_fee_estimates, btc_rpc, btc_utxos, btc_wait
from stdlib.evm_reads import (
    checksummed,
    evm_balance,
    evm_block_number,
    evm_call,
    evm_chain_id,
    evm_estimate_gas,
    evm_fee_history,
    evm_gas_price,
    evm_logs,
    evm_nonce,
    evm_receipt,
    evm_rpc,
    evm_wait,
)
from stdlib.solana_reads import solana_balance, solana_latest_blockhash, solana_rpc, solana_wait, spl_balance

ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
HASH = "0x" + "ab" * 32


class QuickHost(NativeHost):
    """A native host whose clock goes on by what it sleeps."""

    def __init__(self):
        super().__init__()
        self.time = 1000.0
        self.slept = []
        self.told = []

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.time += seconds

    def write_error_line(self, line):
        self.told.append(line)


@pytest.fixture
def ctx():
    ctx = Context(QuickHost(), collect=True)
    ctx.capabilities.require("net", "127.0.0.1")
    return ctx


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


class Rpc(WebServer):
    """A node: answers each method with the next of its results, the last one for ever; what is an exception is an RPC error."""

    def __init__(self, **results):
        self.results = {name: list(found) if isinstance(found, tuple) else [found] for name, found in results.items()}
        super().__init__(lambda request: self.respond(json.loads(request.body)))

    def respond(self, call):
        left = self.results[call["method"]]
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, bytes) or found is Ellipsis:
            return None if found is Ellipsis else found
        if isinstance(found, Exception):
            code, message = found.args
            return json_reply({"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}})
        return json_reply({"jsonrpc": "2.0", "id": call["id"], "result": found})

    @property
    def calls(self):
        return [(call["method"], call["params"]) for call in (json.loads(request.body) for request in self.requests)]


class TestRpc:
    def test_what_is_sent(self, ctx):
        with Rpc(web3_x={"a": [1, None, True]}) as node:
            got = evm_rpc(ctx, node.url + "/v3?key=1", "web3_x", [17, b"\x01\xff", "text", TRUE, None, {"n": 0, "l": [255]}])
            assert got == {"a": [1, None, TRUE]}
            assert got["a"][2] is TRUE
            request = node.last
        assert (request.method, request.target) == ("POST", "/v3?key=1")
        assert request.headers["content-type"] == "application/json"
        assert request.body == (
            b'{"jsonrpc": "2.0", "id": 1, "method": "web3_x", "params": ["0x11", "0x01ff", "text", true, null, '
            b'{"n": "0x0", "l": ["0xff"]}]}'
        )

    def test_without_params(self, ctx):
        with Rpc(m=5) as node:
            assert solana_rpc(ctx, node.url, "m") == 5
            assert node.calls == [("m", [])]
            assert "must be a list, got map" in error_of(solana_rpc, ctx, node.url, "m", {})

    def test_params_of_other_chains_stay(self, ctx):
        with Rpc(m=5) as node:
            solana_rpc(ctx, node.url, "m", [17])
            assert node.calls == [("m", [17])]

    def test_a_secret_is_no_parameter(self, ctx):
        with Rpc(m=5) as node:
            for function in (evm_rpc, solana_rpc, btc_rpc):
                message = error_of(function, ctx, node.url, "m", [{"deep": [Secret("plain", ("KEY",))]}])
                assert message.endswith(": the secret KEY cannot be sent in the parameters (a header may hold one)")
            assert not node.requests

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (reply("gone\r\n away", status="404 Not Found"), "evm_rpc: 127.0.0.1 returned HTTP 404: gone away"),
            (reply("x" * 500, status="500 No"), "evm_rpc: 127.0.0.1 returned HTTP 500: " + "x" * 200),
            (reply("", "Location: http://else/", status="302 No"), "evm_rpc: 127.0.0.1 returned HTTP 302: "),
            (reply("{oops"), "evm_rpc: 127.0.0.1 returned invalid JSON: "),
            (reply("[1]"), "evm_rpc: 127.0.0.1 returned no JSON-RPC answer"),
            (reply('{"id": 2, "result": 1}'), "evm_rpc: 127.0.0.1 returned the answer to another request"),
            (reply('{"id": true, "result": 1}'), "evm_rpc: 127.0.0.1 returned the answer to another request"),
            (reply('{"result": 1}'), "evm_rpc: 127.0.0.1 returned the answer to another request"),
            (reply('{"id": 1}'), "evm_rpc: 127.0.0.1 returned an answer without a result"),
            (
                reply('{"id": 1, "error": {"code": -32601, "message": "no such method"}}'),
                "evm_rpc: RPC error -32601: no such method",
            ),
            (reply('{"id": null, "error": {"code": -32700, "message": "bad"}}'), "evm_rpc: RPC error -32700: bad"),
            (reply('{"id": 1, "error": "text"}'), "evm_rpc: RPC error: text"),
            (None, "evm_rpc: request to 127.0.0.1 failed: the server closed the connection without an answer"),
        ],
    )
    def test_errors_name_the_host_alone(self, ctx, answer, message):
        with WebServer(lambda request: answer) as node:
            got = error_of(evm_rpc, ctx, node.url.replace("//", "//user:pass@") + "/v3/apikey?token=1", "m")
        assert got.startswith(message)
        for hidden in ("apikey", "token", "pass"):
            assert hidden not in got

    def test_most_of_an_answer(self, ctx):
        with WebServer(lambda request: reply(b" " * (16 * 1024 * 1024 + 1))) as node:
            assert "failed: the response body is larger than 16777216 bytes" in error_of(evm_rpc, ctx, node.url, "m")

    def test_the_gate(self, ctx):
        other = Context(QuickHost(), collect=True)
        with Rpc(m=1) as node:
            for name, builtin in all_builtins().items():
                if builtin.family.endswith("_reads"):
                    arguments = [node.url] + ["x"] * (builtin.required - 1)
                    message = error_of(builtin.function, other, *arguments)
                    assert message.startswith(f'Capability not granted: net("127.0.0.1:{node.port}")'), name
                    assert error_of(builtin.function, ctx, "no url", *arguments[1:]).endswith(
                        "(): the URL has no host (expected scheme://host/…)"
                    )
            assert not node.requests

    def test_the_hook_of_an_embedder(self):
        asked = []

        def hook(request):
            asked.append(request)
            return {"status": 200, "body": '{"id": 1, "result": "0x10"}'}

        source = 'require net("node.example")\nprint(evm_chain_id("https://node.example/"))'
        assert language.run(source, host={"http": hook})["output"] == ["16"]
        assert (asked[0]["method"], asked[0]["timeout"]) == ("POST", 30)
        assert json.loads(asked[0]["body"])["method"] == "eth_chainId"
        errors = language.run(source)["errors"]
        assert errors[0].startswith(
            "Runtime error: <embedded>:2:19: evm_chain_id: not available in the wasm profile — this host provides no http"
        )

    def test_old_names(self):
        aliases = {name: builtin.alias_of for name, builtin in all_builtins().items() if builtin.family.endswith("_reads")}
        assert {name for name, current in aliases.items() if current} == {
            "eth_rpc", "eth_nonce", "eth_balance", "eth_gas_price", "eth_chain_id", "eth_estimate_gas", "eth_call",
            "eth_fee_history", "eth_receipt", "eth_wait_receipt", "solana_confirm",
        }  # fmt: skip
        assert aliases["eth_wait_receipt"] == "evm_wait"
        assert aliases["solana_confirm"] == "solana_wait"


class TestEvm:
    def test_quantities(self, ctx):
        most = 2**256 - 1
        with Rpc(eth_gasPrice="0x3b9aca00", eth_chainId="0x1", eth_blockNumber="0x0", eth_getBalance=hex(most)) as node:
            assert evm_gas_price(ctx, node.url) == 10**9
            assert evm_chain_id(ctx, node.url) == 1
            assert evm_block_number(ctx, node.url) == 0
            assert evm_balance(ctx, node.url, ADDRESS) == most

    @pytest.mark.parametrize("bad", ["0x", "0x01", "1", 1, None, "0xg", "0x" + "f" * 65, "0x 1", "-0x1", [], "0x1_0"])
    def test_what_is_no_quantity(self, ctx, bad):
        with Rpc(eth_chainId=bad) as node:
            assert error_of(evm_chain_id, ctx, node.url).startswith("evm_chain_id: 127.0.0.1 returned an invalid quantity: ")

    @pytest.mark.parametrize(
        ("block", "sent"),
        [(None, "latest"), ("finalized", "finalized"), (0, "0x0"), (17, "0x11"), (17.0, "0x11"), ("0x1f", "0x1f")],
    )
    def test_blocks(self, ctx, block, sent):
        with Rpc(eth_getBalance="0x5", eth_getTransactionCount="0x6") as node:
            assert evm_balance(ctx, node.url, ADDRESS, block) == 5
            assert evm_nonce(ctx, node.url, bytes.fromhex(ADDRESS[2:]), block) == 6
            assert node.calls == [
                ("eth_getBalance", [ADDRESS, sent]),
                ("eth_getTransactionCount", [ADDRESS, "pending" if block is None else sent]),
            ]

    @pytest.mark.parametrize("block", ["newest", -1, 1.5, "0x01", "17", TRUE, []])
    def test_what_is_no_block(self, ctx, block):
        with Rpc(eth_getBalance="0x5") as node:
            assert error_of(evm_balance, ctx, node.url, ADDRESS, block).startswith("evm_balance: a block is ")
            assert not node.requests

    @pytest.mark.parametrize("address", ["0x12", ADDRESS[2:], ADDRESS + "00", b"\0" * 19, 5, None, "0x" + "g" * 40])
    def test_what_is_no_address(self, ctx, address):
        with Rpc(eth_getBalance="0x5") as node:
            assert (
                error_of(evm_balance, ctx, node.url, address)
                == "evm_balance: an address must be 20 bytes, or 0x and 40 hex digits"
            )
            assert not node.requests

    def test_call_and_estimate(self, ctx):
        with Rpc(eth_call="0x00ff", eth_estimateGas="0x5208") as node:
            assert evm_call(ctx, node.url, {"to": ADDRESS, "data": b"\x18\x16\x0d\xdd"}) == b"\x00\xff"
            assert evm_estimate_gas(ctx, node.url, {"to": ADDRESS, "value": 10**18}) == 21000
            assert node.calls == [
                ("eth_call", [{"to": ADDRESS, "data": "0x18160ddd"}, "latest"]),
                ("eth_estimateGas", [{"to": ADDRESS, "value": "0xde0b6b3a7640000"}]),
            ]
            assert "a quantity cannot be negative" in error_of(evm_estimate_gas, ctx, node.url, {"value": -1})

    @pytest.mark.parametrize("bad", ["0x0", "00", None, 5, "0xzz"])
    def test_what_is_no_data(self, ctx, bad):
        with Rpc(eth_call=bad) as node:
            assert error_of(evm_call, ctx, node.url, {"to": ADDRESS}).startswith("evm_call: 127.0.0.1 returned invalid data: ")

    def test_fee_history(self, ctx):
        history = {"oldestBlock": "0x1", "baseFeePerGas": ["0x10", "0x20", "0x30"], "reward": [["0x5", "0x9"], ["0x1", "0x2"]]}
        with Rpc(eth_feeHistory=history) as node:
            assert evm_fee_history(ctx, node.url, 2, [25, 75.5]) == {
                "base_fee": 48, "priority": 3, "base_fees": [16, 32, 48], "rewards": [[5, 9], [1, 2]],
            }  # fmt: skip
            assert node.calls == [("eth_feeHistory", ["0x2", "latest", [25, 75.5]])]
            assert "blocks must be" in error_of(evm_fee_history, ctx, node.url, 0)
            assert "percentiles must be" in error_of(evm_fee_history, ctx, node.url, 2, [101])

    def test_receipt(self, ctx):
        raw = {
            "blockHash": HASH, "blockNumber": "0x10", "contractAddress": None, "cumulativeGasUsed": "0x5208", "from": ADDRESS,
            "to": "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359", "gasUsed": "0x5208", "status": "0x1",
            "transactionHash": HASH,
            "transactionIndex": "0x0", "type": "0x2", "logsBloom": "0x00",
            "logs": [{"address": "0xdbf03b407c01e7cd3cbea99509d93f8dddc8c6fb", "topics": [HASH], "data": "0x01ff",
                      "logIndex": "0x3", "removed": False}],
        }  # fmt: skip
        with Rpc(eth_getTransactionReceipt=(raw, None)) as node:
            got = evm_receipt(ctx, node.url, HASH)
            assert evm_receipt(ctx, node.url, bytes.fromhex(HASH[2:])) is None
            assert node.calls == [("eth_getTransactionReceipt", [HASH])] * 2
        assert list(got) == list(raw)
        # The addresses and their checksums are the examples of EIP-55.
        assert got["from"] == "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
        assert got["to"] == "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
        assert (got["blockNumber"], got["gasUsed"], got["status"], got["type"], got["contractAddress"]) == (
            16,
            21000,
            1,
            2,
            None,
        )
        assert (got["blockHash"], got["transactionHash"]) == (HASH, HASH)
        assert got["logs"] == [
            {
                "address": "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
                "topics": [HASH],
                "data": b"\x01\xff",
                "logIndex": 3,
                "removed": FALSE,
            }
        ]

    def test_checksums(self):
        for text in ("0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb", "0x52908400098527886E0F7030069857D2E4169EE7",
                     "0xde709f2102306220921060314715629080e2fb77"):  # fmt: skip
            assert checksummed(bytes.fromhex(text[2:])) == text

    def test_logs(self, ctx):
        with Rpc(eth_getLogs=[{"address": ADDRESS, "data": "0x", "blockNumber": "0x1"}]) as node:
            got = evm_logs(ctx, node.url, {"address": [ADDRESS], "topics": [None, [HASH, b"\xab" * 32]], "fromBlock": 5})
            assert got == [{"address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "data": b"", "blockNumber": 1}]
            assert node.calls == [("eth_getLogs", [{"address": [ADDRESS], "topics": [None, [HASH, HASH]], "fromBlock": "0x5"}])]
            assert 'unknown key "from"' in error_of(evm_logs, ctx, node.url, {"from": 1})
            assert "blockHash, or" in error_of(evm_logs, ctx, node.url, {"blockHash": HASH, "toBlock": 1})


RECEIPT = {"blockNumber": "0x10", "transactionHash": HASH}


class TestWaiting:
    def test_until_it_is_there(self, ctx):
        with Rpc(eth_getTransactionReceipt=(None, None, RECEIPT)) as node:
            assert evm_wait(ctx, node.url, HASH)["blockNumber"] == 16
            assert len(node.requests) == 3
        assert ctx.host.slept == [1.0, 1.0]
        assert [r["scope"] for r in ctx.capabilities.records] == [f"127.0.0.1:{node.port}"]

    def test_confirmations(self, ctx):
        with Rpc(eth_getTransactionReceipt=(RECEIPT, None, RECEIPT), eth_blockNumber=("0x10", "0x11", "0x12")) as node:
            assert evm_wait(ctx, node.url, HASH, 3)["blockNumber"] == 16
            assert [method for method, _ in node.calls].count("eth_blockNumber") == 3

    def test_until_the_deadline(self, ctx):
        with Rpc(eth_getTransactionReceipt=None) as node:
            assert evm_wait(ctx, node.url, HASH, 1, 2.5) is None
            assert ctx.host.slept == [1.0, 1.0, 0.5]
            assert len(node.requests) == 4
            assert evm_wait(ctx, node.url, HASH, 1, 0) is None
            assert len(node.requests) == 5
            ctx.host.slept.clear()
            assert evm_wait(ctx, node.url, HASH) is None
            assert sum(ctx.host.slept) == 60

    @pytest.mark.parametrize("timeout", [-1, "5", float("nan"), TRUE, []])
    def test_timeouts(self, ctx, timeout):
        with Rpc(eth_getTransactionReceipt=None) as node:
            message = error_of(evm_wait, ctx, node.url, HASH, 1, timeout)
        assert message == "evm_wait: the timeout must be a non-negative number of seconds"

    @pytest.mark.parametrize("count", [0, 1001, 1.5, "1"])
    def test_counts(self, ctx, count):
        with Rpc(eth_getTransactionReceipt=None) as node:
            assert "from 1 to 1000" in error_of(evm_wait, ctx, node.url, HASH, count)

    @pytest.mark.parametrize(
        "first", [reply("down", status="503 Down"), ..., reply("no", status="404 No"), ValueError(-1, "no")]
    )
    def test_a_first_failure_is_raised(self, ctx, first):
        with Rpc(eth_getTransactionReceipt=(first, RECEIPT)) as node:
            assert error_of(evm_wait, ctx, node.url, HASH).startswith("evm_wait: ")
            assert len(node.requests) == 1
        assert not ctx.host.slept

    def test_later_failures_may_pass(self, ctx):
        down = reply("down", status="503 Down")
        with Rpc(eth_getTransactionReceipt=(None, down, down, ..., None, RECEIPT)) as node:
            assert evm_wait(ctx, node.url, HASH)["blockNumber"] == 16
        assert ctx.host.told == ["lang: warning: evm_wait: 127.0.0.1 returned HTTP 503: down (trying again)"]

    @pytest.mark.parametrize("later", [reply("no", status="400 No"), reply("{oops"), ValueError(-1, "no")])
    def test_a_definitive_answer_is_raised(self, ctx, later):
        with Rpc(eth_getTransactionReceipt=(None, later)) as node:
            message = error_of(evm_wait, ctx, node.url, HASH)
            assert "deadline" not in message
            assert len(node.requests) == 2

    def test_the_deadline_during_a_failure(self, ctx):
        with Rpc(eth_getTransactionReceipt=(None, reply("down", status="503 Down"))) as node:
            message = error_of(evm_wait, ctx, node.url, HASH, 1, 3)
        assert message == "evm_wait: 127.0.0.1 returned HTTP 503: down (the wait deadline expired during this failure)"

    def test_a_host_that_cannot_sleep(self):
        polls = []

        def hook(request):
            polls.append(request)
            return {"status": 200, "body": '{"id": 1, "result": null}'}

        source = f'require net("n")\nprint(evm_wait("http://n/", "{HASH}", 1, 5))'
        assert language.run(source, host={"http": hook})["output"] == ["nothing"]
        assert len(polls) == 6

    def test_on_the_real_clock(self):
        ctx = Context(NativeHost(), collect=True)
        ctx.capabilities.require("net", None)
        with Rpc(eth_getTransactionReceipt=(None, RECEIPT)) as node:
            started = time.monotonic()
            assert evm_wait(ctx, node.url, HASH)["blockNumber"] == 16
        assert 0.9 < time.monotonic() - started < 20


KEY = "GjJQBVrscueJQA1hB5jxqct8q88Jtmev7rJ5aoxAiSH2"
SIGNATURE = b"\x05" * 64


class TestSolana:
    def test_block_hash_and_balance(self, ctx):
        with Rpc(getLatestBlockhash={"context": {}, "value": {"blockhash": KEY}}, getBalance={"value": 2**60}) as node:
            assert len(solana_latest_blockhash(ctx, node.url)) == 32
            assert solana_balance(ctx, node.url, KEY) == 2**60
            assert node.calls[1] == ("getBalance", [KEY])
            assert "32 bytes" in error_of(solana_balance, ctx, node.url, "1")
        with Rpc(getLatestBlockhash={"value": {"blockhash": "0OIl"}}) as node:
            assert "invalid block hash" in error_of(solana_latest_blockhash, ctx, node.url)

    def test_waiting(self, ctx):
        processed = {"slot": 5, "confirmations": 0, "confirmationStatus": "processed", "err": None}
        confirmed = {"slot": 5, "confirmations": 3, "confirmationStatus": "confirmed", "err": None, "status": {"Ok": None}}
        with Rpc(getSignatureStatuses=({"value": [None]}, {"value": [processed]}, {"value": [confirmed]})) as node:
            assert solana_wait(ctx, node.url, SIGNATURE) == {
                "slot": 5, "confirmations": 3, "confirmation_status": "confirmed", "err": None,
            }  # fmt: skip
            assert node.calls[0][1][1] == {"searchTransactionHistory": True}
            assert "64 bytes" in error_of(solana_wait, ctx, node.url, KEY)

    def test_a_failed_transaction(self, ctx):
        failed = {"slot": 5, "confirmations": 0, "confirmationStatus": "processed", "err": {"InstructionError": [0, "Custom"]}}
        with Rpc(getSignatureStatuses={"value": [failed]}) as node:
            assert solana_wait(ctx, node.url, SIGNATURE)["err"] == {"InstructionError": [0, "Custom"]}

    # Derived by the library `solders`; the second and the last take more than one attempt to leave the curve.
    @pytest.mark.parametrize(
        ("owner", "mint", "program", "account"),
        [
            (KEY, "GMYF2iLRJGmVmvNAje2zvF1wveFD9uueXMQkBDAVfiXA", None, "83h5bj5MksvuYWkhJgmxuFu6Kzgh69LBBdmmiNT5Xf5"),
            ("3NtYdRHFKeKmgYEatsbJFi5RUrgdNJ1VZLFUZ7A1AjV5", "Ebjh5RZR799aVdZR9yePMNmEVmGibvjM3Zqr4kEegSbS",
             "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", "EhCm99tDMJXPAXsSJF3nRLnAMbuCMwMPr44AtYHQgXf3"),
            ("2pxjiUumJLmbGtr4GPwG3DczxobVFmY7jF79fs6MQcKj", "3PvVEv2pkoSLnMxC8z72c5bnsFVebrrvJG6nSvoDZDi6", None,
             "BGV3YfMBM7tZ9UWi3jLefVXHXeHHpDf4pVMwsBCFsuEH"),
            ("GWPt8cKpy2YEENjKvxJAf1d2e2WJs7ofdUrDmj9ZKrS4", "DFEq9TW2UqdHo73qxmcfy3r31VDDwmgbt8exaEr2q6pE",
             "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", "9tRbkTN4EfxwSGGXQ4chMTe9RMnKPqvi1tJjQGZojFoX"),
        ],
    )  # fmt: skip
    def test_token_balance(self, ctx, owner, mint, program, account):
        with Rpc(getTokenAccountBalance={"value": {"amount": "18446744073709551615", "decimals": 6}}) as node:
            got = spl_balance(ctx, node.url, owner, mint, program)
            assert got == {"amount": 2**64 - 1, "decimals": 6, "ata": account}
            assert node.calls == [("getTokenAccountBalance", [account])]

    def test_a_missing_account(self, ctx):
        with Rpc(getTokenAccountBalance=ValueError(-32602, "Invalid param: could not find account")) as node:
            message = error_of(spl_balance, ctx, node.url, KEY, KEY)
        assert message == "spl_balance: RPC error -32602: Invalid param: could not find account"


def rest(resources):
    """A server of resources: path → value, or bytes as they are."""

    def answer(request):
        found = resources.get(request.target, reply("no such thing", status="404 Not Found"))
        if isinstance(found, list) and found and isinstance(found[0], tuple):
            found = found.pop(0)[0] if len(found) > 1 else found[0][0]
        return found if isinstance(found, bytes) else json_reply(found)

    return WebServer(answer)


class TestAlgorand:
    PARAMS: ClassVar = {
        "fee": 0, "min-fee": 1000, "last-round": 5000, "genesis-id": "testnet-v1.0", "consensus-version": "x",
        "genesis-hash": "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=",
    }  # fmt: skip

    def test_params(self, ctx):
        with rest({"/base/v2/transactions/params?x=1": self.PARAMS}) as node:
            got = algorand_params(ctx, node.url + "/base/?x=1", {"X-Algo-API-Token": Secret("top", ("ALGOD",))})
            assert node.last.headers["x-algo-api-token"] == "top"
        assert list(got) == ["fee", "min_fee", "fv", "lv", "gh", "gen"]
        assert (got["fee"], got["min_fee"], got["fv"], got["lv"], got["gen"]) == (0, 1000, 5000, 6000, "testnet-v1.0")
        assert got["gh"].hex()[:8] == "4863b518"
        with rest({"/v2/transactions/params": {**self.PARAMS, "genesis-hash": "x"}}) as node:
            assert "invalid genesis-hash" in error_of(algorand_params, ctx, node.url)

    def test_account(self, ctx):
        with rest({"/v2/accounts/ABC": {"address": "ABC", "amount": 5}}) as node:
            assert algorand_account(ctx, node.url, "ABC") == {"address": "ABC", "amount": 5}
            assert "returned HTTP 404: no such thing" in error_of(algorand_account, ctx, node.url, "DEF")
            for bad in ("../x", "A/B", "A?b", "", 5, "Ａ"):
                assert "letters and digits" in error_of(algorand_account, ctx, node.url, bad)
            assert len(node.requests) == 2

    def test_waiting(self, ctx):
        pending = {"pool-error": "", "txn": {}}
        done = {"pool-error": "", "confirmed-round": 77}
        with rest({"/v2/transactions/pending/TX": [(pending,), (done,)]}) as node:
            assert algorand_wait(ctx, node.url, "TX") == done
        with rest({"/v2/transactions/pending/TX": {"pool-error": "overspend"}}) as node:
            assert error_of(algorand_wait, ctx, node.url, "TX") == "algorand_wait: the transaction was rejected: overspend"
        with rest({"/v2/transactions/pending/TX": pending}) as node:
            assert algorand_wait(ctx, node.url, "TX", 2) is None


class TestBitcoin:
    def test_utxos(self, ctx):
        found = [
            {"txid": "aa", "vout": 1, "value": 5000, "status": {"confirmed": True, "block_height": 90}},
            {"txid": "bb", "vout": 0, "value": 7, "status": {"confirmed": False}},
        ]
        with rest({"/api/address/bc1q/utxo": found, "/api/blocks/tip/height": reply("100\n")}) as node:
            assert btc_utxos(ctx, node.url + "/api", "bc1q") == [
                {"txid": "aa", "vout": 1, "amount": 5000, "confirmations": 11, "confirmed": TRUE},
                {"txid": "bb", "vout": 0, "amount": 7, "confirmations": 0, "confirmed": FALSE},
            ]
        with rest({"/address/bc1q/utxo": []}) as node:
            assert btc_utxos(ctx, node.url, "bc1q") == []
            assert len(node.requests) == 1

    def test_balance_and_fees(self, ctx):
        stats = {
            "chain_stats": {"funded_txo_sum": 100, "spent_txo_sum": 30},
            "mempool_stats": {"funded_txo_sum": 1, "spent_txo_sum": 21},
        }
        with rest({"/address/bc1q": stats, "/fee-estimates": {"1": 87.5, "6": 3}}) as node:
            assert btc_balance(ctx, node.url, "bc1q") == {"confirmed": 70, "mempool": -20, "total": 50}
            assert btc_fee_estimates(ctx, node.url) == {"1": 87.5, "6": 3}

    def test_waiting(self, ctx):
        confirmed = {"confirmed": True, "block_height": 99, "block_hash": "00ff", "block_time": 5}
        with rest({
            "/tx/aa/status": [({"confirmed": False},), (confirmed,)],
            "/blocks/tip/height": [(reply("99"),), (reply("100"),)],
        }) as node:  # fmt: skip
            assert btc_wait(ctx, node.url, "aa", 2) == {
                "txid": "aa", "confirmations": 2, "block_height": 99, "block_hash": "00ff", "block_time": 5,
            }  # fmt: skip
            assert ctx.host.slept == [1.0, 1.0]
            assert "HTTP 404" in error_of(btc_wait, ctx, node.url, "bb")

    def test_core(self, ctx):
        with Rpc(getblockcount=800_000) as node:
            assert btc_rpc(ctx, node.url, "getblockcount", [], Secret("user:pass", ("RPC",))) == 800_000
            assert node.last.headers["authorization"] == "Basic dXNlcjpwYXNz"
            assert btc_rpc(ctx, node.url, "getblockcount", None, None) == 800_000
            assert "authorization" not in node.last.headers
            assert "user:password" in error_of(btc_rpc, ctx, node.url, "getblockcount", [], "x")
        refusal = json.dumps({"result": None, "error": {"code": -8, "message": "out of range"}, "id": 1})
        with WebServer(lambda request: reply(refusal, status="500 Internal Server Error")) as node:
            assert error_of(btc_rpc, ctx, node.url, "m") == "btc_rpc: RPC error -8: out of range"
        with WebServer(lambda request: reply("", status="401 Unauthorized")) as node:
            assert error_of(btc_rpc, ctx, node.url, "m") == "btc_rpc: 127.0.0.1 returned HTTP 401: "
