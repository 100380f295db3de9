# SPDX-License-Identifier: MIT
"""What is known about one provider, as a frozen value that is checked when made.

In: plain values; make your own profile the same way, or with ``dataclasses.replace`` from
another profile. Out: the address to post to, the facts of a model, the body fields of a
reasoning effort. Refused when made: wrong types and wrong values (``TypeError``,
``ValueError``). Refused by its methods: a bad base URL, an effort that the provider does not
have. A profile names environment variables and does not read them.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, replace
from typing import Any, Mapping, Optional, Tuple

from ..values.errors import LlmError
from ..values.frozen import FrozenDict, freeze
from ..values.headers import HEADER_NAME
from ..values.limits import Limits
from ..values.retry import RetryPolicy
from ..wire.dialects import DialectOptions, find_dialect
from .addresses import invalid, join_address, path_of
from .checks import (
    NAME,
    PATH,
    VARIABLE,
    check_header_value,
    check_match,
    check_string,
    check_strings,
    check_tokens,
)
from .facts import ModelInfo, OptionNote, unsupported_effort


@dataclass(frozen=True)
class ProviderProfile:
    """One provider: its address, its key, its models, and the options of its format.

    Args:
        name: the provider's name; printable ASCII without blanks.
        base_url: None if every user has their own address.
        base_url_env: the environment variable that may hold another base URL.
        key_env: the environment variables of the key; the first that is set counts.
        key_required: whether a call without a key is refused.
        key_header, key_prefix: the header that carries the key, and the text before the key;
            None: the dialect's.
        dialect: the name of the wire dialect.
        options: the options of the dialect in which the provider differs.
        limits: clocks and sizes; those of the client and of the call count before them.
        models: the models about which something is known; other models are allowed too.
        efforts: reasoning effort → the body fields that ask for it. None: every word is sent
            as the dialect's field; empty: the provider takes no effort.
        default_effort: the effort sent when the caller gives none; one of ``efforts``.
        default_max_tokens: output cap sent when the caller gives none, 1 or more.
        context_window: tokens, for models that do not have their own number here.
        headers: more headers of every request.
        session_header, user_header: the headers that carry the caller's session and user id.
        request_id_headers: the headers of an answer that may hold the request's id, best
            first; empty: the headers that most providers use.
        path: the endpoint's path below the base URL; None: the dialect's.
        base_path: the path to use if a base URL is only a host; None: the path of
            ``base_url``.
        retry: the retry policy of a client that gives none; None means one request.
        notes: why an option is set, or what is special about the answers, one line each.
        quirks: the old name of ``notes``; refused.
    Raises:
        TypeError, ValueError: for wrong types and wrong values; see DESIGN.md §7 and §8.
    """

    name: str
    base_url: Optional[str] = None
    base_url_env: Optional[str] = None
    key_env: Tuple[str, ...] = ()
    key_required: bool = True
    key_header: str = None  # type: ignore[assignment]  # __post_init__ asks the dialect
    key_prefix: str = None  # type: ignore[assignment]
    dialect: str = "chat-completions"
    options: DialectOptions = DialectOptions()
    limits: Limits = Limits()
    models: Tuple[ModelInfo, ...] = ()
    efforts: Optional[Mapping[str, Mapping[str, Any]]] = None
    default_effort: Optional[str] = None
    default_max_tokens: Optional[int] = None
    context_window: Optional[int] = None
    headers: Mapping[str, str] = field(default_factory=FrozenDict)
    session_header: Optional[str] = None
    user_header: Optional[str] = None
    request_id_headers: Tuple[str, ...] = ()
    path: str = None  # type: ignore[assignment]
    base_path: Optional[str] = None
    retry: Optional[RetryPolicy] = None
    notes: Tuple[OptionNote, ...] = ()
    quirks: InitVar[None] = None

    def __post_init__(self, quirks: None) -> None:
        if quirks is not None:
            raise TypeError("quirks is now named notes: give a tuple of OptionNote")
        check_match("name", self.name, NAME)
        check_match("dialect", self.dialect, NAME)
        self._ask_dialect()
        if not isinstance(self.limits, Limits):
            raise TypeError("limits are Limits")
        if not isinstance(self.retry, (RetryPolicy, type(None))):
            raise TypeError("retry is a RetryPolicy, or None")
        check_tokens(self.context_window, self.default_max_tokens)
        self._check_address()
        self._check_key()
        self._freeze_headers()
        self._freeze_efforts()
        self._freeze_lists()

    def _ask_dialect(self) -> None:
        """Check the options, and fill fields that are None from the dialect."""
        dialect = find_dialect(self.dialect)
        if not isinstance(self.options, DialectOptions):
            raise TypeError("options are those of a dialect")
        object.__setattr__(self, "options", self.options.over(dialect.options()))
        for name in ("path", "key_header", "key_prefix"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(dialect, name))

    def url(self, base_url: Optional[str] = None) -> str:
        """Return the address to post to.

        Args:
            base_url: used instead of the profile's own. It may have a last slash, the
                endpoint's path, or a query (Azure's ``?api-version=``). If it is only a host,
                ``base_path`` is added.
        Raises:
            LlmError: ``INVALID_REQUEST`` for a bad base URL, or if neither the caller nor the
                profile gives one. The message shows no user, password or query.
        """
        base = self.base_url if base_url is None else base_url
        if base is None:
            place = f" or set {self.base_url_env}" if self.base_url_env else ""
            raise invalid(f"{self.name} has no base URL of its own: give base_url{place}")
        return join_address(base, self.path, self._base_path())

    def model(self, name: str) -> ModelInfo:
        """Return what is known about a model; unknown facts are the profile's.

        A model that the profile does not list gets all facts from the profile.
        """
        for known in self.models:
            if known.name == name:
                return self._filled(known)
        return self._filled(ModelInfo(name))

    def effort_fields(self, effort: Optional[str]) -> Mapping[str, Any]:
        """Return the body fields that ask for a reasoning effort; for None, no fields.

        Args:
            effort: a reasoning effort; ``ModelInfo.efforts`` lists those of a model.
        Raises:
            LlmError: ``UNSUPPORTED_REASONING_EFFORT`` for an effort that the profile does not
                have; ``INVALID_REQUEST`` for a value that is not a non-blank string.
        """
        if effort is None:
            return FrozenDict()
        if self.efforts is None:
            if not isinstance(effort, str) or not effort.strip():
                raise invalid("a reasoning effort is a non-empty string")
            return find_dialect(self.dialect).effort_fields(effort)
        if effort not in self.efforts:
            raise unsupported_effort(self.name, effort, tuple(self.efforts))
        return self.efforts[effort]

    def dialect_options(self, model: ModelInfo) -> DialectOptions:
        """Return the dialect's options for one model, with a value for every field.

        Args:
            model: a result of ``model()``; its window and images count before ``options``.
        """
        return self.options.resolved(context_window=model.context_window, images=model.images)

    def locked_to(self, *efforts: str) -> ProviderProfile:
        """Return a profile that has only these reasoning efforts and refuses others.

        Use it to fix the effort of a deployment: ``get_profile("deepseek").locked_to("off")``.
        If the old default is not one of the efforts, the first effort is the new default.

        Raises:
            ValueError: without an effort, or for an effort that the profile does not have.
        """
        words = check_strings("efforts", efforts)
        if not words:
            raise ValueError("locked_to needs one effort or more")
        table = self.efforts
        if table is None:
            table = {word: find_dialect(self.dialect).effort_fields(word) for word in words}
        for word in words:
            if word not in table:
                raise ValueError(f"{self.name} has no effort {word!r}: {', '.join(table)}")
        default = self.default_effort if self.default_effort in words else words[0]
        return replace(
            self,
            efforts={word: table[word] for word in words},
            default_effort=default,
            models=tuple(_locked(model, words) for model in self.models),
        )

    def _base_path(self) -> str:
        if self.base_path is not None:
            return self.base_path
        return path_of(self.base_url) if self.base_url is not None else ""

    def _filled(self, model: ModelInfo) -> ModelInfo:
        efforts = model.efforts
        if efforts is None and self.efforts is not None:
            efforts = tuple(self.efforts)
        default = model.default_effort
        if default is None and (efforts is None or self.default_effort in efforts):
            default = self.default_effort
        given = self.options.given()
        window = model.context_window or self.context_window or given.get("context_window")
        tokens = model.default_max_tokens or self.default_max_tokens
        if window is not None and tokens is not None:
            tokens = min(tokens, window)  # the profile's cap may be above a small model's window
        images = given.get("images", True) if model.images is None else model.images
        return ModelInfo(model.name, window, tokens, efforts, default, images)

    def _check_address(self) -> None:
        check_match("path", self.path, PATH)
        if self.base_path:
            check_match("base_path", self.base_path, PATH)
        if self.base_url_env is not None:
            check_match("base_url_env", self.base_url_env, VARIABLE)
        if self.base_url is not None:
            try:
                self.url()
            except LlmError as exc:
                raise ValueError(exc.failure.message) from None

    def _check_key(self) -> None:
        object.__setattr__(self, "key_env", check_strings("key_env", self.key_env))
        for variable in self.key_env:
            check_match("key_env", variable, VARIABLE)
        if not isinstance(self.key_required, bool):
            raise TypeError("key_required is True or False")
        check_match("key_header", self.key_header, HEADER_NAME)
        check_header_value("key_prefix", self.key_prefix)

    def _freeze_headers(self) -> None:
        if not isinstance(self.headers, Mapping):
            raise TypeError("headers are a mapping of strings")
        for name, value in self.headers.items():
            check_match("a header's name", name, HEADER_NAME)
            check_header_value(f"the header {name}", value)
        object.__setattr__(self, "headers", freeze(dict(self.headers)))
        named = [self.key_header, *self.headers]
        named += [name for name in (self.session_header, self.user_header) if name is not None]
        for name in named[1:]:
            check_match("a header's name", name, HEADER_NAME)
        if len({name.lower() for name in named}) < len(named):
            raise ValueError(f"two values would be sent in one header: {', '.join(named)}")
        names = check_strings("request_id_headers", self.request_id_headers)
        for name in names:
            check_match("a header's name", name, HEADER_NAME)
        object.__setattr__(self, "request_id_headers", names)

    def _freeze_efforts(self) -> None:
        if self.efforts is not None:
            if not isinstance(self.efforts, Mapping):
                raise TypeError("efforts are a mapping of efforts to body fields, or None")
            table = {}
            for word, fields in self.efforts.items():
                check_string("an effort", word)
                if not isinstance(fields, Mapping):
                    raise TypeError(f"the effort {word!r} becomes a mapping of body fields")
                for name in find_dialect(self.dialect).reserved_fields:
                    if name in fields:
                        raise ValueError(f"the effort {word!r} cannot set {name}")
                table[word] = dict(fields)
            object.__setattr__(self, "efforts", freeze(table))
        if self.default_effort is not None:
            check_string("default_effort", self.default_effort)
            if self.efforts is not None and self.default_effort not in self.efforts:
                raise ValueError(f"default_effort {self.default_effort!r} is not among efforts")

    def _freeze_lists(self) -> None:
        for name, kind in (("models", ModelInfo), ("notes", OptionNote)):
            given = getattr(self, name)
            if not isinstance(given, (tuple, list)) or not all(isinstance(x, kind) for x in given):
                raise TypeError(f"{name} are a tuple of {kind.__name__}")
            object.__setattr__(self, name, tuple(given))
        if len({model.name for model in self.models}) < len(self.models):
            raise ValueError("two models have one name")
        for model in self.models:
            wanted = {*(model.efforts or ()), model.default_effort} - {None}
            if self.efforts is not None and not wanted <= set(self.efforts):
                raise ValueError(f"{model.name} has an effort the profile does not have")


def _locked(model: ModelInfo, words: Tuple[str, ...]) -> ModelInfo:
    efforts = model.efforts
    if efforts is not None:
        efforts = tuple(word for word in efforts if word in words)
    default = model.default_effort if model.default_effort in words else None
    return replace(model, efforts=efforts, default_effort=default)
