# SPDX-License-Identifier: MIT
"""The demo's second half: a real turn of the agent with a tool, and a session resumed.

In: where to show it, and how fast. Out: a list of results that were not as expected, in words.
The model is scripted. The tool really reads a file of the project's folder, or of the package's
folder if the project is not there. The session really is a file: the demo closes it, opens it
again and goes on with it.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Tuple

from ..agent import Agent, AgentEvent, AgentResult
from ..client import Client
from ..loopback import LoopbackServer
from ..session import Session
from .folder import Folder
from .folder_tools import FolderTools
from .printing import call_line, usage_words
from .terminal import Terminal

_FIRST, _SECOND = "What does this file set up?", "Which file did you read for that?"
_USAGE = {"prompt_tokens": 180, "completion_tokens": 24, "total_tokens": 204}


def show_agent(shown: Terminal, pause: float) -> List[str]:
    """Show both turns; return what was not as expected, in words.

    Args:
        shown: where to show them.
        pause: seconds between two words of an answer.
    """
    place, name, text = _file_to_read()
    with LoopbackServer(_answers(name, text, pause)) as server, Client(
        "demo-model", base_url=server.base_url, proxies={"no_proxy": "127.0.0.1"},
    ) as client, Folder(place) as folder, tempfile.TemporaryDirectory() as kept:
        tools = FolderTools(folder).tools()
        log = os.path.join(kept, "demo.jsonl")
        shown.line(f"\n4. An agent: the model asks for read_file, the tool reads {name}, and\n"
                   "   the model answers. Every event is written to a session file first.\n")
        faults = _first_turn(client, tools, log, shown)
        shown.line("\n5. The session file is opened again, as after a restart, and continued.\n")
        faults += _second_turn(client, tools, log, shown)
        requests = [request.json() for request in server.requests]
    return faults + _request_faults(requests, text)


def _file_to_read() -> Tuple[str, str, str]:
    """Return folder, name and text of the project's ``setup.cfg``, or of ``__init__.py`` here."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    project = os.path.dirname(package)
    for place, name, sign in ((project, "setup.cfg", "name = streamcore"),
                              (package, "__init__.py", "")):
        try:
            with open(os.path.join(place, name), encoding="utf-8") as file:
                text = file.read()
        except (OSError, ValueError):  # the package is a copy without the project
            continue
        if sign in text:
            return place, name, text
    raise FileNotFoundError(os.path.join(package, "__init__.py"))


def _answers(name: str, text: str, pause: float) -> List[Dict[str, Any]]:
    first = text.split("\n")[0]
    call = {"id": "call_1", "name": "read_file", "arguments": json.dumps({"path": name})}
    return [
        _answer(pause, reasoning="I have to look into the file.", tool_calls=[call]),
        _answer(pause, text=f"{name} has {len(text.splitlines())} lines; the first is: "
                            f"{first}"),
        _answer(pause, text=f"I read {name}, as the conversation before this line says."),
    ]


def _answer(pause: float, **parts: Any) -> Dict[str, Any]:
    return {"steps": [{"answer": {**parts, "usage": _USAGE, "every": pause}}]}


def _first_turn(client: Client, tools: Any, log: str, shown: Terminal) -> List[str]:
    with Session.open(log) as session:
        result = _turn(client, tools, session, _FIRST, shown)
        events = len(session)
    shown.line(f"   session     {events} events in {os.path.basename(log)}")
    faults = [] if result.ok else [f"the first turn ended with {result.reason}"]
    if (result.steps, len(result.tool_calls)) != (2, 1):
        faults.append(f"{result.steps} steps with {len(result.tool_calls)} calls, not 2 with 1")
    return faults


def _second_turn(client: Client, tools: Any, log: str, shown: Terminal) -> List[str]:
    with Session.open(log) as session:
        shown.line(f"   resumed     {len(session)} events, "
                   f"{len(session.derive_messages())} messages")
        result = _turn(client, tools, session, _SECOND, shown)
    roles = [message.role for message in result.messages]
    wanted = ["user", "assistant", "tool", "assistant", "user", "assistant"]
    faults = [] if result.ok else [f"the second turn ended with {result.reason}"]
    if roles != wanted:
        faults.append(f"the conversation should be {wanted}, not {roles}")
    return faults


def _turn(
    client: Client, tools: Any, session: Session, prompt: str, shown: Terminal
) -> AgentResult:
    shown.line(f"   you         {prompt}")
    agent = Agent(client, tools, system="You look into one folder.", session=session,
                  on_event=lambda event: _show(event, shown))
    return agent.run(prompt)


def _show(event: AgentEvent, shown: Terminal) -> None:
    if event.type == "tool-start" and event.call is not None:
        shown.line(f"   call        {call_line(event.call)}")
    elif event.type == "tool-result" and event.outcome is not None:
        size = len(event.outcome.content.encode("utf-8"))
        shown.line(f"   result      {event.outcome.status}, {size} bytes of text")
    elif event.type == "message" and event.message is not None and event.message.text:
        shown.line(f"   answer      {event.message.text}")
    elif event.type == "end" and event.result is not None:
        result = event.result
        shown.line(f"   ended       {result.reason}; steps: {result.steps}; "
                   f"{usage_words(result.usage)}")


def _request_faults(requests: List[Dict[str, Any]], text: str) -> List[str]:
    """Check the requests: the second ends with the file's text, the third has the whole history."""
    if len(requests) != 3:
        return [f"there should be 3 requests, not {len(requests)}"]
    faults = []
    result = requests[1]["messages"][-1]
    if result["role"] != "tool" or result["content"] != text[:-1]:  # without its last line feed
        faults.append("the second request should end with the text of the file")
    said = [one["content"] for one in requests[2]["messages"] if one["role"] == "user"]
    if said != [_FIRST, _SECOND] or requests[2]["messages"][:4] != requests[1]["messages"]:
        faults.append("the resumed turn should send the history of the first one")
    return faults
