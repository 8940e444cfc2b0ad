from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from tierline import config
from tierline.network import Network


def load(tmp_path: Path, **layers: object) -> tuple[config.Settings, list[config.SettingProblem]]:
    return config.load(
        tmp_path,
        editor=layers.get("editor"),  # type: ignore[arg-type]
        env=layers.get("env", {}),  # type: ignore[arg-type]
        user_file=tmp_path / "user.toml",
    )


def test_each_source_overrides_the_weaker_ones(tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text('[provider]\nname = "openai"\nmodel = "user"\nbase_url="u"')
    (tmp_path / ".tierline").mkdir()
    (tmp_path / ".tierline" / "config.toml").write_text('[cache]\npolicy = "counter"\nttl = "1h"\n')
    settings, problems = load(
        tmp_path,
        editor={
            "provider": {"model": "editor"},
            "context": {"maxInputTokens": 5000},
            "cache": {"ttl": "5m"},
        },
        env={"TIERLINE_CONTEXT_MODE": "heavy"},
    )
    assert problems == []
    assert settings.provider.name == "openai"
    assert settings.provider.base_url == "u"
    assert settings.provider.model == "editor"
    assert (settings.cache.policy, settings.cache.ttl) == ("counter", "5m")
    assert settings.context.max_input_tokens == 5000
    assert settings.context.mode == "heavy"


def test_a_bad_value_is_reported_and_the_rest_still_counts(tmp_path: Path) -> None:
    settings, problems = load(
        tmp_path,
        editor={
            "context": {"mode": "enormous", "maxInputTokens": -1, "shedAtPercent": 80},
            "cache": {"keepAlive": "yes", "policy": "counter"},
            "colour": {"of": "bikeshed"},
            "history": {"wibble": 1},
        },
    )
    assert settings.context == attrs.evolve(config.ContextConfig(), shed_at_percent=80)
    assert settings.cache.policy == "counter"
    assert settings.cache.keep_alive is True
    said = " ".join(problem.message for problem in problems)
    for word in ("context.mode", "off, light, heavy", "max_input_tokens", "[colour]", "wibble"):
        assert word in said
    assert len(problems) == 4


def test_a_broken_file_is_reported_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".tierline").mkdir()
    file = tmp_path / ".tierline" / "config.toml"
    file.write_text("this is = = not toml")
    settings, problems = load(tmp_path)
    assert settings == config.Settings()
    assert [problem.where for problem in problems] == [str(file)]
    assert file.read_text() == "this is = = not toml"


@pytest.mark.parametrize("value", [True, "12.5", 3.5, "many", None, []])
def test_whole_numbers_are_whole(tmp_path: Path, value: object) -> None:
    settings, problems = load(tmp_path, editor={"history": {"window": value}})
    assert settings.history.window == 0
    assert len(problems) == 1


def test_there_is_no_setting_for_a_key() -> None:
    names = {f.name for cls in config.SECTIONS.values() for f in attrs.fields(cls)}
    names.remove("client_key")  # the path of a file
    assert not [name for name in names if "key" in name or "secret" in name or name == "token"]


def test_a_workspace_cannot_choose_where_prompts_go(tmp_path: Path) -> None:
    (tmp_path / ".tierline").mkdir()
    (tmp_path / ".tierline" / "config.toml").write_text(
        '[provider]\nname = "openai"\nbase_url = "http://elsewhere"\n'
        '[network]\nproxy = "http://elsewhere"\n[context]\nmode = "off"\n'
    )
    settings, problems = load(tmp_path)
    assert settings.network == Network()
    assert settings.provider == config.ProviderConfig()
    assert settings.context.mode == "off"
    assert len(problems) == 3


@pytest.mark.parametrize("spelled", ["workspaceTrusted", "workspace_trusted"])
def test_the_file_of_a_workspace_that_is_not_trusted_is_not_read(
    tmp_path: Path, spelled: str
) -> None:
    (tmp_path / ".tierline").mkdir()
    file = tmp_path / ".tierline" / "config.toml"
    file.write_text('[context]\nmode = "off"\n', encoding="utf-8")
    settings, problems = load(tmp_path, editor={"tools": {spelled: False}})
    assert settings.context == config.ContextConfig()
    assert [(problem.where, "not trusted" in problem.message) for problem in problems] == [
        (str(file), True)
    ]
    settings, problems = load(tmp_path, editor={"tools": {spelled: True}})
    assert (settings.context.mode, problems) == ("off", [])
    file.unlink()
    assert load(tmp_path, editor={"tools": {spelled: False}})[1] == []
