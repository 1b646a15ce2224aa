"""Answers of a model recorded in a folder, so that tests can run without the model: ``lang test --record DIR``, ``--replay
DIR``.

An entry is a file. Its name consists of the SHA-256 of the request and a number, which distinguishes equal requests of one
test. A recorded request contains no API key and no address. Replaying a request that was not recorded is an error; the model is
never called.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256

from language.errors import RuntimeFault
from language.locks import Lock
from language.models.conversation import Call, ChatMessage, Model, ModelFault, ModelReply, TokenUsage, arguments_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.models.conversation import ModelRequest, OnChunk
    from language.runtime.context import Context


class Tape:
    """The entries of a folder. With ``recording`` they are written, otherwise read.

    Raises ``OSError`` if the folder cannot be created, or for reading does not exist.
    """

    def __init__(self, folder: str, *, recording: bool) -> None:
        self.folder = folder
        self.recording = recording
        self._lock = Lock()
        self._counts: dict[str, int] = {}
        self._written: set[str] = set()
        if recording:
            os.makedirs(folder, exist_ok=True)
        else:
            os.listdir(folder)

    def begin(self) -> None:
        """To be called when a test begins: equal requests are numbered from 1 again. So a test that is run alone finds the
        entries that were recorded when all tests ran.
        """
        with self._lock:
            self._counts.clear()

    def model_of(self, build: Callable[[], Model | None]) -> Model | None:
        """The model of a host. For replay the configured model is not built, so no API key is needed."""
        if not self.recording:
            return TapedModel(self, None)
        model = build()
        return None if model is None else TapedModel(self, model)

    def next_entry(self, request: ModelRequest) -> str:
        """The name of the entry for a request that is made now."""
        digest = sha256(canonical(request).encode()).hexdigest()
        with self._lock:
            number = self._counts[digest] = self._counts.get(digest, 0) + 1
        return f"{digest}-{number}"

    def read(self, name: str) -> dict[str, Any] | None:
        """An entry; ``None`` if there is none, or, while recording, if this recording has not written it.

        Raises ``RuntimeFault`` for a file that is not a valid entry.
        """
        if self.recording and name not in self._written:
            return None
        path = os.path.join(self.folder, f"{name}.json")
        try:
            with open(path, encoding="utf-8") as file:
                entry = json.load(file)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RuntimeFault(f"--replay: cannot read {path}: {error}; record it again", kind="file") from None
        if not isinstance(entry, dict) or not isinstance(entry.get("reply"), dict):
            raise RuntimeFault(f"--replay: {path} holds no recorded answer; record it again", kind="file")
        return entry

    def write(self, name: str, entry: dict[str, Any]) -> None:
        """Writes an entry atomically."""
        path = os.path.join(self.folder, f"{name}.json")
        try:
            with open(f"{path}.new", "w", encoding="utf-8") as file:
                json.dump(entry, file, ensure_ascii=False, indent=1)
            os.replace(f"{path}.new", path)
        except OSError as error:
            raise RuntimeFault(f"--record: cannot write {path}: {error.strerror}", kind="file") from None
        self._written.add(name)


class TapedModel(Model):
    """Records the answers of ``model``, or, without a ``model``, replays the recorded ones."""

    def __init__(self, tape: Tape, model: Model | None) -> None:
        self._tape = tape
        self._model = model
        self.provider = "tape" if model is None else model.provider
        self.name = "tape" if model is None else model.name
        self.asks_again = model is None or model.asks_again

    def most_tokens(self, request: ModelRequest) -> tuple[int, int]:
        return (0, 0) if self._model is None else self._model.most_tokens(request)

    def converse(self, request: ModelRequest, on_chunk: OnChunk | None, ctx: Context) -> ModelReply:
        name = self._tape.next_entry(request)
        entry = self._tape.read(name)
        if entry is None:
            if self._model is None:
                raise RuntimeFault(
                    f"--replay: no answer is recorded for this request ({request.operation}, entry {name[:12]}…)",
                    kind="file",
                    help=f"Record again with `lang test --record {self._tape.folder}`: this request was not recorded.",
                )
            entry = self._recorded(self._model, request, ctx)
            self._tape.write(name, entry)
        return _played(entry, on_chunk)

    def _recorded(self, model: Model, request: ModelRequest, ctx: Context) -> dict[str, Any]:
        chunks: list[str] = []
        asked = json.loads(canonical(request))
        try:
            reply = model.converse(request, chunks.append, ctx)
        except ModelFault as fault:
            told = {"fault": fault.message, "kind": fault.kind, "help": fault.help, "spent": fault.spent}
            return {"request": asked, "reply": told}
        used = reply.usage
        told = {
            "text": reply.text,
            "calls": [_call(call) for call in reply.calls],
            "opaque": reply.message.opaque,
            "stop": reply.stop,
            "model": reply.model,
            "usage": [used.input, used.output, used.cached, used.reasoning],
            "chunks": chunks,
        }
        return {"request": asked, "reply": told}


def canonical(request: ModelRequest) -> str:
    """The request as canonical JSON text: equal requests have equal texts.

    Timeout, retries and the token limit of the answer are left out, because they depend on the rest of a budget that other
    threads use too.
    """
    return json.dumps(
        {
            "operation": request.operation,
            "system": request.system,
            "messages": [
                {
                    "role": message.role,
                    "content": message.content,
                    "calls": [_call(call) for call in message.calls],
                    "call_id": message.call_id,
                    "failed": message.failed,
                    "opaque": message.opaque,
                }
                for message in request.messages
            ],
            "offers": [[offer.name, offer.describe, _plain(offer.schema)] for offer in request.offers],
            "choice": request.choice,
            "schema": _plain(request.schema),
            "model": request.model,
            "effort": request.effort,
        },
        sort_keys=True,
    )


def _plain(value: Any) -> Any:
    """A schema as plain JSON data. Its defaults and choices are values of the language, which are converted."""
    from language.values.json_encoding import encode

    return json.loads(encode(value))


def _call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "raw": call.raw}


def _played(entry: dict[str, Any], on_chunk: OnChunk | None) -> ModelReply:
    reply = entry["reply"]
    if "fault" in reply:
        raise ModelFault(reply["fault"], kind=reply["kind"], help=reply["help"], spent=reply["spent"])
    if on_chunk is not None:
        for chunk in reply["chunks"]:
            on_chunk(chunk)
    calls = tuple(Call(call["id"], call["name"], arguments_of(call["raw"]), call["raw"]) for call in reply["calls"])
    message = ChatMessage("assistant", reply["text"], calls, opaque=reply["opaque"])
    return ModelReply(message, reply["stop"], reply["model"], TokenUsage(*reply["usage"]))
