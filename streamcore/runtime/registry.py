# SPDX-License-Identifier: MIT
"""Which adapter answers for which provider route.

There is no global registry. An adapter gets all of its routes or none, and its routes are
replaced in one step. A call keeps the adapter it was prepared with, whatever happens to the
routes later. Threads may share a runtime, and a forked child may use it: a call takes no
lock, because the tables it reads are replaced and never changed.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, Callable, Dict, Iterable, Optional, Tuple

from ..providers import ModelInfo
from ..values.calls import CallConfig, CallContext
from ..values.errors import LlmError
from ..values.given import invalid
from ..values.retry import RetryPolicy
from ..wire.assembler import MessageAssembler
from .prepared import Middleware, PreparedCall, Recorder

NO_RETRY = RetryPolicy(max_retries=0)

RequestHook = Callable[[CallConfig], Optional[CallConfig]]


class AdapterHandle:
    """One registration: change its routes, or end it."""

    def __init__(self, runtime: LlmRuntime, adapter: Any, routes: Tuple[str, ...]) -> None:
        self.adapter = adapter
        self.routes = routes
        self.disposed = False
        self._runtime = runtime

    def replace(self, routes: Iterable[str]) -> None:
        """Answer for these routes instead of the old ones, in one step.

        Raises:
            LlmError: ``REGISTRATION_DISPOSED``, ``INVALID_ADAPTER`` or
                ``DUPLICATE_ADAPTER``; the old routes stay then.
        """
        self._runtime._replace(self, _checked_routes(routes))

    def dispose(self) -> None:
        """End the registration; calls that are already prepared go on.

        Raises:
            LlmError: ``REGISTRATION_DISPOSED`` the second time.
        """
        self._runtime._replace(self, (), dispose=True)


class LlmRuntime:
    """A registry of adapters, hooks and middleware that prepares every call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # held while a table is replaced
        self._routes: Dict[str, AdapterHandle] = {}
        # A tuple around each hook makes two registrations of the same hook distinct.
        self._hooks: Tuple[Tuple[RequestHook], ...] = ()
        self._middleware: Tuple[Tuple[Middleware], ...] = ()

    def register_adapter(self, routes: Iterable[str], adapter: Any) -> AdapterHandle:
        """Let ``adapter`` answer for ``routes``: for all of them, or for none on an error.

        Raises:
            LlmError: ``INVALID_ADAPTER`` for no route, an empty one, or an adapter
                without ``stream``; ``DUPLICATE_ADAPTER`` for a route that is taken.
        """
        if not callable(getattr(adapter, "stream", None)):
            raise LlmError("an adapter needs a method stream(request)", "INVALID_ADAPTER")
        handle = AdapterHandle(self, adapter, ())
        self._replace(handle, _checked_routes(routes))
        return handle

    def list_providers(self) -> Tuple[str, ...]:
        """Return the routes that have an adapter, sorted."""
        return tuple(sorted(self._routes))

    def list_models(self, route: str) -> Tuple[str, ...]:
        """Return the models known for a route. A call may name other models too.

        Args:
            route: one of ``list_providers()``.
        Raises:
            LlmError: ``NO_ADAPTER`` for a route that has no adapter.
        """
        list_models = getattr(self._handle(route).adapter, "list_models", None)
        return tuple(list_models()) if list_models is not None else ()

    def resolve_model(self, route: str, model: str) -> ModelInfo:
        """Return what is known of a model on a route.

        Args:
            route: one of ``list_providers()``.
            model: its name at the provider; a name that the adapter does not know is accepted.
        Raises:
            LlmError: ``NO_ADAPTER`` for a route that has no adapter; ``INVALID_ADAPTER``
                when the adapter's metadata is wrong.
        """
        return _resolve(self._handle(route).adapter, model)

    def on_request(self, hook: RequestHook) -> Callable[[], None]:
        """Call ``hook`` with each config; the hook may return another one, or None.

        It runs before the call is prepared, so the record shows the config that is used.
        Returns a function that removes the hook.
        """
        return self._add("_hooks", hook)

    def use(self, middleware: Middleware) -> Callable[[], None]:
        """Wrap every stream in ``middleware(request, call_next)``, the first one outermost.

        Returns a function that removes the middleware.
        """
        return self._add("_middleware", middleware)

    def prepare_call(
        self,
        config: CallConfig,
        cancel: Optional[threading.Event] = None,
        *,
        context: Optional[CallContext] = None,
        retry: Optional[RetryPolicy] = None,
        default_retry: RetryPolicy = NO_RETRY,
        recorder: Optional[Recorder] = None,
    ) -> PreparedCall:
        """Resolve a call and freeze it: adapter, model, defaults.

        Args:
            config: which model, and how.
            cancel: an event that stops the call once it is set.
            context: the call's context, with a cancel event of its own; ``cancel`` is then
                not used.
            retry: which failures are worth another call. None means the adapter's policy
                (``adapter.retry``), and ``default_retry`` if it has none.
            default_retry: by default there is no other call.
            recorder: writes a log of the call; None writes nothing.
        Raises:
            LlmError: ``INVALID_REQUEST`` for a model without a name, ``NO_ADAPTER``,
                ``UNSUPPORTED_REASONING_EFFORT``, ``INVALID_ADAPTER``.
            TypeError: when a hook returns neither a config nor None.
        """
        hooks, middleware = self._hooks, self._middleware
        for (hook,) in hooks:
            config = _proposed(hook(config), config)
        if not isinstance(config.model, str) or not config.model.strip():
            raise invalid("model is a non-empty string")
        adapter = self._handle(config.provider).adapter
        snapshot = getattr(adapter, "snapshot", None)
        if snapshot is not None:  # so that the whole call has the same settings
            adapter = snapshot()
        model = _resolve(adapter, config.model)
        config, filled = _with_defaults(config, model)
        model.check_effort(config.reasoning_effort)
        context = context or CallContext(cancel)
        wraps = [wrap for (wrap,) in middleware]
        retry = retry or getattr(adapter, "retry", None) or default_retry
        dialect = getattr(adapter, "dialect", None)
        answer = MessageAssembler(config.provider, dialect, config.model)
        return PreparedCall(
            config, filled, model, context, retry, adapter, wraps, recorder, answer
        )

    def _handle(self, route: str) -> AdapterHandle:
        routes = self._routes
        handle = routes.get(route)
        if handle is None:
            known = ", ".join(sorted(routes)) or "none"
            raise LlmError(
                f"no adapter for the provider {route!r} (there are: {known})", "NO_ADAPTER",
                phase="prepare",
            )
        return handle

    def _replace(
        self, handle: AdapterHandle, routes: Tuple[str, ...], dispose: bool = False
    ) -> None:
        with self._lock:
            if handle.disposed:
                raise LlmError("this registration has ended", "REGISTRATION_DISPOSED")
            for route in routes:
                if self._routes.get(route, handle) is not handle:
                    raise LlmError(f"the route {route!r} is taken", "DUPLICATE_ADAPTER")
            kept = {r: h for r, h in self._routes.items() if h is not handle}
            kept.update(dict.fromkeys(routes, handle))
            self._routes = kept
            handle.routes, handle.disposed = routes, dispose

    def _add(self, name: str, hook: Any) -> Callable[[], None]:
        box = (hook,)
        with self._lock:
            setattr(self, name, (*getattr(self, name), box))

        def remove() -> None:
            with self._lock:
                setattr(self, name, tuple(one for one in getattr(self, name) if one is not box))

        return remove


def _proposed(answer: Any, config: CallConfig) -> CallConfig:
    if answer is None:
        return config
    if not isinstance(answer, CallConfig):
        raise TypeError(f"a request hook returns a CallConfig or None, not {answer!r}")
    return answer


def _checked_routes(routes: Iterable[str]) -> Tuple[str, ...]:
    checked = (routes,) if isinstance(routes, str) else tuple(routes)
    if not checked or not all(isinstance(route, str) and route.strip() for route in checked):
        raise LlmError("an adapter needs a route, and no route may be empty", "INVALID_ADAPTER")
    if len(set(checked)) != len(checked):
        raise LlmError("a route is given twice", "DUPLICATE_ADAPTER")
    return checked


def _resolve(adapter: Any, model: str) -> ModelInfo:
    resolve = getattr(adapter, "resolve_model", None)
    if resolve is None:
        return ModelInfo(model)
    try:
        info = resolve(model)
    except (TypeError, ValueError) as bad:
        raise LlmError(f"the adapter's metadata of {model!r}: {bad}", "INVALID_ADAPTER") from bad
    if not isinstance(info, ModelInfo):
        raise LlmError(
            f"the adapter's metadata of {model!r} is a {type(info).__name__}, not a ModelInfo",
            "INVALID_ADAPTER",
        )
    return info


def _with_defaults(config: CallConfig, model: ModelInfo) -> Tuple[CallConfig, Tuple[str, ...]]:
    filled: Dict[str, Any] = {
        name: value
        for name, value in (
            ("max_tokens", model.default_max_tokens),
            ("reasoning_effort", model.default_effort),
        )
        if getattr(config, name) is None and value is not None
    }
    return (replace(config, **filled) if filled else config), tuple(filled)
