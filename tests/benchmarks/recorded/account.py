"""What a session that was lived through cost, against its bound and other arrangements, and how
much of what was sent was out of date.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Mapping
from typing import Any

from benchmarks.cache_bound import Bound
from benchmarks.cache_simulator import CacheSimulator
from benchmarks.recorded.arrangements import IDEAL, NAMES, Others
from benchmarks.recorded.parts import outdated, parts, updates
from benchmarks.recorded.replay import Played

LIFETIMES = ("5m", "1h")
_SECRET = re.compile(r"\[redacted:[^\]\n]{1,60}\]")


def account(played: Played) -> dict[str, Any]:
    """The figures of one session. Tokens are bytes by four, costs in input tokens' price."""
    cache, bound, others = CacheSimulator(), Bound(), Others(played.recording.files)
    known = frozenset(path for sent in played.sent for path in sent.files)
    cost = read = total = plain = 0.0
    shares: list[float] = []
    left: list[float] = []
    differences: list[int] = []
    stale_files: list[str] = []
    faults: list[str] = []
    summaries = iter(played.summaries)
    waiting = next(summaries, None)
    for number, sent in enumerate(played.sent):
        while waiting is not None and waiting[1] < sent.at:
            cost += cache.send(waiting[0], waiting[1]).cost
            waiting = next(summaries, None)
        outcome = cache.send(sent.body, sent.at)
        cost, read, total = cost + outcome.cost, read + outcome.read, total + outcome.total
        plain += outcome.total
        found = parts(sent.body, known)
        faults += found.faults
        stale_files += [
            f"request {number}: {path}"
            for path, text in found.files.items()
            if path in sent.files and not same(text, sent.files[path])
        ]
        own = {path: f"use:{use}" for path, use in sent.own.items() if f"use:{use}" in found.talk}
        bound.request(sent.at, found.talk, sent.files, own, found.held)
        wrote = {path for path, text in sent.files.items() if written(text, found.held.get(path))}
        others.request(sent.body, found.newest, sent.files, sent.own, sent.at, found.front, wrote)
        old, gone = outdated(found)
        shares.append((old + gone) / max(found.total, 1.0))
        left.append(gone / max(found.total, 1.0))
        differences += updates(found).values()
    least = bound.cost(LIFETIMES)
    recording = played.recording
    return {
        "format": recording.format,
        "turns": len(recording.turns),
        "requests": len(played.sent),
        "tokens": round(total / max(len(played.sent), 1)),
        "over_bound": round(cost / least, 3),
        "cost": round(cost),
        "others": {name: round(others.costs[name] / cost, 3) for name in NAMES},
        "ideal": round(others.costs[IDEAL] / cost, 3),
        "read": round(read / total, 3),
        "others_read": {n: round(others.read[n] / others.total[n], 3) for n in NAMES},
        "outdated_mean": round(statistics.fmean(shares), 4),
        "outdated_worst": round(max(shares), 4),
        "left_mean": round(statistics.fmean(left), 4),
        "differences": differences,
        "estimate_error": [round(error, 1) for error in played.estimates],
        "turn_ms": [round(1000 * seconds) for seconds in played.seconds],
        "disk": played.disk,
        "said": played.texts,
        "refused": len(played.refused),
        "failed": played.failed,
        "wrong": stale_files + faults,
    }


def written(text: str, held: Mapping[str, Collection[str]] | None) -> bool:
    """Whether the model's calls that are sent have every line of a text."""
    calls = (lines for key, lines in (held or {}).items() if key.startswith("use:"))
    return set(text.splitlines()) <= {line for lines in calls for line in lines}


def same(shown: str, real: str) -> bool:
    """Whether a text is shown as it is, but for secrets, which are masked before it is sent."""
    if shown == real or "[redacted:" not in shown:
        return shown == real
    parts = map(re.escape, _SECRET.split(shown))
    return re.fullmatch(r"\S.*?".join(parts), real, re.DOTALL) is not None
