# SPDX-License-Identifier: MIT
"""The adapter for providers that are called over HTTP, and its settings.

In: an ``LlmRequest``. Out: its chunk stream. ``stream()`` refuses a bad body, address,
header or key before any I/O. Settings are a frozen value. ``configure`` replaces it;
a stream keeps the settings that it began with.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Protocol, Tuple, Union

from .. import __version__
from ..providers import ModelInfo, ProviderProfile
from ..transport import Transport
from ..values.calls import CallConfig, CallContext, LlmRequest
from ..values.chunks import StreamChunk
from ..values.clock import WaitBudget
from ..values.errors import LlmError
from ..values.frozen import FrozenDict
from ..values.given import invalid
from ..values.limits import Limits, ResolvedLimits, resolve_limits
from ..values.retry import RetryPolicy
from ..wire.dialects import Asked, DialectOptions, find_dialect
from .attempt import Post, read_answer
from .headers import find_key, has_header, make_headers
from .secrets import secrets_of

Credential = Union[str, Callable[[], Optional[str]], None]

_WANTED: Dict[str, Tuple[Any, str]] = {
    "profile": (ProviderProfile, "a ProviderProfile(...)"),
    "limits": (Limits, "a Limits(...)"),
    "options": ((DialectOptions, type(None)), "the options of a dialect, or None"),
    "headers": (Mapping, "a mapping of header names to values"),
}


class LlmAdapter(Protocol):
    """What the runtime needs of an adapter.

    The runtime calls ``stream`` when the first chunk is pulled, after the request was recorded.
    An adapter may also have ``prepare``; the runtime then calls that instead, and earlier.
    ``prepare`` checks the request, raises if it is wrong, sends nothing, and returns the
    chunks. ``resolve_model`` and ``list_models`` are optional too; see ``HttpAdapter``.
    """

    def stream(self, request: LlmRequest) -> Iterator[StreamChunk]:
        """Return the chunks of one answer; a failure is raised as ``LlmError``."""


@dataclass(frozen=True)
class HttpSettings:
    """One generation of an ``HttpAdapter``'s settings.

    Args:
        profile: the provider.
        base_url: the endpoint's base; by default the profile's variable, then its address.
        api_key: the key, or a function that returns it and is called for every request.
        api_key_env: names of variables that may hold the key, searched before the profile's.
        limits: a field given here replaces the profile's.
        headers: sent with every request; one given here replaces the profile's.
        app: the embedding tool as ``name/version``, for the User-Agent.
        options: of the dialect; a field given here replaces the profile's.
        environ: where environment names are looked up; None looks nothing up.
        json_loads: a faster parser of payloads, as ``parse_stream`` takes one.
    Raises:
        TypeError: for a profile, limits, options or headers of another type.
    """

    profile: ProviderProfile
    base_url: Optional[str] = field(default=None, repr=False)
    api_key: Credential = field(default=None, repr=False)
    api_key_env: Tuple[str, ...] = ()
    limits: Limits = Limits()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    app: Optional[str] = None
    options: Optional[DialectOptions] = None
    environ: Optional[Mapping[str, str]] = field(default=None, repr=False)
    json_loads: Optional[Callable[[str], Any]] = None

    def __post_init__(self) -> None:
        for name, (kinds, wanted) in _WANTED.items():
            value = getattr(self, name)
            if not isinstance(value, kinds):
                raise TypeError(f"{name} is {wanted}, not {type(value).__name__}")
        object.__setattr__(self, "headers", FrozenDict(self.headers))
        names = (self.api_key_env,) if isinstance(self.api_key_env, str) else self.api_key_env
        object.__setattr__(self, "api_key_env", tuple(names))

    def limits_for(self, context: CallContext) -> ResolvedLimits:
        """Return every limit of one call: its own, over these, over the profile's."""
        return resolve_limits(context.limits, self.limits, self.profile.limits)

    def options_for(self, model: ModelInfo) -> DialectOptions:
        """Return the dialect's options for a model, every field given."""
        options = self.profile.dialect_options(model)
        return options if self.options is None else self.options.over(options)

    def url(self) -> str:
        """Return the address to post to.

        Raises:
            LlmError: ``INVALID_REQUEST`` if there is no base URL, or it is not a valid URL.
        """
        base, name = self.base_url, self.profile.base_url_env
        if base is None and name and self.environ is not None:
            base = self.environ.get(name) or None
        if base is None and self.profile.base_url is None and self.environ is None and name:
            raise invalid(
                f"there is no base URL: give base_url, or provider={self.profile.name!r}"
                f" so that {name} is read"
            )
        return self.profile.url(base)

    def __reduce__(self) -> Any:
        raise TypeError("settings may hold a key and are not pickled")


class HttpAdapter:
    """Asks one provider over HTTP.

    Args:
        settings: the first generation; ``configure`` makes the next.
        transport: where connections come from; shared and closed by its owner.
    """

    def __init__(self, settings: HttpSettings, transport: Transport) -> None:
        self._settings = settings
        self._transport = transport

    @property
    def profile(self) -> ProviderProfile:
        """The provider's profile."""
        return self._settings.profile

    @property
    def dialect(self) -> str:
        """The name of the wire dialect that the provider is asked in."""
        return self._settings.profile.dialect

    @property
    def retry(self) -> Optional[RetryPolicy]:
        """The profile's retry policy, for calls that come with none."""
        return self._settings.profile.retry

    def configure(self, **changes: Any) -> None:
        """Change settings by name, all at once; running streams keep theirs."""
        self._settings = replace(self._settings, **changes)

    def resolve_model(self, model: str) -> ModelInfo:
        """Return what is known of a model; an unknown model gets the profile's defaults."""
        return self._settings.profile.model(model)

    def list_models(self) -> Tuple[str, ...]:
        """Return the names of the models the profile knows; others pass through."""
        return tuple(model.name for model in self._settings.profile.models)

    def snapshot(self) -> HttpAdapter:
        """Return an adapter that keeps the settings of this moment."""
        return HttpAdapter(self._settings, self._transport)

    def describe(self, config: CallConfig) -> Dict[str, Any]:
        """Return the settings, beside the call itself, that decide how its body is written.

        Raises:
            LlmError: ``UNSUPPORTED_REASONING_EFFORT``.
        """
        profile = self._settings.profile
        model = profile.model(config.model)
        options = self._settings.options_for(model)
        return {
            "dialect": profile.dialect,
            "options": options.given(),
            "effort_fields": dict(profile.effort_fields(config.reasoning_effort)),
        }

    def stream(self, request: LlmRequest) -> Iterator[StreamChunk]:
        """Return the chunks of one answer; the request is sent when the first is pulled.

        Raises:
            LlmError: at once for a wrong request or setting; other failures while iterating.
        """
        return self.prepare(request)

    def prepare(self, request: LlmRequest) -> Iterator[StreamChunk]:
        """Check the request and return its chunks; nothing is sent before the first is pulled.

        Raises:
            LlmError: for a wrong request or setting.
        """
        settings, context = self._settings, request.context
        profile, config = settings.profile, request.config
        model = profile.model(config.model)
        options = settings.options_for(model)
        dialect = find_dialect(profile.dialect)
        effort_fields = profile.effort_fields(config.reasoning_effort)
        data = dialect.write_body(request, options, effort_fields, context.diagnostics)
        url = _url(settings)
        headers = _headers(settings, request)
        key = _add_key(settings, headers)
        limits = settings.limits_for(context)
        if context.budget is None:
            context.budget = WaitBudget(limits.total_timeout)
        self._transport.check()
        own = [tool for tool in request.tools if "function" not in tool]  # the provider's to run
        secrets = secrets_of(headers, url, key, (config.extra_body, own))
        post = Post(url, headers, data, limits, secrets, profile.request_id_headers)
        decoder = dialect.make_decoder(
            options, limits, context.diagnostics, settings.json_loads, Asked.by(request)
        )
        return read_answer(self._transport, post, dialect, decoder, context)


def _url(settings: HttpSettings) -> str:
    try:
        return settings.url()
    except LlmError as error:
        refused = error.failure
    raise LlmError.from_failure(refused)  # a new error, because the old one's cause quotes the URL


def _headers(settings: HttpSettings, request: LlmRequest) -> Dict[str, str]:
    profile, config = settings.profile, request.config
    agent = f"streamcore/{__version__}"
    ours = {
        "Accept": "text/event-stream",
        "Content-Type": "application/json",
        "User-Agent": f"{settings.app} {agent}" if settings.app else agent,
    }
    ids = ((profile.session_header, config.session_id), (profile.user_header, config.user_id))
    opaque = {name: value for name, value in ids if name is not None and value is not None}
    dialect = find_dialect(profile.dialect)
    return make_headers((
        ours, dialect.headers, profile.headers, opaque, settings.headers, request.context.headers
    ))


def _add_key(settings: HttpSettings, headers: Dict[str, str]) -> str:
    """Add the key's header unless the caller set it; return the key added, or ""."""
    profile = settings.profile
    if has_header(headers, profile.key_header) or has_header(headers, "Authorization"):
        return ""  # a bearer token of the caller's stands in for a key in another header
    variables = (*settings.api_key_env, *profile.key_env)
    key, looked = find_key(settings.api_key, settings.environ, variables)
    if key is not None:
        headers[profile.key_header] = profile.key_prefix + key
    elif profile.key_required:
        text = f"no key for {profile.name}: looked in {looked}"
        raise LlmError(text, "MISSING_CREDENTIAL", phase="prepare")
    return key or ""
