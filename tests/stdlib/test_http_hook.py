"""The HTTP client in an embedded program: the hook ``http`` of its host."""

from __future__ import annotations

import json

import pytest

import language


class TestEmbedded:
    """The hook ``http``."""

    SOURCE = 'require net("api.example")\nlet r be http_get("https://api.example/v")\nprint(text(r["status"]) + r["body"])'

    def test_case_11_9(self):
        asked = []

        def hook(request):
            asked.append(request)
            return {"status": 200, "headers": [["x-a", "1"], ["x-a", "2"]], "body_base64": "aGk="}

        answer = language.run(self.SOURCE + '\nprint(r["headers"])', host={"http": hook})
        assert answer["output"] == ["200hi", '{x-a: "2"}']
        assert asked == [{"method": "GET", "url": "https://api.example/v", "headers": [], "timeout": 30, "body": None}]
        assert json.loads(json.dumps(asked)) == asked

    @pytest.mark.parametrize("options", [{"ceiling": "stdout"}, {}])
    def test_the_gate_comes_before_the_hook(self, options):
        asked = []
        source = self.SOURCE if options else self.SOURCE.partition("\n")[2]
        answer = language.run(source, host={"http": asked.append}, **options)
        assert answer["errors"][0].startswith(
            f'Runtime error: <embedded>:{2 if options else 1}:18: Capability not granted: net("api.example")'
        )
        assert not asked

    def test_without_the_hook(self):
        answer = language.run(self.SOURCE + '\nprint(r["ok"])\nprint(contains(r, "error"))\nprint(r["error"])')
        assert answer["output"] == [
            "0", "false", "true",
            "http_get: not available in the wasm profile — this host provides no http transport (the embedder can offer it "
            "through the `http` host hook, or run the program with the native `lang` binary)",
        ]  # fmt: skip

    def test_what_the_hook_gets(self):
        asked = []

        def hook(request):
            asked.append(request)
            return {"status": 201, "headers": {"Content-Type": "application/json"}, "body": '{"a": 1}'}

        source = (
            'require net("api.example:8443")\nrequire secret("K")\n'
            'let r be http("post", "https://u:p@API.example.:8443/p?a=1#f", {"X-K": secret("K")}, '
            '{"b": "c d"}, {"n": 1}, 2.5)\n'
            'print(r["json"]["a"])\nhttp_post("https://api.example:8443", bytes([255]), {"X-B": "1"})\n'
        )
        answer = language.run(source, env={"K": "top"}, host={"http": hook})
        assert answer["output"] == ["1"], answer
        assert asked == [
            {
                "method": "POST", "url": "https://api.example:8443/p?a=1&b=c+d", "timeout": 2, "body": '{"n": 1}',
                "headers": [["X-K", "top"], ["Content-Type", "application/json"], ["Authorization", "Basic dTpw"]],
            },
            {
                "method": "POST", "url": "https://api.example:8443/", "timeout": 30, "body_base64": "/w==",
                "headers": [["X-B", "1"]],
            },
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("answer", "error"),
        [
            ({"error": "down"}, "down"),
            (None, "the http hook gave no answer"),
            ("text", "the http hook gave no answer"),
            ({}, "the http hook gave no status"),
            ({"status": True}, "the http hook gave no status"),
            ({"status": 99}, "the http hook gave no status"),
            ({"status": 200, "headers": 5}, "the http hook gave headers that are neither pairs nor a map"),
            ({"status": 200, "headers": [1]}, "the http hook gave headers that are neither pairs nor a map"),
            ({"status": 200, "body_base64": "a"}, "the http hook gave a body that is no base64"),
        ],
    )
    def test_bad_answers_are_data(self, answer, error):
        got = language.run(self.SOURCE + '\nprint(r["error"])', host={"http": lambda request: answer})
        assert got["output"] == ["0", error], got

    def test_an_exception_in_the_hook_is_data(self):
        def hook(request):
            raise ConnectionError("no line")

        got = language.run(self.SOURCE + '\nprint(r["error"])', host={"http": hook})
        assert got["output"] == ["0", "ConnectionError: no line"]

    def test_a_coroutine_is_refused(self):
        async def hook(request):
            return {"status": 200}

        got = language.run(self.SOURCE + '\nprint(r["error"])', host={"http": hook})
        assert "asyncio.to_thread" in got["output"][1]

    @pytest.mark.parametrize("encoded", ["aGnDqT8-", "aGnDqT8_", "a G\nn!DqT8-", "aGnDqT8+"])
    def test_base64_of_both_alphabets(self, encoded):
        got = language.run(self.SOURCE, host={"http": lambda request: {"status": 200, "body_base64": encoded}})
        assert got["output"][0].startswith("200hié?"), got

    def test_a_link_local_address_is_refused_before_the_hook(self):
        asked = []
        source = 'require net("*")\nhttp_get("http://169.254.169.254/latest")'
        got = language.run(source, host={"http": asked.append})
        assert "a link-local address must be granted literally" in got["errors"][0]
        assert not asked
