"""The process in which the writer computes: requests come in over standard input, tokens go out.

A process of its own, because the engine keeps Python's lock while it computes: in the app's process
the page would stand still. A system that runs out of memory ends this process, and not the app.
Everybody's requests are computed together, step by step; a request that nobody waits for any longer
is dropped between two steps, and one that can wait is set aside while others are computed: what it
has read is kept, so it goes on where it was. When the parent goes away, so does this. Knows nothing
of text."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rag_app.models.convert import engine_package, options
from rag_app.reading.frames import Header, claim_stdout, listen, write_frame
from rag_app.supervision import held

_BLOCKS = 512  # of 32 tokens: 16,384 are kept, four people's 2,000 and beginnings
# Tokens read in one step: 1,024 are 3 % faster, 128 a tenth slower; who has let go leaves the
# processor busy for one step, and others wait for one (benchmarks/LOG.md).
_MOST_AT_ONCE = 256
_ANY_TOKEN = 1_000
_ENOUGH, _SHORTEST = 128, 0.001  # tokens that tell how fast it reads; seconds they take at least
_GUESSED, _AFTER = 5, 3  # tokens guessed from the prompt after so many that occur in it


def main(folder: str, threads: str) -> None:
    """Serve requests until standard input ends."""
    out = claim_stdout()
    inbox: queue.SimpleQueue[Header] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(inbox,), daemon=True).start()
    with held() as attempt:  # the edge of the process: the parent says it in words
        pipeline = _open(Path(folder), int(threads))
        speed = _speed(pipeline, int(threads))
    if attempt.error is not None:
        write_frame(out, {"failed": f"{type(attempt.error).__name__}: {attempt.error}"[:500]})
        return
    write_frame(out, {"ready": True, "speed": speed})
    _Server(pipeline, inbox, out).serve()


def _open(folder: Path, threads: int) -> Any:
    """The engine, with its weights unpacked: that is done at the first token, so ask for one."""
    package = engine_package()
    plan = package.SchedulerConfig()
    plan.num_kv_blocks = _BLOCKS
    plan.max_num_batched_tokens = _MOST_AT_ONCE
    plan.enable_prefix_caching = True
    properties = {"prompt_lookup": True, **options(threads)}
    pipeline = package.ContinuousBatchingPipeline(str(folder), plan, "CPU", properties)
    _read(pipeline, [_ANY_TOKEN])
    return pipeline


def _speed(pipeline: Any, threads: int) -> float:
    """Tokens a second that the engine reads of a text, all cores its own.

    Of the processor's time, not the clock's: what else is computed meanwhile changes nothing. What
    one token takes is taken off, for that is mostly the saying of the next."""
    spent = [_processor(pipeline, _ANY_TOKEN + count, count) for count in (1, 1 + _ENOUGH)]
    return _ENOUGH * (threads or os.cpu_count() or 1) / max(spent[1] - spent[0], _SHORTEST)


def _processor(pipeline: Any, first: int, count: int) -> float:
    """Seconds of the processor for reading so many tokens that were not read before."""
    began = time.process_time()
    _read(pipeline, range(first, first + count))
    return time.process_time() - began


def _read(pipeline: Any, ids: Sequence[int]) -> None:
    """Let the engine read, and say one token."""
    first = pipeline.add_request(0, _tensor(ids), _config({"most": 1, "ends": []}))
    while not first.can_read():  # held on to: a request whose handle is gone is not computed
        pipeline.step()


def _tensor(ids: Sequence[int]) -> Any:
    import numpy
    import openvino

    return openvino.Tensor(numpy.array([ids], dtype=numpy.int64))


def _config(request: Header) -> Any:
    """How one request is to be answered."""
    package = engine_package()
    config = package.GenerationConfig()
    config.apply_chat_template = False
    config.do_sample = False
    config.max_new_tokens = request["most"]
    config.stop_token_ids = set(request["ends"])
    config.num_assistant_tokens = _GUESSED
    config.max_ngram_size = _AFTER
    config.logprobs = int(request.get("logs", False))
    return config


@dataclass
class _Writing:
    """What the parent asked, less what is written of it already, and the engine's handle."""

    asked: Header
    handle: Any

    def go_on_from(self, tokens: Sequence[int]) -> None:
        """They are written: another handle would begin after them."""
        self.asked["ids"] += tokens
        self.asked["most"] -= len(tokens)


class _Server:
    """Requests that are being computed, by the number the parent gave them, and those set aside."""

    def __init__(self, pipeline: Any, inbox: queue.SimpleQueue[Header], out: BinaryIO) -> None:
        self._pipeline, self._inbox, self._out = pipeline, inbox, out
        self._running: dict[int, _Writing] = {}
        self._aside: dict[int, Header] = {}

    def serve(self) -> None:
        """Take in, compute a step, hand out, as long as that works."""
        while True:
            self._take_in()
            self._choose()
            if self._pipeline.has_non_finished_requests():
                try:
                    self._pipeline.step()
                except RuntimeError:
                    return self._give_up()
            for number in list(self._running):
                self._hand_out(number)

    def _give_up(self) -> None:
        """A step failed, and no other can follow in this process: the next request gets another."""
        for number in self._running:
            write_frame(self._out, {"id": number, "end": "died"})

    def _take_in(self) -> None:
        """Everything that has come; with nothing to do, wait for it."""
        known = self._running or self._aside
        waiting = not known and not self._pipeline.has_non_finished_requests()
        while True:
            try:
                message = self._inbox.get(block=waiting)
            except queue.Empty:
                return
            waiting = False
            if "cancel" in message:
                self._cancel(message["cancel"])
            elif message["idle"]:
                self._aside[message["id"]] = message
            else:
                self._begin(message)

    def _choose(self) -> None:
        """While somebody waits, what can wait is set aside; then it goes on."""
        if any(not request.asked["idle"] for request in self._running.values()):
            for number in [n for n, request in self._running.items() if request.asked["idle"]]:
                waits = self._running.pop(number)
                waits.handle.cancel()
                self._aside[number] = waits.asked
        elif self._aside:
            for asked in self._aside.values():
                self._begin(asked)
            self._aside = {}

    def _begin(self, request: Header) -> None:
        number = request["id"]
        with held() as attempt:  # a request that is none must not end the others
            handle = self._pipeline.add_request(number, _tensor(request["ids"]), _config(request))
        if attempt.error is not None:
            why = str(attempt.error)[:500]
            write_frame(self._out, {"id": number, "end": "refused", "why": why})
            return
        self._running[number] = _Writing(request, handle)

    def _cancel(self, number: int) -> None:
        running, waiting = self._running.pop(number, None), self._aside.pop(number, None)
        if running is not None:
            running.handle.cancel()
        if running or waiting:
            write_frame(self._out, {"id": number, "end": "cancelled"})

    def _hand_out(self, number: int) -> None:
        """What the last step gave one request, and whether that was all."""
        request = self._running[number]
        handle = request.handle
        tokens, logs, ended = [], [], ""
        while handle.can_read():
            for one in handle.read().values():
                tokens += one.generated_ids
                logs += one.generated_log_probs
                ended = one.finish_reason.name if one.finish_reason.value else ended
        status = handle.get_status().name
        said: Header = {"id": number}
        if tokens:
            said |= {"tokens": tokens, "logs": logs}
            request.go_on_from(tokens)
        if status != "RUNNING":
            said["end"] = ended.lower() or status.lower()
            del self._running[number]
        if len(said) > 1:
            write_frame(self._out, said)
