"""The store of requests: kept across processes, pruned of details, never in the way."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from attrs import evolve

from tierline.context.models import ModelFacts, Prices
from tierline.session.caching.views import stats
from tierline.store.usage import BESIDE, KEEP_ALIVE, KEPT_DETAILS, StoredRequest, UsageStore

ROW = StoredRequest(
    "s", "t", 1000.0, "anthropic", "m", "hit", "none", 1000, 10, 900, 50, 0.5, 2.0,
    detail={"report": {"x": 1}},
)  # fmt: skip
FACTS = ModelFacts("m", prices=Prices(3, 15, 3.75, 6, 0.3))


def test_requests_come_back_from_disk(tmp_path: Path) -> None:
    path = tmp_path / ".tierline" / "usage.sqlite3"
    assert UsageStore(path).last("s") == []
    assert not path.exists(), "looking leaves nothing behind"
    store = UsageStore(path)
    assert store.add(ROW) == 1
    store.add(evolve(ROW, turn_id="u", outcome="miss", cause="edited", read=None, written=None))
    store.add(evolve(ROW, session_id="other"))
    store.close()
    assert path.stat().st_mode & 0o777 == 0o600
    again = UsageStore(path)
    assert again.last("s")[0].turn_id == "u"
    assert again.last("s")[0].read is None
    assert again.of_turn("t")[0].detail == {"report": {"x": 1}}
    lost = again.last_lost("s")
    assert lost is not None
    assert lost.cause == "edited"
    assert again.last_lost("other") is None
    assert [row.session_id for row in again.all()] == ["s", "s", "other"]
    assert again.kept_alive("s") == 0.0
    again.add(evolve(ROW, kind=KEEP_ALIVE, at=1250.0))
    assert again.kept_alive("s") == 1250.0
    assert again.last("s")[0].turn_id == "u", "a keep-alive request is no turn's"


def test_old_requests_lose_their_details_not_their_figures(tmp_path: Path) -> None:
    store = UsageStore(tmp_path / "usage.sqlite3")
    for number in range(KEPT_DETAILS + 5):
        store.add(evolve(ROW, turn_id=str(number)))
    assert store.of_turn("4")[0].detail == {}
    assert store.of_turn("5")[0].detail != {}
    assert len(store.all("s")) == KEPT_DETAILS + 5


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite3"
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    store = UsageStore(path)
    assert store.add(ROW) == 1
    assert (tmp_path / "usage.sqlite3.damaged-1").exists()
    store.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE request SET detail = x'00'")
    db.commit()
    db.close()
    assert UsageStore(path).last("s")[0].detail == {}


def test_sums() -> None:
    rows = [
        evolve(ROW, seq=1),
        evolve(ROW, seq=2, at=1250.0, kind=KEEP_ALIVE, input=800, read=800, cost=0.1),
        evolve(ROW, seq=3, at=1500.0, outcome="partial", cause="edited"),
        evolve(ROW, seq=3, kind=BESIDE, cost=0.25),
        evolve(ROW, seq=4, session_id="silent", read=None, written=None, cost=None,
               uncached_cost=None, outcome="unknown", cause="unreported"),
    ]  # fmt: skip
    found = stats(rows, lambda _model, _provider: FACTS, {"s": "A title"})
    silent, one = found.sessions
    assert (silent.session_id, silent.reported, silent.priced, silent.hit_rate) == (
        "silent", 0, 0, 0.0,
    )  # fmt: skip
    assert (one.title, one.requests, one.read_tokens, one.uncached_tokens) == (
        "A title", 2, 1800, 100,
    )  # fmt: skip
    assert one.hit_rate == 0.9
    assert one.cost == 1.35
    assert one.beside == 1
    assert one.saved == 2 * 1.5 - 0.1
    assert one.causes == {"edited": 1}
    assert (one.keep_alive.requests, one.keep_alive.cost) == (1, 0.1)
    assert one.keep_alive.saved == 900 * (3.75 - 0.3) / 1e6
    assert found.total.requests == 3
    assert found.total.saved == one.saved


def test_keep_alive_averts_nothing_in_a_short_pause() -> None:
    rows = [
        ROW,
        evolve(ROW, at=1200.0, kind=KEEP_ALIVE),
        evolve(ROW, at=1250.0),
    ]
    found = stats(rows, lambda _model, _provider: FACTS)
    assert found.total.keep_alive.saved == 0
