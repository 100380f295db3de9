# SPDX-License-Identifier: MIT
"""The profiles of the package by name; each is loaded at its first look-up.

In: a provider's name. Out: its profile, from the module of the provider. Refused with
``KeyError``: an unknown name, and a provider that this copy of the package leaves out.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Iterator, Mapping

from .profile import ProviderProfile

_NAMES = {
    "hosted": (
        "openai", "deepseek", "openrouter", "groq", "mistral", "gemini", "xai", "moonshot",
        "zhipu", "zai", "dashscope", "together", "fireworks", "azure", "azure-ai-foundry",
        "perplexity", "cerebras", "huggingface", "github-copilot", "baseten", "databricks",
        "anthropic", "anthropic-oauth", "deepseek-anthropic", "moonshot-anthropic",
        "zai-anthropic", "minimax-anthropic", "dashscope-anthropic", "openrouter-anthropic",
    ),
    "local": (
        "ollama", "llama.cpp", "vllm", "lmstudio", "transformers", "openai-compatible",
        "ollama-anthropic", "llama.cpp-anthropic", "vllm-anthropic", "lmstudio-anthropic",
    ),
}

MODULES: Mapping[str, str] = {
    name: f"{folder}.{name.replace('-', '_').replace('.', '_')}"
    for folder, names in _NAMES.items() for name in names
}
"""Provider → its module in this folder, also if this copy lacks it; hosted providers first."""


class Profiles(Mapping[str, ProviderProfile]):
    """The profiles by name, read only.

    Listing the names loads no profile. The first look-up of a name loads its profile;
    ``values()`` and ``items()`` load all profiles.
    """

    def __getitem__(self, name: str) -> ProviderProfile:
        if name not in self:
            raise KeyError(name)
        profile: ProviderProfile = import_module("." + MODULES[name], __package__).PROFILE
        return profile

    def __iter__(self) -> Iterator[str]:
        return (name for name in MODULES if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        module = MODULES.get(name) if isinstance(name, str) else None
        return module is not None and find_spec("." + module, __package__) is not None


PROFILES: Mapping[str, ProviderProfile] = Profiles()
"""Every profile of the package by its name, hosted providers first; read only."""
