"""The providers as data: a new one is a row here, its module, and rows in the models table.

A row's module (``adapter``) is imported on first use and implements ``choice.Adapter``. Several
rows may share an adapter: they differ only in address and key.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, TypeAlias

from attrs import field, frozen

from tierline.network import host_of

Origin: TypeAlias = Literal["service", "embedded", "editor"]


@frozen
class ProviderSpec:
    """The facts of one provider. An empty field means that it has no such thing."""

    name: str
    """Its name in settings, plans and stored keys."""
    title: str
    """Its name for the user."""
    base_url: str = ""
    """Its address; empty if the SDK knows it. The user fills in parts in braces."""
    key_variable: str = ""
    """Environment variable of the key."""
    default_model: str = ""
    adapter: str = ""
    """Module in this package; also the name in plans and figures."""
    newer: str = ""
    """Another adapter, for models of the provider that work better with it or exist only there."""
    strategy: str = "openai"
    """The wire format that its messages are tagged with."""
    origin: Origin = "service"
    """service: reached by an address; embedded: our own process; editor: the client asks."""
    own_host: str = ""
    """Host of the provider's service, where the SDK knows the address."""
    prewarms: bool = False
    """Its service accepts requests for no output at all, which only refresh the cache."""
    explains_misses: bool = False
    """Its service reports why the cache missed, if it is sent the id of the previous reply. Other
    servers of the format may not know the field.
    """
    drops_bound_thinking: bool = False
    """Its service can be asked to drop thinking of another beginning of the conversation."""
    sdk: str = ""
    """Python package of its SDK."""
    url_variable: str = ""
    """Environment variable that the SDK reads another address from."""
    key_prefix: str = field(default="", repr=False)
    """Prefix of its keys."""
    model_prefix: str = ""
    """Prefix of its models' names. An address or model with it uses its format."""
    vendor: str = ""
    """The vendor (``PublicList.vendors``) of its models; empty if it serves those of many."""
    host: str = ""
    """The host whose prices hold for open-weight models (``PublicList``)."""
    key_path: str = ""
    """Path at which a key is checked if its list of models needs none."""
    compatible: bool = False
    """Other servers use its format; those often need no key."""
    own: bool = False
    """A server that users run themselves: it often needs no key, and its address may differ."""
    automatic: bool = False
    """A key in the environment is enough to choose it."""


_compatible = partial(ProviderSpec, adapter="openai", newer="responses")
"""The row of a service that speaks OpenAI's Chat Completions."""

# Addresses: each provider's page on its OpenAI-compatible interface, read in November 2026.
PRESETS = (
    _compatible(
        "openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY",
        "openrouter/auto", key_prefix="sk-or-", key_path="/key",
    ),
    _compatible(
        "gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY", "gemini-flash-latest", vendor="gemini",
    ),
    _compatible(
        "deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY",
        "deepseek-v4-flash", key_prefix="sk-", vendor="deepseek",
    ),
    _compatible(
        "mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY",
        "mistral-medium-latest", vendor="mistral",
    ),
    _compatible(
        "groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss-120b",
        key_prefix="gsk_", host="groq",
    ),
    _compatible("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.6",
                key_prefix="xai-", vendor="xai"),
    _compatible(
        "moonshot", "Moonshot (Kimi)", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY",
        "kimi-k2.6", key_prefix="sk-", vendor="moonshot",
    ),
    _compatible("zai", "Z.ai (GLM)", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", "glm-5.2",
                vendor="zai"),
    _compatible(
        "qwen", "Alibaba (Qwen)", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY", "qwen3-coder-plus", key_prefix="sk-", vendor="qwen",
    ),
    _compatible("azure", "Azure OpenAI", "https://{resource}.openai.azure.com/openai/v1",
                "AZURE_OPENAI_API_KEY", vendor="openai"),
    _compatible("together", "Together", "https://api.together.xyz/v1", "TOGETHER_API_KEY",
                host="together"),
    _compatible("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1",
                "FIREWORKS_API_KEY", host="fireworks"),
    _compatible("cerebras", "Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY",
                host="cerebras"),
    _compatible("ollama", "Ollama", "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY", own=True),
    _compatible("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", "LM_API_TOKEN", own=True),
    _compatible("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", "LLAMA_API_KEY", own=True),
    _compatible("vllm", "vLLM", "http://127.0.0.1:8000/v1", "VLLM_API_KEY", own=True),
    _compatible("litellm", "LiteLLM", "http://127.0.0.1:4000/v1", "LITELLM_API_KEY", own=True),
)  # fmt: skip
"""Popular services. Any other one is reached by its address (``provider.base_url``)."""

SPECS = (
    ProviderSpec(
        "anthropic",
        "Anthropic",
        adapter="anthropic",
        strategy="anthropic",
        default_model="claude-sonnet-5",
        key_variable="ANTHROPIC_API_KEY",
        own_host="api.anthropic.com",
        prewarms=True,
        explains_misses=True,
        drops_bound_thinking=True,
        sdk="anthropic",
        url_variable="ANTHROPIC_BASE_URL",
        key_prefix="sk-ant-",
        model_prefix="claude",
        vendor="anthropic",
        automatic=True,
    ),
    ProviderSpec(
        "openai",
        "OpenAI",
        adapter="openai",
        newer="responses",
        default_model="gpt-5.6",
        key_variable="OPENAI_API_KEY",
        own_host="api.openai.com",
        sdk="openai",
        url_variable="OPENAI_BASE_URL",
        key_prefix="sk-",
        vendor="openai",
        compatible=True,
        automatic=True,
    ),
    *PRESETS,
    ProviderSpec("local", "Embedded model", adapter="local", origin="embedded"),
    ProviderSpec("editor", "The editor's models", adapter="editor", origin="editor"),
)
_BY_NAME = {spec.name: spec for spec in SPECS}
_OFFICIAL = {
    name: row for row in SPECS if row.own_host for name in (row.adapter, row.newer) if name
}
_ELSEWHERE = ProviderSpec("", "")
NAMES = tuple(_BY_NAME)
OWN_HOSTS = frozenset({"", *(row.own_host for row in SPECS)})
"""Hosts of the providers themselves; empty where the SDK fills in the address."""
SDKS = tuple(row.sdk for row in SPECS if row.sdk)
COMPATIBLE = next(spec for spec in SPECS if spec.compatible)
"""The provider whose format is assumed for unknown servers."""


def spec(name: str) -> ProviderSpec | None:
    """The row of a provider, if there is one of that name."""
    return _BY_NAME.get(name)


def official(service: str) -> ProviderSpec:
    """The provider of this service (``Maker.service``); an empty row for other servers."""
    return _OFFICIAL.get(service, _ELSEWHERE)


def of_origin(origin: Origin) -> ProviderSpec:
    """The first row of an origin."""
    return next(row for row in SPECS if row.origin == origin)


def with_keys() -> tuple[ProviderSpec, ...]:
    """The rows of services, which need a key."""
    return tuple(row for row in SPECS if row.key_variable)


def at(base_url: str) -> ProviderSpec | None:
    """The preset with this address's host."""
    host = host_of(base_url)
    named = (row for row in PRESETS if not row.own)
    return next((row for row in named if host and host_of(row.base_url) == host), None)


def owner(model: str) -> ProviderSpec | None:
    """The provider whose ``model_prefix`` this name has."""
    rows = (row for row in SPECS if row.model_prefix)
    return next((row for row in rows if model.startswith(row.model_prefix)), None)
