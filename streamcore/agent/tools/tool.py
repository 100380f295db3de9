# SPDX-License-Identifier: MIT
"""A tool: a function that a model may call, with a name, a description and a schema.

In: a function, and what the model is told about it. Out: a ``Tool`` that checks arguments
before it runs. Refused when made, with ``ValueError`` or ``TypeError``: a name that no
provider accepts, an invalid schema, an async function, a ``timeout`` without ``isolate``
(only a process can be killed).
"""

from __future__ import annotations

import inspect
import re
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Union, overload

from ...values.frozen import freeze, thaw
from ...values.numbers import check_seconds
from ...values.schemas.docstring import read_docstring
from ...values.schemas.items import with_items
from ...values.schemas.schema import argument_faults, check_schema
from ...values.schemas.signature import INJECTED, Signature, parameters_of, read_signature
from .importable import check_interpreter, check_reachable, target_of
from .raised import error_text, raise_interrupt

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # names that chat-completions providers accept

Validate = Callable[[Dict[str, Any]], Optional[str]]


class ToolError(Exception):
    """A tool could not do what it was asked, and the model may try something else.

    The model gets the message as it is. Any other exception, ``SystemExit`` too, means that
    the tool left an unknown state, and stops the agent's loop. Only ``KeyboardInterrupt``
    and its subclasses are raised out of the turn, so a signal handler that wants to end a
    turn raises one of these.
    """


class InvalidArguments(ToolError):
    """The arguments of a call do not fit the tool's schema."""


@dataclass(frozen=True, init=False, eq=False)
class Tool:
    """A function that a model may call.

    Args:
        name: 1 to 64 of ``a-z A-Z 0-9 _ -``.
        description: what the model is told about the tool.
        parameters: a JSON schema of an object; None or {} takes no arguments.
        run: called with the arguments by name. It also gets ``cancel`` (a
            ``threading.Event`` that is set when it should stop) and ``call_id``, if it has
            parameters of these names and the schema does not.
        isolate: run it in a process of its own, which is killed with its children at
            ``timeout`` or cancel. ``run`` must then be a function of an importable module.
        timeout: seconds above 0; only with ``isolate``.
        mutating: it changes something. It needs an approver, unless the agent has
            ``allow_mutating``. It is not run after another mutating tool of the same answer
            has failed.
        independent: a mutating tool that runs even after such a failure.
        polling: it is called again and again until its result changes. So a repeated call,
            or the same ``ToolError`` again, does not end the run.
        validate: a check of the arguments after that of the schema. It refuses them by
            raising, or by returning a text that says what is wrong.
        signature: converts arguments to the types of ``run``'s hints; ``tool`` makes it.
            None passes the arguments as they are.
    Raises:
        TypeError, ValueError: for an argument of a wrong type or value.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., Any]
    isolate: bool
    timeout: Optional[float]
    mutating: bool
    independent: bool
    polling: bool
    validate: Optional[Validate]
    signature: Optional[Signature] = field(repr=False)

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Optional[Mapping[str, Any]],
        run: Callable[..., Any],
        *,
        isolate: bool = False,
        timeout: Optional[float] = None,
        mutating: bool = False,
        independent: bool = False,
        polling: bool = False,
        validate: Optional[Validate] = None,
        signature: Optional[Signature] = None,
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"a tool's name is 1 to 64 of a-z A-Z 0-9 _ -, not {name!r}")
        if not isinstance(description, str):
            raise TypeError(f"a description is a string, not {type(description).__name__}")
        schema = freeze(_checked_parameters(parameters))
        _check_run(run, name)
        _check_timeout(timeout, isolate)
        if validate is not None and not callable(validate):
            raise TypeError("validate must be a function of the arguments")
        if isolate:
            check_interpreter()
        if isolate and signature is not None:
            target_of(run)  # while a decorator runs, the module does not have the name yet
        elif isolate:
            check_reachable(run)
        vars(self).update(  # the class is frozen, so fields cannot be set one by one
            name=name, description=description, parameters=schema, run=run,
            isolate=bool(isolate), timeout=timeout, mutating=bool(mutating),
            independent=bool(independent), polling=bool(polling), validate=validate,
            signature=signature,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, without any check."""
        return self.run(*args, **kwargs)

    @property
    def injected(self) -> List[str]:
        """Which of ``cancel`` and ``call_id`` the function takes from the agent."""
        known = self.parameters.get("properties", {})
        try:
            takes = parameters_of(self.run)
        except TypeError:  # a builtin, which has no such parameters
            return []
        return [name for name in INJECTED if name in takes and name not in known]

    def spec(self) -> Dict[str, Any]:
        """Return the tool as an OpenAI-style dict."""
        function = {
            "name": self.name, "description": self.description,
            "parameters": thaw(self.parameters),
        }
        return {"type": "function", "function": function}

    def check(self, arguments: Any) -> None:
        """Check a call's parsed arguments, without running the function.

        Raises:
            InvalidArguments: when they do not fit; the message says why.
        """
        if not isinstance(arguments, dict):
            raise InvalidArguments("invalid arguments: they must be a JSON object")
        faults = argument_faults(arguments, self.parameters)
        if not faults and self.validate is not None:
            faults = _other_faults(self.validate, arguments)
        if faults:
            raise InvalidArguments("invalid arguments: " + "; ".join(faults))

    def bind(self, arguments: Mapping[str, Any]) -> Dict[str, Any]:
        """Return checked arguments as the function takes them.

        Raises:
            InvalidArguments: when a dataclass or the function itself refuses them.
        """
        try:
            values = dict(arguments)
            if self.signature is not None:
                values = self.signature.convert(values)
            extra = dict.fromkeys(self.injected)
            _bind(self.run, {**values, **extra})
        except BaseException as exc:  # a dataclass may refuse its values in any way
            raise_interrupt(exc)
            raise InvalidArguments(f"invalid arguments: {error_text(exc)}") from exc
        return values

    def invoke(
        self,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        cancel: Optional[threading.Event] = None,
    ) -> Any:
        """Run the function here and now, with checked arguments.

        Args:
            arguments: arguments that ``check`` accepted.
            call_id: given to a function that takes it.
            cancel: given to a function that takes it; a new event when None.
        Raises:
            InvalidArguments: as ``bind``. Exceptions of the function are raised too.
        """
        values = self.bind(arguments)
        offered = {"cancel": threading.Event() if cancel is None else cancel, "call_id": call_id}
        values.update((name, offered[name]) for name in self.injected)
        return self.run(**values)

    def __reduce__(self) -> Any:
        raise TypeError("a tool holds functions and cannot be pickled")


@overload
def tool(function: Callable[..., Any]) -> Tool: ...


@overload
def tool(
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    isolate: bool = False,
    timeout: Optional[float] = None,
    mutating: bool = False,
    independent: bool = False,
    polling: bool = False,
    validate: Optional[Validate] = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Optional[Callable[..., Any]] = None,
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    isolate: bool = False,
    timeout: Optional[float] = None,
    mutating: bool = False,
    independent: bool = False,
    polling: bool = False,
    validate: Optional[Validate] = None,
) -> Union[Tool, Callable[[Callable[..., Any]], Tool]]:
    """Make a ``Tool`` of a function: ``@tool``, or ``@tool(isolate=True, timeout=5)``.

    The schema comes from the type hints and the docstring. Unless given, the name is that
    of the function, and the description is the docstring's text before its first section.
    The other arguments are those of ``Tool``.

    Raises:
        TypeError, ValueError: for a function or an argument that ``Tool`` refuses.
    """
    def make(given: Callable[..., Any]) -> Tool:
        words, about = read_docstring(getattr(given, "__doc__", None))
        signature = read_signature(given, about)
        return Tool(
            getattr(given, "__name__", "") if name is None else name,
            words if description is None else description,
            signature.schema,
            given,
            isolate=isolate, timeout=timeout, mutating=mutating, independent=independent,
            polling=polling, validate=validate, signature=signature,
        )

    return make if function is None else make(function)


def _checked_parameters(parameters: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    if not isinstance(parameters, (Mapping, type(None))):
        raise ValueError(f"parameters are a dict, not {type(parameters).__name__}")
    schema = {"type": "object", "properties": {}, **thaw(dict(parameters or {}))}
    check_schema(schema)
    if schema["type"] != "object":
        raise ValueError("parameters must be the schema of an object; it has another type")
    made: Dict[str, Any] = with_items(schema)
    return made


def _check_run(run: Any, name: str) -> None:
    if not callable(run):
        raise TypeError(f"{name}: run must be a function, not {type(run).__name__}")
    if inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run):
        raise TypeError(f"{name}: a tool must be a plain function, not an async one")
    if inspect.isgeneratorfunction(run):
        raise TypeError(f"{name}: a tool must return its result, and cannot be a generator")


def _check_timeout(timeout: Any, isolate: bool) -> None:
    if timeout is None:
        return
    check_seconds("timeout", timeout)
    if not isolate:
        raise ValueError("timeout needs isolate=True: only a process can be killed")


def _other_faults(validate: Validate, arguments: Dict[str, Any]) -> List[str]:
    try:
        words = validate(arguments)
    except BaseException as exc:  # any exception of a checker is a refusal
        raise_interrupt(exc)
        return [error_text(exc)]
    return [words] if isinstance(words, str) and words else []


def _bind(run: Callable[..., Any], values: Mapping[str, Any]) -> None:
    try:
        signature = inspect.signature(run)
    except ValueError:  # a builtin may have no signature; then the call itself checks
        return
    signature.bind(**values)
