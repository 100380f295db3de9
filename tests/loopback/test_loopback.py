# SPDX-License-Identifier: MIT
"""The scripted server on 127.0.0.1: its script, its bytes, its times, its records.

The client is a plain socket, so that only the server is under test. Upper time bounds are
generous; lower bounds are those that a script promises.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import select
import socket
import ssl
import threading
import time
import zlib
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from streamcore.loopback import LoopbackServer, Script, answer_bytes, load_script

TLS_FOLDER = Path(__file__).resolve().parents[1] / "tls"
SERVER_FILES = (str(TLS_FOLDER / "server.pem"), str(TLS_FOLDER / "server.key"))
SOON = 2.0  # seconds: far more than anything below needs that is to happen at once
HUGE = 16 * 1024 * 1024


def _delta(delta: Any, finish: Any = None) -> str:
    return _chunk([{"index": 0, "delta": delta, "finish_reason": finish}])


def _chunk(choices: Any, **more: Any) -> str:
    payload = {"id": "chatcmpl-loopback", "object": "chat.completion.chunk", "created": 0,
               "model": "loopback", "choices": choices, **more}
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n"


class Peer:
    """A client that is one socket: it sends requests and reads raw bytes."""

    def __init__(self, server: LoopbackServer, tls: bool = False) -> None:
        host, port = server.host_port.split(":")
        self.sock = socket.create_connection((host, int(port)), timeout=10)
        if tls:
            context = ssl.create_default_context(cafile=str(TLS_FOLDER / "ca.pem"))
            context.verify_flags |= ssl.VERIFY_X509_STRICT
            self.sock = context.wrap_socket(self.sock, server_hostname=host)
        self.held = b""

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.sock.close()

    def post(self, body: bytes = b"{}", path: str = "/v1/chat/completions") -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        self.sock.sendall(head.encode("ascii") + body)

    def head(self) -> Tuple[str, Dict[str, str]]:
        """Read one head and return its status line and its headers, lower-case names."""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        return lines[0], {k.lower(): v for k, v in (ln.split(": ", 1) for ln in lines[1:])}

    def until(self, mark: bytes) -> bytes:
        while mark not in self.held:
            data = self.sock.recv(65536)
            assert data, f"the server closed before {mark!r}; there was {self.held!r}"
            self.held += data
        found, _, self.held = self.held.partition(mark)
        return found

    def chunks(self) -> List[bytes]:
        """Read a chunked body and return its chunks."""
        chunks = []
        while True:
            size = int(self.until(b"\r\n"), 16)
            while len(self.held) < size + 2:
                self.held += self.sock.recv(65536)
            data, self.held = self.held[:size], self.held[size + 2:]
            if not size:
                return chunks
            chunks.append(data)

    def rest(self) -> bytes:
        """Read until the server's FIN."""
        while True:
            data = self.sock.recv(65536)
            if not data:
                found, self.held = self.held, b""
                return found
            self.held += data

    def exchange(self, body: bytes = b"{}", path: str = "/v1/chat/completions") -> bytes:
        """Post, and return the body of a chunked answer."""
        self.post(body, path)
        self.head()
        return b"".join(self.chunks())


def _user(text: str) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}]}).encode("ascii")


# -- the script -----------------------------------------------------------------------------


@pytest.mark.parametrize("step, text", [
    ({"text": "日本"}, _delta({"content": "日本"})),
    ({"reasoning": "r"}, _delta({"reasoning_content": "r"})),
    ({"reasoning": "r", "field": "reasoning"}, _delta({"reasoning": "r"})),
    ({"tool_call": {"index": 0, "id": "c", "name": "f", "arguments": ""}},
     _delta({"tool_calls": [{"index": 0, "id": "c",
                             "function": {"name": "f", "arguments": ""}}]})),
    ({"tool_call": {"index": 0}}, _delta({"tool_calls": [{"index": 0}]})),
    ({"delta": None}, _delta(None)),
    ({"finish": "stop"}, _delta({}, "stop")),
    ({"usage": {"prompt_tokens": 1}}, _chunk([], usage={"prompt_tokens": 1})),
    ({"payload": {"a": [1]}}, 'data: {"a":[1]}\n\n'),
    ({"error": {"message": "m"}}, 'data: {"error":{"message":"m"}}\n\n'),
    ({"done": True}, "data: [DONE]\n\n"),
    ({"comment": "ping"}, ": ping\n\n"),
    ({"comment": ""}, ":\n\n"),
    ({"event": {"event": "error", "data": {"a": 1}}}, 'event: error\ndata: {"a":1}\n\n'),
    ({"event": {"data": "x\ny"}}, "data: x\ndata: y\n\n"),
    ({"raw": "data: x\u2028"}, "data: x\u2028"),
    ({"raw_base64": "YWI="}, "ab"),
    ({"json": {"a": "é"}}, '{"a":"é"}'),
    ({"text": "a\ud83d"}, _delta({"content": "a?"}).replace("?", "\\ud83d")),
    ({"drip": {"text": "ab"}}, _delta({"content": "ab"})),
    ({"drip": {"raw": "ab", "every": 9}}, "ab"),
    ({"drip": {"steps": [{"comment": "a"}, {"done": True}]}}, ": a\n\ndata: [DONE]\n\n"),
    ({"repeat": {"times": 3, "every": 9, "steps": [{"raw": "a"}, {"raw": "b"}]}}, "ababab"),
    ({"sleep": 9}, ""),
    ({"chunk_size_bad": True}, ""),
])
def test_step_gives_its_bytes(step: Any, text: str) -> None:
    """Each kind of step gives exactly these bytes of the body."""
    assert answer_bytes({"steps": [step]}) == text.encode("utf-8")


@pytest.mark.parametrize("ending", ["stall", "reset", "close", "shutdown_write"])
def test_answer_bytes_end_at_an_ending(ending: str) -> None:
    """Bytes after an ending are not sent to the client and not counted."""
    assert answer_bytes({"steps": [{"raw": "a"}, {ending: True}, {"raw": "b"}]}) == b"a"


def test_answer_bytes_refuses_an_endless_body() -> None:
    """A body without an end is refused."""
    with pytest.raises(ValueError, match="without an end"):
        answer_bytes({"steps": [{"repeat": {"steps": [{"raw": "a"}]}}]})


def test_answer_step_expands_into_deltas() -> None:
    """The step gives words, interleaved calls, the finish word, usage and the end."""
    calls = [{"id": "a", "name": "f", "arguments": {"path": "a long one"}}, {"name": "g"}]
    body = answer_bytes({"steps": [{"answer": {
        "reasoning": "hm so", "text": " one two\n", "tool_calls": calls, "usage": {"x": 1}}}]})
    events = body.decode("utf-8").split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    payloads = [json.loads(event[6:]) for event in events[:-2]]
    assert payloads[-1]["usage"] == {"x": 1}
    choices = [payload["choices"][0] for payload in payloads[:-1]]
    deltas = [choice["delta"] for choice in choices]
    assert [d["reasoning_content"] for d in deltas[:2]] == ["hm ", "so"]
    assert [d["content"] for d in deltas[2:5]] == [" ", "one ", "two\n"]
    fragments = [d["tool_calls"][0] for d in deltas[5:-1]]
    assert [f.get("id") for f in fragments[:2]] == ["a", "call_1"]
    assert [f["index"] for f in fragments] == [0, 1, 0, 1, 0]
    pieces = [f["function"]["arguments"] for f in fragments if f["index"] == 0]
    assert "".join(pieces) == '{"path":"a long one"}'
    assert choices[-1]["finish_reason"] == "tool_calls"


def test_answer_step_whole_and_open_ended() -> None:
    """Without ``words`` and ``done`` the text is one delta and no [DONE] follows."""
    body = answer_bytes({"steps": [{"answer": {"text": "a b", "words": False, "done": False}}]})
    assert body.decode("utf-8") == _delta({"content": "a b"}) + _delta({}, "stop")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newline_ends_every_line_of_an_event(newline: str) -> None:
    """The chosen line end is used in events, and raw text stays as it is."""
    answer = {"newline": newline, "steps": [
        {"event": {"event": "e", "data": "d"}}, {"done": True}, {"raw": "r\n"}]}
    lines = ["event: e", "data: d", "", "data: [DONE]", "", "r\n"]
    assert answer_bytes(answer).decode("ascii") == newline.join(lines)


def test_bom_and_envelope_change_the_events() -> None:
    """A BOM comes first, and envelope keys replace the default keys."""
    body = answer_bytes({"bom": True, "envelope": {"id": "z", "more": 1},
                         "steps": [{"finish": "stop"}]})
    assert body[:3] == b"\xef\xbb\xbf"
    payload = json.loads(body[9:])
    assert (payload["id"], payload["more"], payload["model"]) == ("z", 1, "loopback")


@pytest.mark.parametrize("answer, body", [
    ({"body": "é"}, "é".encode("utf-8")),
    ({"body_base64": "/w=="}, b"\xff"),
    ({"json": {"a": 1}}, b'{"a":1}'),
    ({"body_repeat": {"text": "abc", "times": 50000}}, b"abc" * 50000),
    ({}, b""),
])
def test_body_without_steps_gives_its_bytes(answer: Any, body: bytes) -> None:
    """Every other kind of body gives exactly its bytes."""
    assert answer_bytes(answer) == body


@pytest.mark.parametrize("script, place", [
    ("x", "answers: a list"),
    ({"answer": []}, "script: unknown key 'answer'"),
    ([{"answer": {"text": "x"}}], r"answers\[0\]: 'answer' is a step: \{'steps': \[\{'answer'"),
    ({"answers": [], "after_last": "stop"}, "after_last: one of"),
    ([3], r"answers\[0\]: an object"),
    ([{}, {"stauts": 200}], r"answers\[1\]: unknown key 'stauts'"),
    ([{"status": "200"}], r"answers\[0\].status: an integer"),
    ([{"status": True}], r"answers\[0\].status: an integer"),
    ([{"status": 1000}], r"answers\[0\].status: a status"),
    ([{"headers": {"a": "…"}}], r"answers\[0\].headers.a: a character"),
    ([{"headers": {"a": 1.5}}], r"answers\[0\].headers.a: a string"),
    ([{"framing": "none"}], r"answers\[0\].framing: one of"),
    ([{"pieces": 0}], r"answers\[0\].pieces: an integer of 1"),
    ([{"pieces": [3, 2]}], r"answers\[0\].pieces: offsets must grow"),
    ([{"every": -1}], r"answers\[0\].every: seconds"),
    ([{"every": float("nan")}], r"answers\[0\].every: seconds"),
    ([{"gzip": True}], r"answers\[0\].gzip: one of"),
    ([{"gzip": "flush", "deflate": "flush"}], "not both"),
    ([{"keep_alive": 1}], r"answers\[0\].keep_alive: true or false"),
    ([{"newline": "\n\r"}], r"answers\[0\].newline: one of"),
    ([{"when": {}}], r"answers\[0\].when: path or contains"),
    ([{"when": {"contains": "x"}, "read_request": False}], "picked by its body"),
    ([{"steps": [], "body": ""}], "one body, not steps and body"),
    ([{"body": b"x"}], "not JSON-able"),
    ([{"body_repeat": {"text": "a"}}], r"answers\[0\].body_repeat.times: an integer"),
    ([{"body_base64": "*"}], r"answers\[0\].body_base64\[0\].raw_base64: not base64"),
    ([{"steps": [{"txt": "a"}]}], r"answers\[0\].steps\[0\]: unknown step 'txt'"),
    ([{"steps": [{"text": "a", "done": True}]}], r"steps\[0\]: a step has one name"),
    ([{"steps": [{}]}], r"steps\[0\]: a step has one name"),
    ([{"steps": [{"text": "a", "field": "b"}]}], r"steps\[0\]: only a reasoning step"),
    ([{"steps": [{"text": 1}]}], r"steps\[0\].text: a string"),
    ([{"steps": [{"done": False}]}], r"steps\[0\].done: true is wanted"),
    ([{"steps": [{"tool_call": {"nmae": "f"}}]}], r"steps\[0\].tool_call: unknown key"),
    ([{"steps": [{"repeat": {"times": 2, "steps": []}}]}], r"steps\[0\].repeat: nothing"),
    ([{"steps": [{"repeat": {"steps": [{"x": 1}]}}]}], r"repeat.steps\[0\]: unknown step"),
    ([{"steps": [{"drip": {"every": 1}}]}], r"steps\[0\].drip: one of text, raw, steps"),
    ([{"steps": [{"answer": {"txt": ""}}]}], r"steps\[0\].answer: unknown key"),
    ([{"steps": [{"answer": {"tool_calls": [{}]}}]}], r"answer.tool_calls\[0\].name: a string"),
    ([{"framing": "content-length", "steps": [{"repeat": {"steps": [{"raw": "a"}]}}]}],
     "no length to announce"),
    ([{"framing": "close", "chunk_dripped": True}], "needs the chunked framing"),
    ([{"close_idle_after": 1, "reset_idle_after": 1}], "not both"),
])
def test_wrong_script_names_the_place(script: Any, place: str) -> None:
    """A mistake in a script is refused when the server is made, with its place."""
    with pytest.raises(ValueError, match=place):
        LoopbackServer(script)


def test_load_script_reads_a_json_file(tmp_path: Path) -> None:
    """A script in a file is read, and a server accepts it."""
    path = tmp_path / "script.json"
    path.write_text('{"answers": [{"body": "é"}], "after_last": "500"}', encoding="utf-8")
    script = load_script(path)
    assert script == Script.parse({"answers": [{"body": "é"}], "after_last": "500"})
    with LoopbackServer(script) as server, Peer(server) as peer:
        assert peer.exchange() == "é".encode("utf-8")


# -- which answer ----------------------------------------------------------------------------


def test_answers_come_in_order_and_the_last_repeats() -> None:
    """Request k gets answer k, and requests past the last get the last again."""
    with LoopbackServer([{"body": "0"}, {"body": "1"}]) as server, Peer(server) as peer:
        assert [peer.exchange() for _ in range(3)] == [b"0", b"1", b"1"]
        assert [record.answer for record in server.requests] == [0, 1, 1]


@pytest.mark.parametrize("script", [{"answers": [{"body": "0"}], "after_last": "500"}, []])
def test_script_that_is_used_up_answers_500(script: Any) -> None:
    """Without ``repeat``, a request after the last answer gets status 500."""
    with LoopbackServer(script) as server, Peer(server) as peer:
        if script:
            assert peer.exchange() == b"0"
        peer.post()
        assert peer.head()[0] == "HTTP/1.1 500 Internal Server Error"
        assert b"no further answer" in b"".join(peer.chunks())
        assert server.requests[-1].answer is None


def test_when_picks_by_path_and_body() -> None:
    """An answer with ``when`` goes to every request that fits, and is not in the order."""
    script = [{"body": "line 0"}, {"when": {"path": "/v1/a"}, "body": "path"},
              {"when": {"contains": "日本"}, "body": "text"}, {"body": "line 1"}]
    with LoopbackServer(script) as server, Peer(server) as peer:
        assert peer.exchange(path="/v1/a?x=1") == b"path"
        assert peer.exchange() == b"line 0"
        assert peer.exchange(body=_user("日本")) == b"text"
        assert peer.exchange(body="日本".encode("utf-8")) == b"text"
        assert peer.exchange() == b"line 1"
        assert [record.answer for record in server.requests] == [1, 0, 2, 2, 3]


@pytest.mark.parametrize("content", ["hé", [{"type": "text", "text": "h"}, {"text": "é"}]])
def test_last_user_stands_for_the_text_of_the_request(content: Any) -> None:
    """The placeholder becomes the last user message's text, a list of parts included."""
    messages = [{"role": "user", "content": "old"}, {"role": "user", "content": content},
                {"role": "assistant", "content": "x"}]
    body = json.dumps({"messages": messages}).encode("ascii")
    with LoopbackServer([{"steps": [{"text": "<{last_user}>"}]}]) as server:
        with Peer(server) as peer:
            assert peer.exchange(body).decode("utf-8") == _delta({"content": "<hé>"})
            assert peer.exchange(b"[1]").decode("utf-8") == _delta({"content": "<>"})


def test_fifty_threads_get_their_own_answers() -> None:
    """Connections served at the same time get their own answers."""
    got: Dict[str, str] = {}

    def ask(text: str) -> None:
        with Peer(server) as peer:
            got[text] = peer.exchange(_user(text)).decode("utf-8")

    with LoopbackServer([{"steps": [{"text": "{last_user}"}, {"sleep": 0.05}]}]) as server:
        threads = [threading.Thread(target=ask, args=(f"t{n}",)) for n in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.connection_count == 50
        assert sorted(r.connection for r in server.requests) == list(range(50))
    assert got == {f"t{n}": _delta({"content": f"t{n}"}) for n in range(50)}


# -- head, framing, coding -------------------------------------------------------------------


@pytest.mark.parametrize("framing, line, header, body", [
    ("chunked", "HTTP/1.1 200 OK", ("transfer-encoding", "chunked"), b"2\r\nab\r\n1\r\nc\r\n"),
    ("close", "HTTP/1.1 200 OK", ("connection", "close"), b"abc"),
    ("content-length", "HTTP/1.1 200 OK", ("content-length", "3"), b"abc"),
    ("http10", "HTTP/1.0 200 OK", ("content-type", "text/event-stream"), b"abc"),
])
def test_framing_says_how_the_body_ends(framing: str, line: str, header: Any,
                                        body: bytes) -> None:
    """Each framing has its head and its end of the body."""
    answer = {"framing": framing, "keep_alive": False, "steps": [{"raw": "ab"}, {"raw": "c"}]}
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        peer.post()
        status_line, headers = peer.head()
        assert status_line == line
        assert headers[header[0]] == header[1]
        assert peer.rest() == body + (b"0\r\n\r\n" if framing == "chunked" else b"")


def test_headers_are_added_replaced_repeated_and_removed() -> None:
    """Scripted headers replace default headers, in any case of their names."""
    answer = {"status": 429, "reason": "Slow", "headers": {
        "content-TYPE": "text/plain", "Retry-After": 3, "Connection": None,
        "Set-Cookie": ["a=1", "b=2"]}}
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        peer.post()
        lines = peer.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        assert lines == ["HTTP/1.1 429 Slow", "Transfer-Encoding: chunked",
                         "content-TYPE: text/plain", "Retry-After: 3", "Set-Cookie: a=1",
                         "Set-Cookie: b=2"]


def test_json_body_says_its_content_type() -> None:
    """A ``json`` body has the content type of JSON."""
    with LoopbackServer([{"status": 401, "json": {"error": "no"}}]) as server:
        with Peer(server) as peer:
            peer.post()
            assert peer.head()[1]["content-type"] == "application/json"
            assert peer.chunks() == [b'{"error":"no"}']


def test_no_content_has_no_body_at_all() -> None:
    """A 204 has no framing, and the connection goes on after it."""
    with LoopbackServer([{"status": 204}, {"body": "x"}]) as server, Peer(server) as peer:
        peer.post()
        assert peer.head() == ("HTTP/1.1 204 No Content", {"connection": "keep-alive"})
        assert peer.exchange() == b"x"


def test_raw_head_is_sent_as_it_is() -> None:
    """The given bytes replace status line and headers."""
    answer = {"raw_head": "HTTP/9 hé\r\n\r\n", "framing": "close", "body": "x"}
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        peer.post()
        assert peer.rest() == "HTTP/9 hé\r\n\r\nx".encode("latin-1")


@pytest.mark.parametrize("pieces, chunks", [
    (None, [b"abc", b"de", b"fg"]),
    (2, [b"ab", b"cd", b"e", b"fg"]),
    ([1, 4, 6], [b"a", b"bcd", b"e", b"f", b"g"]),
    ([99], [b"abcde", b"fg"]),
])
def test_pieces_cut_the_body(pieces: Any, chunks: List[bytes]) -> None:
    """Writes are cut where the script says, and all bytes before a pause are written before it."""
    answer = {"pieces": pieces, "steps": [
        {"raw": "abc"}, {"raw": ""}, {"raw": "de"}, {"sleep": 0.01}, {"raw": "fg"}]}
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        peer.post()
        peer.head()
        assert peer.chunks() == chunks


def test_every_spaces_the_writes() -> None:
    """The server pauses between two writes, but not before the first."""
    with LoopbackServer([{"body": "abcd", "pieces": 1, "every": 0.05}]) as server:
        with Peer(server) as peer:
            peer.post()
            peer.until(b"1\r\na\r\n")
            began = time.monotonic()
            peer.until(b"0\r\n\r\n")
            assert time.monotonic() - began >= 0.12


def test_every_does_not_hold_the_first_write() -> None:
    """The first write is sent at once, however long the pauses are."""
    with LoopbackServer([{"body": "ab", "pieces": 1, "every": 60}]) as server:
        with Peer(server) as peer:
            began = time.monotonic()
            peer.post()
            peer.until(b"1\r\na\r\n")
            assert time.monotonic() - began < SOON


def test_chunk_dripped_announces_the_whole_body_at_once() -> None:
    """One HTTP chunk carries the body, and its pieces arrive one by one."""
    answer = {"chunk_dripped": True, "steps": [{"raw": "ab"}, {"sleep": 0.1}, {"raw": "cd"}]}
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        peer.post()
        peer.until(b"\r\n\r\n4\r\nab")
        assert peer.held == b""
        assert peer.until(b"\r\n0\r\n\r\n") == b"cd"


@pytest.mark.parametrize("answer, body", [
    ({"framing": "content-length"}, b"ab"),
    ({"chunk_dripped": True}, b"4\r\nab"),
    ({}, b"2\r\nab\r\n"),
])
def test_close_cuts_a_body_short(answer: Any, body: bytes) -> None:
    """After a FIN in the middle, announced bytes and the last chunk are missing."""
    answer = {**answer, "steps": [{"raw": "ab"}, {"close": True}, {"raw": "cd"}]}
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        peer.post()
        _, headers = peer.head()
        assert headers.get("content-length", "4") == "4"
        assert peer.rest() == body


def test_bad_chunk_size_is_sent() -> None:
    """A chunk size that is not a number is sent where a chunk should start."""
    with LoopbackServer([{"steps": [{"raw": "a"}, {"chunk_size_bad": True}, {"close": True}]}]) \
            as server, Peer(server) as peer:
        peer.post()
        peer.head()
        assert peer.rest() == b"1\r\na\r\nZZ\r\n"


@pytest.mark.parametrize("key, mode", [("gzip", "flush"), ("gzip", "noflush"),
                                       ("deflate", "flush"), ("deflate", "noflush")])
def test_coding_decodes_to_the_body(key: str, mode: str) -> None:
    """A compressed body is announced and decodes to what the steps say."""
    answer = {key: mode, "steps": [{"raw": "abc" * 99}, {"raw": "d"}]}
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        peer.post()
        assert peer.head()[1]["content-encoding"] == key
        chunks = peer.chunks()
        unpack = gzip.decompress if key == "gzip" else zlib.decompress
        assert unpack(b"".join(chunks)) == answer_bytes(answer)
        first = zlib.decompressobj(wbits=47).decompress(chunks[0])
        assert first == (b"abc" * 99 if mode == "flush" else b"")


def test_bad_coding_breaks_after_the_first_step() -> None:
    """The first step decodes, the rest cannot."""
    with LoopbackServer([{"gzip": "bad", "steps": [{"raw": "ab"}, {"raw": "cd"}]}]) as server:
        with Peer(server) as peer:
            peer.post()
            peer.head()
            chunks = peer.chunks()
    packer = zlib.decompressobj(wbits=31)
    assert packer.decompress(chunks[0]) == b"ab"
    with pytest.raises(zlib.error):
        packer.decompress(chunks[1])


@pytest.mark.parametrize("answer, least", [
    ({"header_delay": 0.2}, 0.2),
    ({"header_drip": 0.002}, 0.15),
    ({"steps": [{"sleep": 0.2}]}, 0.2),
    ({"steps": [{"drip": {"raw": "abcde", "every": 0.05}}]}, 0.2),
    ({"steps": [{"repeat": {"times": 5, "every": 0.05, "steps": [{"comment": "p"}]}}]}, 0.2),
    ({"steps": [{"answer": {"text": "a b c", "every": 0.05}}]}, 0.2),
])
def test_time_passes_as_scripted(answer: Any, least: float) -> None:
    """A scripted wait lasts at least its time, and the answer is whole after it."""
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        began = time.monotonic()
        assert peer.exchange() == answer_bytes(answer)
        assert least * 0.95 <= time.monotonic() - began < least + 5


# -- the life of a connection ----------------------------------------------------------------


def test_one_connection_serves_many_requests() -> None:
    """A hundred and one requests in a row need one connection."""
    with LoopbackServer([{"steps": [{"answer": {"text": "a b"}}]}]) as server:
        with Peer(server) as peer:
            bodies = {peer.exchange() for _ in range(101)}
        assert len(bodies) == 1
        assert server.connection_count == 1
        assert len(server.requests) == 101
        assert all(record.wait_peer_left() for record in server.requests)


@pytest.mark.parametrize("answer, said", [
    ({"keep_alive": False}, "keep-alive"),
    ({"announce_close": True}, "close"),
    ({"close_idle_after": 0.05}, "keep-alive"),
])
def test_server_closes_after_an_answer(answer: Any, said: str) -> None:
    """The connection ends after the answer, announced or not, at once or once idle."""
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        peer.post()
        assert peer.head()[1]["connection"] == said
        assert peer.chunks() == []
        assert peer.rest() == b""


def test_idle_time_does_not_cut_a_busy_connection() -> None:
    """A request that comes in time is answered, however long the answer takes."""
    answer = {"close_idle_after": 1.0, "steps": [{"sleep": 0.1}, {"raw": "x"}]}
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        assert [peer.exchange() for _ in range(2)] == [b"x", b"x"]


@pytest.mark.parametrize("answer", [{"reset_idle_after": 0.05}, {"steps": [{"reset": True}]}])
def test_server_resets_the_connection(answer: Any) -> None:
    """A RST comes where the script says: on an idle connection, or in the middle."""
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        peer.post()
        with pytest.raises(ConnectionResetError):
            peer.rest()


def test_shutdown_write_leaves_the_socket_open() -> None:
    """After a FIN the server waits for the client, and sees it leave."""
    with LoopbackServer([{"steps": [{"raw": "a"}, {"shutdown_write": True}]}]) as server:
        with Peer(server) as peer:
            peer.post()
            assert peer.rest().endswith(b"1\r\na\r\n")
            assert not server.requests[0].wait_peer_left(0.1)
        assert server.requests[0].wait_peer_left()


def test_slam_closes_a_new_connection_and_the_next_is_served() -> None:
    """A closed connection uses up one answer and is counted, but records no request."""
    with LoopbackServer([{"slam": True}, {"body": "x"}]) as server:
        with Peer(server) as peer:
            assert peer.rest() == b""
        with Peer(server) as peer:
            assert peer.exchange() == b"x"
        assert server.connection_count == 2
        assert [record.answer for record in server.requests] == [1]


def test_slam_ends_a_kept_alive_connection() -> None:
    """On a connection that is already open, the request is read and gets no answer."""
    with LoopbackServer([{"body": "x"}, {"slam": True}]) as server, Peer(server) as peer:
        assert peer.exchange() == b"x"
        peer.post()
        assert peer.rest() == b""
        assert not server.requests[1].wait_peer_left()


def test_request_that_is_no_http_is_refused() -> None:
    """Bytes that are not a request get status 400, and the connection ends."""
    with LoopbackServer([{}]) as server, Peer(server) as peer:
        peer.sock.sendall(b"hello\r\n\r\n")
        assert peer.head()[0] == "HTTP/1.1 400 Bad Request"
        assert peer.rest() == b""
        assert server.requests == []


def test_client_that_asks_to_close_is_heard() -> None:
    """``Connection: close`` and HTTP/1.0 in the request end the connection."""
    for head in (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n"):
        with LoopbackServer([{}]) as server, Peer(server) as peer:
            peer.sock.sendall(head)
            assert peer.rest().endswith(b"0\r\n\r\n")
            peer.sock.close()
            assert server.requests[0].wait_peer_left()


# -- what the server records -----------------------------------------------------------------


def test_record_holds_the_request() -> None:
    """A record has method, path, headers, body, connection, time, answer and bytes sent."""
    began = time.monotonic()
    with LoopbackServer([{"body": "abc"}]) as server, Peer(server) as peer:
        peer.sock.sendall(b"POST /v1/x?y=1 HTTP/1.1\r\nX-A: 1\r\nx-a: 2\r\n"
                          b"Content-Length: 7\r\n\r\n{\"a\"")
        time.sleep(0.05)
        assert server.requests == []
        peer.sock.sendall(b":1}")
        record = server.wait_for_requests(1)[0]
        peer.until(b"0\r\n\r\n")
        assert (record.method, record.path) == ("POST", "/v1/x?y=1")
        assert record.headers == {"x-a": "1, 2", "content-length": "7"}
        assert record.body == b'{"a":1}' and record.json() == {"a": 1}
        assert (record.connection, record.answer, record.peer_left_at) == (0, 0, None)
        assert began + 0.05 <= record.received_at <= time.monotonic()
        peer.sock.close()
        assert record.wait_peer_left()
        assert record.peer_left_at is not None and record.peer_left_at >= record.received_at
        assert record.bytes_sent > len(b"3\r\nabc\r\n0\r\n\r\n")


def test_chunked_request_is_read() -> None:
    """A request body in chunks is put together, and the next request is found after it."""
    with LoopbackServer([{"body": "x"}]) as server, Peer(server) as peer:
        peer.sock.sendall(b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                          b"3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n")
        peer.head()
        assert peer.chunks() == [b"x"]
        assert peer.exchange() == b"x"
        assert [record.body for record in server.requests] == [b"abcd", b"{}"]


def test_wait_for_requests_gives_up() -> None:
    """Waiting for a request that never comes raises a TimeoutError with the count."""
    with LoopbackServer([{}]) as server:
        with pytest.raises(TimeoutError, match="0 of 1"):
            server.wait_for_requests(1, timeout=0.05)


# -- a peer that leaves, a server that stops -------------------------------------------------

SILENT = {
    "no answer": {"no_answer": True},
    "header delay": {"header_delay": 60},
    "header drip": {"header_drip": 0.01, "headers": {"X": "x" * 9999}},
    "stall": {"steps": [{"raw": "a"}, {"stall": True}]},
    "sleep": {"steps": [{"raw": "a"}, {"sleep": 60}]},
    "pings": {"steps": [{"repeat": {"every": 0.05, "steps": [{"comment": "p"}]}}]},
    "flood": {"steps": [{"repeat": {"steps": [{"raw": "x" * 65536}]}}]},
    "idle": {},
}


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("situation", SILENT)
def test_peer_that_leaves_is_seen_at_once(situation: str, tls: bool) -> None:
    """Whatever the server is doing, it soon sees that the client closed its socket."""
    with LoopbackServer([SILENT[situation]], tls=SERVER_FILES if tls else None) as server:
        with Peer(server, tls) as peer:
            peer.post()
            record = server.wait_for_requests(1)[0]
            assert not record.wait_peer_left(0.1)
            left = time.monotonic()
        assert record.wait_peer_left()
        assert record.peer_left_at is not None
        assert 0 <= record.peer_left_at - left < SOON


def test_peer_that_resets_is_seen_at_once() -> None:
    """A RST of the client counts as leaving."""
    with LoopbackServer([{"no_answer": True}]) as server, Peer(server) as peer:
        peer.post()
        record = server.wait_for_requests(1)[0]
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        peer.sock.close()
        assert record.wait_peer_left()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("situation", [*SILENT, "unread request"])
def test_close_is_prompt_and_leaves_nothing(situation: str, tls: bool) -> None:
    """Closing ends every wait of the server and joins its threads."""
    before = set(threading.enumerate())
    answer = SILENT.get(situation, {"read_request": False})
    server = LoopbackServer([answer], tls=SERVER_FILES if tls else None).start()
    with Peer(server, tls) as peer:
        peer.post()
        record = server.wait_for_requests(1)[0]
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < SOON
        assert set(threading.enumerate()) == before
        assert record.peer_left_at is None
        assert not record.wait_peer_left()
        server.close()
    with pytest.raises(ConnectionRefusedError):
        Peer(server)


def test_close_ends_a_flood_that_is_read() -> None:
    """Closing ends an endless body even if the client reads it as fast as it is sent."""
    def read() -> None:
        try:
            peer.rest()
        except OSError:
            pass  # the server's socket went while bytes were on the way

    server = LoopbackServer([{"steps": [{"repeat": {"steps": [{"raw": "x" * 99}]}}]}]).start()
    with Peer(server) as peer:
        peer.post()
        peer.until(b"x")
        reader = threading.Thread(target=read)
        reader.start()
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < SOON
        reader.join(10)
        assert not reader.is_alive()


def test_close_does_not_wait_for_a_half_sent_request_or_handshake() -> None:
    """A client that never finishes its request does not delay closing."""
    for tls in (None, SERVER_FILES):
        server = LoopbackServer([{}], tls=tls).start()
        with Peer(server) as peer:
            peer.sock.sendall(b"POST")
            time.sleep(0.05)
            began = time.monotonic()
            server.close()
            assert time.monotonic() - began < SOON


def test_unread_request_blocks_the_client() -> None:
    """The head is recorded while the client cannot send all of its large body."""
    with LoopbackServer([{"read_request": False, "drain_after": 0.3}]) as server:
        with Peer(server) as peer:
            peer.sock.settimeout(0.2)
            with pytest.raises(socket.timeout):
                peer.post(b"x" * HUGE)
            record = server.wait_for_requests(1)[0]
            assert record.headers["content-length"] == str(HUGE)
            assert (record.body, record.bytes_sent) == (b"", 0)
        assert record.wait_peer_left()


def test_unread_request_can_be_answered() -> None:
    """An early answer reaches a client whose body is not read, and ends the connection."""
    with LoopbackServer([{"read_request": False, "status": 413}]) as server:
        with Peer(server) as peer:
            head = f"POST / HTTP/1.1\r\nContent-Length: {HUGE}\r\n\r\n"
            peer.sock.sendall(head.encode("ascii"))
            assert peer.head()[0].startswith("HTTP/1.1 413 ")
            assert peer.chunks() == [] and peer.rest() == b""


def test_early_answer_sees_its_peer_leave_once_drained() -> None:
    """Once unread bytes are dropped after an early answer, the client's FIN is seen."""
    answer = {"read_request": False, "drain_after": 0.3, "status": 413}
    with LoopbackServer([answer]) as server:
        with Peer(server) as peer:
            peer.sock.settimeout(0.2)
            with pytest.raises(socket.timeout):
                peer.post(b"x" * HUGE)
            peer.sock.settimeout(10)
            assert peer.head()[0].startswith("HTTP/1.1 413 ")
        assert server.requests[0].wait_peer_left()


# -- TLS --------------------------------------------------------------------------------------


@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_tls_answers_with_a_certificate_that_verifies(framing: str) -> None:
    """The test certificate holds against its authority under the strict X.509 rules."""
    answer = {"framing": framing, "steps": [{"text": "x" * 200000}]}
    with LoopbackServer([answer], tls=SERVER_FILES) as server:
        assert server.base_url == f"https://{server.host_port}/v1"
        with Peer(server, tls=True) as peer:
            if framing == "chunked":
                assert peer.exchange() == answer_bytes(answer)
                assert peer.exchange() == answer_bytes(answer)
            else:
                peer.post()
                peer.head()
                assert peer.rest() == answer_bytes(answer)


def test_tls_certificate_verifies_through_requests() -> None:
    """``verify=`` with the authority's file is enough for requests, by name and address."""
    requests = pytest.importorskip("requests")
    with LoopbackServer([{"body": "x"}], tls=SERVER_FILES) as server:
        for base_url in (server.base_url, server.base_url.replace("127.0.0.1", "localhost")):
            with requests.Session() as session:
                session.trust_env = False
                answer = session.post(base_url, json={}, verify=str(TLS_FOLDER / "ca.pem"))
                assert answer.content == b"x"


def test_tls_client_that_refuses_the_certificate_is_survived() -> None:
    """A failed handshake ends only its own connection."""
    with LoopbackServer([{"body": "x"}], tls=SERVER_FILES) as server:
        host, port = server.host_port.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            with pytest.raises(ssl.SSLError):
                ssl.create_default_context().wrap_socket(sock, server_hostname=host)
        with Peer(server, tls=True) as peer:
            assert peer.exchange() == b"x"
        assert server.connection_count == 2


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_reset_reaches_the_client(tls: bool) -> None:
    """Bytes sent before a RST arrive, then the reset, also over TLS."""
    answer = {"steps": [{"raw": "a"}, {"sleep": 0.2}, {"reset": True}]}
    with LoopbackServer([answer], tls=SERVER_FILES if tls else None) as server:
        with Peer(server, tls) as peer:
            peer.post()
            peer.until(b"1\r\na\r\n")
            # Below TLS, for some versions of the ssl module show a RST as a plain end.
            with socket.socket(fileno=os.dup(peer.sock.fileno())) as below:
                below.settimeout(10)
                with pytest.raises(ConnectionResetError):
                    below.recv(1)


def test_pieces_arrive_without_delay() -> None:
    """A small write arrives at once, even if the next is seconds away."""
    with LoopbackServer([{"steps": [{"raw": "a"}, {"sleep": 0.01}, {"raw": "b"},
                                    {"sleep": 60}]}]) as server, Peer(server) as peer:
        peer.post()
        began = time.monotonic()
        peer.until(b"1\r\nb\r\n")
        assert time.monotonic() - began < SOON
        assert select.select([peer.sock], [], [], 0.05)[0] == []


def test_server_is_started_once_and_known_after_it() -> None:
    """The server has no address before the start, and cannot start twice."""
    server = LoopbackServer([])
    with pytest.raises(RuntimeError):
        server.base_url
    with server:
        with pytest.raises(RuntimeError):
            server.start()
        assert server.base_url == f"http://{server.host_port}/v1"


def test_raw_base64_survives_as_bytes_on_the_wire() -> None:
    """Bytes that are not text reach the client as they are."""
    every_byte = bytes(range(256))
    answer = {"body_base64": base64.b64encode(every_byte).decode("ascii")}
    with LoopbackServer([answer]) as server, Peer(server) as peer:
        assert peer.exchange() == every_byte


@pytest.mark.parametrize("answer, place", [
    ({"headers": {"a\nb": "c"}}, "headers.'a\\\\nb'"), ({"headers": {"a\0": "c"}}, "headers"),
    ({"when": {"contains": "\ud800"}}, "when.contains"),
    ({"when": {"path": "/\ud800"}}, "when.path"),
])
def test_script_that_cannot_be_sent_or_found_is_refused(answer: Any, place: str) -> None:
    """A line end in a header's name, and text no request can have, are refused with the place."""
    with pytest.raises(ValueError, match=r"answers\[0\]\." + place) as caught:
        Script.parse([answer])
    str(caught.value).encode("ascii")
