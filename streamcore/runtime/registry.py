# SPDX-License-Identifier: MIT
"""Which adapter answers for which provider route.

An explicit object, no global. Registering is all or nothing, replacing routes is
one atomic swap, and a call keeps the adapter it was prepared with whatever
happens to the routes afterwards. Safe to share between threads, and over a fork:
a call takes no lock, it reads tables that are replaced and never changed.
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
        """Answer for these routes instead, from one moment to the next.

        Raises:
            LlmError: ``REGISTRATION_DISPOSED``, ``INVALID_ADAPTER`` or
                ``DUPLICATE_ADAPTER``; then nothing has changed.
        """
        self._runtime._replace(self, _checked_routes(routes))

    def dispose(self) -> None:
        """Answer for no route any more; calls already prepared go on.

        Raises:
            LlmError: ``REGISTRATION_DISPOSED`` the second time.
        """
        self._runtime._replace(self, (), dispose=True)


class LlmRuntime:
    """A registry of adapters, and what every call goes through."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # held by who replaces one of the tables
        self._routes: Dict[str, AdapterHandle] = {}
        self._hooks: Tuple[Tuple[RequestHook], ...] = ()  # each in a box of its own, so that
        self._middleware: Tuple[Tuple[Middleware], ...] = ()  # one given twice is two

    def register_adapter(self, routes: Iterable[str], adapter: Any) -> AdapterHandle:
        """Let ``adapter`` answer for ``routes``; all of them or none.

        Raises:
            LlmError: ``INVALID_ADAPTER`` for no route, an empty one, or an adapter
                without ``stream``; ``DUPLICATE_ADAPTER`` for a route that is taken.
        """
        if not callable(getattr(adapter, "stream", None)):
            raise LlmError("an adapter has a stream(request)", "INVALID_ADAPTER")
        handle = AdapterHandle(self, adapter, ())
        self._replace(handle, _checked_routes(routes))
        return handle

    def list_providers(self) -> Tuple[str, ...]:
        """Return the routes that have an adapter, sorted."""
        return tuple(sorted(self._routes))

    def list_models(self, route: str) -> Tuple[str, ...]:
        """Return the models known for a route. Advice only: other names pass through.

        Args:
            route: one of ``list_providers()``.
        Raises:
            LlmError: ``NO_ADAPTER`` for a route nobody answers for.
        """
        list_models = getattr(self._handle(route).adapter, "list_models", None)
        return tuple(list_models()) if list_models is not None else ()

    def resolve_model(self, route: str, model: str) -> ModelInfo:
        """Return what is known of a model on a route.

        Args:
            route: one of ``list_providers()``.
            model: its name at the provider; of an unknown one little is known.
        Raises:
            LlmError: ``NO_ADAPTER``; ``INVALID_ADAPTER`` for bad metadata.
        """
        return _resolve(self._handle(route).adapter, model)

    def on_request(self, hook: RequestHook) -> Callable[[], None]:
        """Let ``hook`` see each config first, and propose another by returning it.

        It runs before the call is prepared, so what is recorded is what is sent.
        Returns a function that takes the hook out again.
        """
        return self._add("_hooks", hook)

    def use(self, middleware: Middleware) -> Callable[[], None]:
        """Wrap every stream in ``middleware(request, next)``, the first one outermost.

        Returns a function that takes it out again.
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
            cancel: set to stop the call.
            context: what goes with it; carries its own cancel.
            retry: when a failure is worth another call; None is the adapter's own
                policy (``adapter.retry``), or else ``default_retry``.
            default_retry: by default no other call.
            recorder: writes a log of the call; None writes nothing.
        Raises:
            LlmError: ``INVALID_REQUEST`` for a model without a name, ``NO_ADAPTER``,
                ``UNSUPPORTED_REASONING_EFFORT``, ``INVALID_ADAPTER``.
            TypeError: for a hook's answer that is no config.
        """
        hooks, middleware = self._hooks, self._middleware
        for (hook,) in hooks:
            config = _proposed(hook(config), config)
        if not isinstance(config.model, str) or not config.model.strip():
            raise invalid("model is a non-empty string")
        adapter = self._handle(config.provider).adapter
        snapshot = getattr(adapter, "snapshot", None)
        if snapshot is not None:  # one generation of settings for all of the call
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
        raise LlmError("an adapter has one route or more, none of them empty", "INVALID_ADAPTER")
    if len(set(checked)) != len(checked):
        raise LlmError("a route comes twice", "DUPLICATE_ADAPTER")
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
            f"the adapter's metadata of {model!r} is a {type(info).__name__}, no ModelInfo",
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
