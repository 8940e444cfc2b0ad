"""What was learnt of servers: kept whole, shared between processes, forgotten in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tierline.session.profiles import ServerProfiles

URL = "http://127.0.0.1:1/v1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "profiles.json"


def test_what_was_learnt_is_known_to_another_process_at_once(file: Path) -> None:
    one, other = ServerProfiles(file), ServerProfiles(file)
    assert other.of(URL, "m").tools
    one.learn(URL, "m", {"tools": False}, "no tools")
    one.learn(URL, "m", {"without": ("a",)}, "no a")
    other.learn(f"{URL}/", "m", {"without": ("b",)}, "no b")
    for store in (one, other, ServerProfiles(file)):
        profile = store.of(URL, "m")
        assert (profile.tools, set(profile.without)) == (False, {"a", "b"})
        assert store.of(URL, "n").tools and store.of("http://127.0.0.1:2/v1", "m").tools
    assert [one.reasons for one in other.learnt()] == [("no tools", "no a", "no b")]
    assert file.stat().st_mode & 0o077 == 0


def test_it_is_forgotten_after_a_month(file: Path) -> None:
    now = [1_000_000.0]
    store = ServerProfiles(file, lambda: now[0])
    store.learn(URL, "m", {"tools": False}, "no tools")
    now[0] += 29 * 86_400
    assert not store.of(URL, "m").tools
    now[0] += 2 * 86_400
    assert store.of(URL, "m").tools and store.learnt() == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"profiles": 3}',
        '{"profiles": [3, {"model": "m"}]}',
        json.dumps(
            {
                "profiles": [
                    {
                        "base_url": URL,
                        "model": "m",
                        "fields": {"tools": "no", "without": 3, "window": "x", "other": 1},
                        "reasons": [],
                        "at": 9e12,
                    }
                ]
            }
        ),
    ],
)
def test_a_damaged_file_costs_nothing_but_what_was_in_it(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    store = ServerProfiles(file)
    assert store.of(URL, "m").tools
    store.learn(URL, "m", {"tools": False}, "no tools")
    assert not ServerProfiles(file).of(URL, "m").tools


def test_a_smaller_window_that_the_server_tells_counts(file: Path) -> None:
    store = ServerProfiles(file)
    store.learn(URL, "m", {"window": 8192}, "8,192")
    store.told(URL, "m", {"window": 4096})
    assert store.of(URL, "m").window == 4096
    store.told(URL, "m", {"window": 131_072})
    assert store.of(URL, "m").window == 8192


def test_what_a_service_documents_need_not_be_learnt(file: Path) -> None:
    known = ServerProfiles(file)
    assert known.of("https://api.mistral.ai/v1", "devstral-medium").call_ids == 9
    assert known.of(URL, "devstral-medium").call_ids == 0
