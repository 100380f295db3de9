# SPDX-License-Identifier: MIT
"""Call a faulty server again and again, then look for leaks:  python3 scripts/soak.py [OPTION ...]

    --calls N     calls to make (default 1000)
    --seconds S   stop after S seconds, even if calls are left (default 300)
    --threads N   threads that call at the same time (default 4)
    --seed N      seed of all draws (default: from the clock; it is printed)
    --call N      only call N of the seed, to repeat a fault

Each call draws a case (a good answer in some framing, or one fault), a way to consume it, and
plain HTTP or TLS. The answer repeats the words of its request, so a byte of another answer is
noticed. Checked for each call: outcome, code, clock, partial, times. Checked at the server: the
number of requests, and that the client closed each connection. Checked at the end: threads,
descriptors, live objects and memory. If a call went wrong, its input is printed and the exit
code is 1.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import gc
import itertools
import json
import os
import random
import socket
import sys
import threading
import time
import traceback
import tracemalloc
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Counter, Dict, Iterator, List, Optional, Tuple, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from _soak_cases import LEAVE, STOP, Case, all_cases, prompt_of  # noqa: E402

from streamcore.client import Client, Stream  # noqa: E402
from streamcore.loopback import LoopbackServer  # noqa: E402
from streamcore.values.chunks import TextDelta  # noqa: E402
from streamcore.values.errors import CODES, LlmError, Partial, is_retryable  # noqa: E402
from streamcore.values.grammar import ChunkGrammar  # noqa: E402
from streamcore.values.limits import Limits  # noqa: E402
from streamcore.values.messages import AssistantMessage  # noqa: E402
from streamcore.values.retry import RetryPolicy  # noqa: E402

TLS = ROOT / "tests" / "tls"
KEY = "sk-soak-0123456789abcdefghij"

ROUND = 60  # calls between two restarts of the servers
LATE = 5.0  # seconds a call may take or be late on a busy machine; 0.25 is promised
HUNG = 120.0  # seconds after which a round counts as hung
WARM = 12  # rounds until caches, and pools of stopped servers, are full
FILLING = 512 * 1024  # bytes by which memory may grow during the warm-up
FLAT = 192 * 1024  # bytes by which memory may grow afterwards
FLAT_PER_CALL = 50  # bytes more for each call
LOST = 0.02  # share of calls that may lose a request to a server that stops
SHOWN = 5  # wrong calls that are shown in full


class Wrong(Exception):
    """A call whose outcome was not the expected one."""


class Boom(Exception):
    """The consumer's own exception, which must come out unchanged."""


# -- calls --------------------------------------------------------------------------------


@dataclass
class Outcome:
    """How a call ended: with a message, with an error, or because its consumer left."""

    message: Optional[AssistantMessage] = None
    error: Optional[LlmError] = None
    seen: Optional[str] = None  # the text that was shown, if the call looks at it


class Call:
    """One call: its case, the way it is consumed, and when it is stopped."""

    def __init__(self, number: int, name: str, case: Case, chance: random.Random) -> None:
        self.number = number
        self.name = name
        self.case = case
        self.way = chance.choice(case.ways)
        self.secure = chance.random() < 0.4
        self.chunks = chance.randint(1, 2)  # taken before the consumer leaves
        self.delay = max(0.0, chance.uniform(-0.02, 0.25))  # until it is stopped
        self.prompt = prompt_of(name, number, chance.getrandbits(32))
        self.cancel = threading.Event()
        self.stopped_at: Optional[float] = None
        self.stopped_first = False  # before anything was sent
        self.lost = False  # written whole to a connection that the server had just closed
        self.took = 0.0

    def __str__(self) -> str:
        tls = ", tls" if self.secure else ""
        stop = f" after {self.delay:.3f} s" if self.way in STOP else ""
        return f"call {self.number}: {self.name!r}, {self.way}{stop}{tls}"

    def fill(self, template: str) -> str:
        return template.replace("{last_user}", self.prompt)

    def stream(self, client: Client) -> Stream:
        return client.stream(self.prompt, limits=self.case.limits, cancel=self.cancel)

    def stop(self, action: Callable[[], None]) -> None:
        self.stopped_at = time.monotonic()
        action()


def complete(call: Call, client: Client, **options: Any) -> Outcome:
    try:
        return Outcome(client.complete(
            call.prompt, limits=call.case.limits, cancel=call.cancel, **options))
    except LlmError as error:
        return Outcome(error=error)


def on_chunk(call: Call, client: Client) -> Outcome:
    return complete(call, client, on_chunk=ChunkGrammar().push)


def on_chunk_raise(call: Call, client: Client) -> Outcome:
    boom, left = Boom(), itertools.count(call.chunks - 1, -1)

    def leave(_chunk: Any) -> None:
        if not next(left):
            raise boom

    try:
        return complete(call, client, on_chunk=leave)
    except Boom as raised:
        expect(raised is boom, "another exception came out than the consumer's")
        return Outcome()


def pull(stream: Stream, most: int = -1) -> Outcome:
    """Take all or some chunks; check their grammar and the end."""
    grammar, seen = ChunkGrammar(), cast(List[str], [])
    try:
        for taken, chunk in enumerate(stream, 1):
            grammar.push(chunk)
            if isinstance(chunk, TextDelta):
                seen.append(chunk.text)
            if taken == most:
                return Outcome(seen="".join(seen))
    except LlmError as error:
        expect(raised(stream) is error, "a failed stream does not raise its error again")
        return Outcome(error=error, seen="".join(seen))
    grammar.finish()
    expect(next(stream, None) is None, "a chunk after the end")
    return Outcome(stream.message, seen="".join(seen))


def raised(stream: Stream) -> Optional[LlmError]:
    try:
        next(stream, None)
        return None
    except LlmError as error:
        return error


def iterate(call: Call, client: Client) -> Outcome:
    return pull(call.stream(client))


def message(call: Call, client: Client) -> Outcome:
    stream = call.stream(client)
    try:
        return Outcome(stream.message)
    except LlmError as error:
        return Outcome(error=error)


def text(call: Call, client: Client) -> Outcome:
    stream, seen = call.stream(client), cast(List[str], [])
    try:
        for piece in stream.iter_text():
            seen.append(piece)
        return Outcome(stream.message, seen="".join(seen))
    except LlmError as error:
        return Outcome(error=error, seen="".join(seen))


def leave_loop(call: Call, client: Client) -> Outcome:
    with call.stream(client) as stream:
        return pull(stream, call.chunks)


def close(call: Call, client: Client) -> Outcome:
    stream = call.stream(client)
    outcome = pull(stream, call.chunks)
    stream.close()
    stream.close()
    if outcome.message is None and outcome.error is None:
        again = raised(stream)
        expect(again is not None and again.code == "ABORTED", "a closed stream goes on")
    return outcome


def raise_in_loop(call: Call, client: Client) -> Outcome:
    boom = Boom()
    try:
        with call.stream(client) as stream:
            outcome = pull(stream, call.chunks)
            raise boom
    except Boom as raised:
        expect(raised is boom, "another exception came out than the consumer's")
        return outcome


def abandon(call: Call, client: Client) -> Outcome:
    return pull(call.stream(client), call.chunks)


def leave_in_cycle(call: Call, client: Client) -> Outcome:
    held: List[Any] = [call.stream(client)]
    held.append(held)
    return pull(held[0], call.chunks)


def stop_elsewhere(call: Call, client: Client) -> Outcome:
    """Read while another thread sets the event, or closes the stream."""
    stream = call.stream(client)
    action = call.cancel.set if call.way == "cancel" else stream.close
    if not call.delay:
        call.stopped_first = True
        call.stop(action)
        return pull(stream)
    timer = threading.Timer(call.delay, call.stop, [action])
    timer.start()
    try:
        return pull(stream)
    finally:
        timer.cancel()
        timer.join()


WAYS: Dict[str, Callable[[Call, Client], Outcome]] = {
    "complete": complete, "on-chunk": on_chunk, "iterate": iterate, "message": message,
    "text": text, "break": leave_loop, "close": close, "raise": raise_in_loop,
    "on-chunk-raise": on_chunk_raise, "abandon": abandon, "cycle": leave_in_cycle,
    "cancel": stop_elsewhere, "close-elsewhere": stop_elsewhere,
}


# -- judging ------------------------------------------------------------------------------


def expect(truth: bool, sentence: str) -> None:
    if not truth:
        raise Wrong(sentence)


def judge(call: Call, outcome: Outcome) -> str:
    """Return the outcome's name. Raises Wrong where it is not the one for what was asked."""
    case, error = call.case, outcome.error
    whole = None if case.text is None else call.fill(case.text)
    expect(call.took < LATE, f"it took {call.took:.2f} s")
    if whole is not None and outcome.seen is not None:
        expect(whole.startswith(outcome.seen), f"other text than asked for: {outcome.seen!r}")
    if error is not None:
        check_error(call, error, whole)
        return error.code
    if outcome.message is None:
        expect(call.way in LEAVE, "neither message nor error")
        return "left"
    expect(case.code is None, f"a message where {case.code} was due: {outcome.message!r}")
    expect(not call.stopped_first, "a message although it was stopped before")
    check_message(call, outcome.message, whole)
    expect(outcome.seen in (None, whole), f"other text was shown: {outcome.seen!r}")
    return "message"


def check_message(call: Call, message: AssistantMessage, whole: Optional[str]) -> None:
    case = call.case
    calls = tuple((one.id, one.name, one.arguments) for one in message.tool_calls)
    wanted = tuple((id, name, call.fill(args)) for id, name, args in case.tool_calls)
    expect(message.text == whole, f"other text than asked for: {message.text!r}")
    expect(message.reasoning == case.reasoning, f"other reasoning: {message.reasoning!r}")
    expect(calls == wanted, f"other calls: {calls!r}")
    check_stop(call)


def check_error(call: Call, error: LlmError, whole: Optional[str]) -> None:
    case, failure = call.case, error.failure
    documented = error.code in CODES or error.code == f"HTTP_{failure.status}"
    expect(documented, f"a code that is not documented: {error!r}")
    expect(KEY not in f"{error} {error.__cause__!r} {failure}", "the key is in the error")
    if whole is not None:
        expect(whole.startswith(error.partial.text), f"other partial: {error.partial!r}")
    if error.code == "ABORTED":
        expect(call.stopped_at is not None, f"nobody stopped it: {error!r}")
        expect(not error.retryable, "ABORTED is never retryable")
        late = time.monotonic() - (call.stopped_at or 0.0)
        expect(late < LATE, f"stopped {late:.2f} s late")
        return
    if error.code == "TRANSPORT" != case.code and error.partial == Partial():
        # Another case's server closed the connection just as this request was sent.
        call.lost = failure.details == {"request_sent": True}
        if call.lost:
            return
    due = case.code or "a message"
    expect(error.code == case.code, f"{due} was due: {error!r} from {error.__cause__!r}")
    expect(not call.stopped_first, f"stopped before, but {error!r}")
    expect(failure.clock == case.clock, f"the clock {case.clock} was due: {error!r}")
    retryable = failure.clock != "total" and is_retryable(error.code)
    expect(error.retryable == retryable, f"retryable is {error.retryable}: {error!r}")
    if case.exact and whole is not None:
        expect(error.partial.text == whole, f"other partial: {error.partial!r}")
    check_stop(call)


def check_stop(call: Call) -> None:
    """A stopped call may still have its normal outcome, if it was about to end."""
    if call.stopped_at is not None:
        late = time.monotonic() - call.stopped_at
        expect(late < LATE, f"stopped {late:.2f} s before, and not ABORTED")


# -- calls with a server of their own -----------------------------------------------------

RETRY = RetryPolicy(max_retries=2, initial_delay=0.01)
WHOLE = {"steps": [{"answer": {"text": "whole"}}]}
PASSING: Dict[str, Dict[str, Any]] = {
    "status 503": {"status": 503, "json": {}},
    "status 429": {"status": 429, "json": {}, "headers": {"Retry-After": "0"}},
    "slam": {"slam": True}, "empty": {"body": "", "framing": "content-length"},
    "cut": {"steps": [{"close": True}, {"text": "never"}]},
    "reset": {"steps": [{"sleep": 0.005}, {"reset": True}]},
    "silence": {"no_answer": True},
    "cut after text": {"steps": [{"text": "half"}, {"close": True}]},
}


def retried(chance: random.Random) -> None:
    """A fault that passes: the call is tried again, unless text was shown."""
    name = chance.choice(list(PASSING))
    told: List[Any] = []
    with LoopbackServer([PASSING[name], WHOLE]) as server, Client(
        "m", base_url=server.base_url, retry=RETRY, on_retry=told.append,
        limits=Limits(first_byte_timeout=0.3 if name == "silence" else 20.0),
    ) as client:
        if name == "cut after text" and chance.random() < 0.5:
            outcome = pull(client.stream("x"))
            expect(outcome.error is not None and outcome.error.code == "STREAM_CLOSED",
                   f"{name}: tried again although text was shown: {outcome}")
            expect(not told, f"{name}: told of a retry: {told}")
            return
        got = client.complete("x").text
        expect(got == "whole", f"{name}: another message: {got!r}")
        expect(len(told) == 1, f"{name}: told {len(told)} times: {told}")


def exhausted(chance: random.Random) -> None:
    """A fault that stays: three requests, then its code."""
    with LoopbackServer([PASSING["status 503"]]) as server, Client(
            "m", base_url=server.base_url, retry=RETRY) as client:
        stream = client.stream("x")
        outcome = pull(stream)
        expect(outcome.error is not None and outcome.error.code == "SERVER", f"{outcome}")
        made = (stream.attempts, len(server.requests))
        expect(made == (3, 3), f"attempts, requests: {made}")


def cancelled_between(chance: random.Random) -> None:
    """The caller stops the call while it waits for the next try."""
    patient = RetryPolicy(max_retries=2, initial_delay=60.0, max_delay=60.0)
    cancel = threading.Event()
    timer = threading.Timer(chance.uniform(0.05, 0.2), cancel.set)
    with LoopbackServer([PASSING["status 503"]]) as server, Client(
            "m", base_url=server.base_url, retry=patient) as client:
        stream = client.stream("x", cancel=cancel, limits=Limits(total_timeout=None))
        timer.start()
        outcome = pull(stream)
        timer.join()
        expect(outcome.error is not None and outcome.error.code == "ABORTED", f"{outcome}")
        expect(len(server.requests) <= 1, f"requests: {server.requests}")


def refused(chance: random.Random) -> None:
    """No server listens at the address."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can take the port
        url = f"http://127.0.0.1:{sock.getsockname()[1]}/v1"
        with Client("m", base_url=url) as client:
            outcome = pull(client.stream("x"))
        expect(outcome.error is not None and outcome.error.code == "TRANSPORT", f"{outcome}")


def closed_among_calls(chance: random.Random) -> None:
    """The client is closed during other calls: each is answered, or fails with TRANSPORT."""
    ends: List[str] = []

    def call(client: Client) -> None:
        for _ in range(5):
            try:
                ends.append(client.complete("x").text)
            except LlmError as error:
                ends.append(error.code)

    with LoopbackServer([WHOLE]) as server, Client("m", base_url=server.base_url) as client:
        threads = [threading.Thread(target=call, args=(client,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.0, 0.02))
        client.close()
        for thread in threads:
            thread.join()
    expect(len(ends) == 15 and set(ends) <= {"whole", "TRANSPORT"}, f"{ends}")


ALONE: Dict[str, Callable[[random.Random], None]] = {
    "retried": retried, "exhausted": exhausted, "cancelled between": cancelled_between,
    "refused": refused, "closed among calls": closed_among_calls,
}
ALONE_SHARE = 0.06


# -- the run ------------------------------------------------------------------------------


@dataclass
class Fault:
    """One thing that went wrong, and how to see it again."""

    what: str
    detail: str
    answer: Optional[Dict[str, Any]] = None
    number: Optional[int] = None


class Soak:
    """Rounds of calls; two clients live through all of them.

    Args:
        seed: what all chance comes from.
        threads: callers at the same time.
        say: where progress goes.
        cases: makes the cases of a round.
        late: seconds that what is to go away at the end may take to.
    """

    def __init__(
        self, seed: int, threads: int = 4, say: Callable[[str], None] = print,
        cases: Callable[[random.Random], Dict[str, Case]] = all_cases, late: float = LATE,
    ) -> None:
        self.seed = seed
        self.faults: List[Fault] = []
        self.outcomes: Counter[str] = collections.Counter()
        self.ways: Counter[str] = collections.Counter()
        self.requests = self.connections = self.done = 0
        self.grown = 0  # bytes since ``_base``
        self._cases = cases
        self._late = late
        self._threads = threads
        self._say = say
        self._lock = threading.Lock()
        self._base = (0, 0)  # calls and bytes after the second round, later after the warm-up
        self._allowed = FILLING

    def run(self, calls: int, seconds: float, only: Optional[int] = None) -> bool:
        """Make the calls; return whether all went right."""
        gc.collect()
        threads, descriptors = set(threading.enumerate()), open_descriptors()
        objects = live_objects()
        deadline = time.monotonic() + seconds
        hooks = sys.unraisablehook, threading.excepthook
        sys.unraisablehook, threading.excepthook = self._unraisable, self._in_thread
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", ResourceWarning)
                self._rounds(calls, deadline, only)
                gc.collect()
        finally:
            sys.unraisablehook, threading.excepthook = hooks
            tracemalloc.stop()
        self._count_lost()
        self._look_for_leaks(threads, descriptors, objects)
        return not self.faults

    def _rounds(self, calls: int, deadline: float, only: Optional[int]) -> None:
        options: Dict[str, Any] = {"api_key": KEY, "base_url": "http://127.0.0.1:1/v1",
                                   "limits": Limits(first_byte_timeout=20.0, idle_timeout=20.0)}
        plain = Client("m", **options)
        secure = Client("m", verify=str(TLS / "ca.pem"), **options)
        with plain, secure:
            for begin in range(0, calls, ROUND):
                if self.faults or time.monotonic() > deadline:
                    return
                numbers = range(begin, min(begin + ROUND, calls))
                if only is not None and only not in numbers:
                    continue
                wanted = numbers if only is None else range(only, only + 1)
                self._round(wanted, begin // ROUND, deadline, plain, secure)
                self._weigh(begin // ROUND)

    def _round(self, numbers: range, number: int, deadline: float, plain: Client,
               secure: Client) -> None:
        cases = self._cases(random.Random(f"{self.seed}/{number}"))
        script = {"answers": [case.answer for case in cases.values()]}
        files = (str(TLS / "server.pem"), str(TLS / "server.key"))
        with LoopbackServer(script) as server, LoopbackServer(script, tls=files) as tls_server:
            plain.adapter.configure(base_url=server.base_url)
            secure.adapter.configure(base_url=tls_server.base_url)
            made: List[Call] = []
            waiting = iter(numbers)
            workers = [threading.Thread(
                target=self._work, daemon=True, name=f"soak-{n}",
                args=(waiting, cases, deadline, (plain, secure), made),
            ) for n in range(self._threads)]
            for worker in workers:
                worker.start()
            self._join(workers)
            gc.collect()  # the streams that were left in a cycle
            for one in (server, tls_server):
                self.requests += len(one.requests)
                self.connections += one.connection_count
            self._ask_servers(made, (server, tls_server))

    def _join(self, workers: List[threading.Thread]) -> None:
        deadline = time.monotonic() + HUNG
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():
                faulthandler.dump_traceback(all_threads=True)
                raise SystemExit(f"seed {self.seed}: a call hangs, see above")

    def _work(self, waiting: Iterator[int], cases: Dict[str, Case], deadline: float,
              clients: Tuple[Client, Client], made: List[Call]) -> None:
        while not self.faults and time.monotonic() < deadline:
            with self._lock:
                number = next(waiting, None)
            if number is None:
                return
            chance = random.Random(f"{self.seed}:{number}")
            if chance.random() < ALONE_SHARE:
                self._alone(number, chance)
                continue
            names = list(cases)
            name = chance.choices(names, [cases[each].share for each in names])[0]
            call = Call(number, name, cases[name], chance)
            self._one(call, clients[call.secure])
            with self._lock:
                made.append(call)

    def _one(self, call: Call, client: Client) -> None:
        began = time.monotonic()
        try:
            outcome = WAYS[call.way](call, client)
            call.took = time.monotonic() - began
            ending = judge(call, outcome)
        except BaseException:
            self._wrong(str(call), traceback.format_exc(), call.case.answer, call.number)
            return
        with self._lock:
            self.outcomes["lost" if call.lost else ending] += 1
            self.ways[call.way] += 1
            self.done += 1

    def _alone(self, number: int, chance: random.Random) -> None:
        name = chance.choice(list(ALONE))
        try:
            ALONE[name](chance)
        except BaseException:
            self._wrong(f"call {number}: {name}", traceback.format_exc(), None, number)
            return
        with self._lock:
            self.outcomes[name] += 1
            self.done += 1

    def _wrong(self, what: str, detail: str, answer: Optional[Dict[str, Any]] = None,
               number: Optional[int] = None) -> None:
        with self._lock:
            self.faults.append(Fault(what, detail, answer, number))

    def _unraisable(self, raised: Any) -> None:
        self._wrong("an exception nobody could see", f"{raised.err_msg} {raised.exc_value!r}")

    def _in_thread(self, raised: Any) -> None:
        self._wrong(f"an exception in {raised.thread}", f"{raised.exc_value!r}")

    def _ask_servers(self, made: List[Call], servers: Tuple[LoopbackServer, ...]) -> None:
        """Check how often each call was sent, and that its connection was closed."""
        for secure, server in enumerate(servers):
            records = server.requests
            asked = collections.Counter(record.last_user() for record in records)
            holding = {call.prompt for call in made if call.case.holds}
            for record in records:
                prompt = record.last_user()
                if prompt in holding and not record.wait_peer_left(LATE):
                    self._wrong(f"the connection of {prompt!r} is still open", f"{record}")
            for call in made:
                if call.secure == bool(secure):
                    least = 0 if call.lost or call.stopped_at is not None else 1
                    most = 0 if call.stopped_first else 1
                    if not least <= asked.pop(call.prompt, 0) <= most:
                        self._wrong(str(call), "asked too often or not at all",
                                    call.case.answer, call.number)
            if asked and not self.faults:
                self._wrong("requests that nobody made", f"{asked}")

    def _weigh(self, number: int) -> None:
        """Start to trace memory after the first round, and compare it in later rounds."""
        if number == 0:
            tracemalloc.start()
            return
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        if number in (1, WARM):
            self._base = (self.done, held)
            self._allowed = FILLING if number == 1 else FLAT
        self.grown = held - self._base[1]
        if number % 5 == 0:
            self._say(f"  {self.done} calls, {self.connections} connections,"
                      f" {self.grown / 1024:+.0f} KiB, {threading.active_count()} threads")

    def _count_lost(self) -> None:
        lost = self.outcomes["lost"]
        if lost > 3 + LOST * self.done:
            self._wrong("too many requests lost", f"{lost} of {self.done} met a server leaving")

    def _look_for_leaks(self, threads: Any, descriptors: Any, objects: Counter[str]) -> None:
        deadline = time.monotonic() + self._late
        while True:
            left = [f"thread {one.name}" for one in set(threading.enumerate()) - threads]
            left += [f"descriptor {one}" for one in open_descriptors() - descriptors]
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        gc.collect()
        left += [f"{count} {name}" for name, count in (live_objects() - objects).items()]
        if left:
            self._wrong("left behind", ", ".join(left))
        bound = self._allowed + FLAT_PER_CALL * (self.done - self._base[0])
        if self.grown > bound:
            self._wrong("memory is not flat", f"{self.grown} bytes more, {bound} are allowed")


LIFETIMES = ("Stream", "RunningCall", "PreparedCall", "CallContext", "Answer", "Watch",
             "WatchedSocket", "SocketFile", "WatchedResponse", "LlmError")


def live_objects() -> Counter[str]:
    """Count the objects of ours that live no longer than a call or a client."""
    kinds = (type(one) for one in gc.get_objects())
    names = (f"{kind.__module__}.{kind.__name__}" for kind in kinds if kind.__name__ in LIFETIMES)
    return collections.Counter(name for name in names if "streamcore." in name)


def open_descriptors() -> "set[Tuple[str, str]]":
    """Return number and target of each open descriptor; nothing if the system has no list."""
    found: "set[Tuple[str, str]]" = set()
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return found
    for number in numbers:
        try:
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
        except OSError:  # the descriptor that listed the folder is closed already
            pass
    return found


def report(soak: Soak, took: float) -> None:
    """Print the counts, and what went wrong."""
    counts = ", ".join(f"{name} {count}" for name, count in sorted(soak.outcomes.items()))
    print(f"{soak.done} calls in {took:.1f} s: {soak.requests} requests on"
          f" {soak.connections} connections; memory {soak.grown / 1024:+.0f} KiB")
    print(f"  {counts}")
    for fault in soak.faults[:SHOWN]:
        print(f"WRONG: {fault.what}\n{fault.detail}")
        if fault.answer is not None:
            print(f"answer: {json.dumps(fault.answer, ensure_ascii=False)[:2000]}")
        if fault.number is not None:
            print(f"again: python3 scripts/soak.py --seed {soak.seed} --call {fault.number}")
    if len(soak.faults) > SHOWN:
        print(f"and {len(soak.faults) - SHOWN} more")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n\n")[0],
        epilog=(__doc__ or "").partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--call", type=int, default=None)
    given = parser.parse_args(arguments)
    seed = int(time.time()) % 1_000_000 if given.seed is None else given.seed
    print(f"seed {seed}")
    soak, began = Soak(seed, max(1, given.threads)), time.monotonic()
    calls = given.calls if given.call is None else max(given.calls, given.call + 1)
    right = soak.run(calls, given.seconds, given.call)
    report(soak, time.monotonic() - began)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
