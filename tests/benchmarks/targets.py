"""What the benchmarks have to reach, and where in their figures to look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

Figures: TypeAlias = Mapping[str, Any]
GIGABYTE_LOG_MB = 1000
MANY_FILES = 100_000
SESSIONS = 30
"""Recorded sessions that the targets are for."""


@frozen
class Target:
    """One limit. ``unit`` is empty for ratios."""

    benchmark: str
    text: str
    limit: float
    unit: str
    figure: Callable[[Figures], float]
    at_most: bool = True
    """False: at least."""
    comparable: Callable[[Figures], bool] = lambda _figures: True
    """False if this run was smaller than what the limit is for."""

    def words(self) -> str:
        """``at most 400 ms``."""
        return f"{'at most' if self.at_most else 'at least'} {show(self.limit, self.unit)}"


@frozen
class Verdict:
    """A target and what was measured; ``value`` is None if the figures do not hold it."""

    target: Target
    value: float | None
    comparable: bool

    @property
    def reached(self) -> bool:
        """Whether the figure is within the limit, whatever the size of the run."""
        if self.value is None:
            return False
        limit = self.target.limit
        return self.value <= limit if self.target.at_most else self.value >= limit

    @property
    def missed(self) -> bool:
        """A run of any size that is too slow counts; a small one that is fast proves nothing."""
        return not self.reached

    def words(self) -> str:
        """One word or a few for the table."""
        if self.value is None:
            return "**not measured**"
        if self.missed:
            return "**missed**"
        return "reached" if self.comparable else "reached, in a smaller run than the target's"


def show(value: float, unit: str) -> str:
    """A figure with three or four digits that matter."""
    digits = 0 if abs(value) >= 100 or float(value).is_integer() else 2 if abs(value) >= 0.1 else 4
    return f"{value:,.{digits}f} {unit}".strip()


def _main_size(figures: Figures) -> Any:
    return next(row for row in figures["assemble"] if row["files"] == 200)


def _gigabyte(figures: Figures) -> bool:
    return bool(figures["log_mb"] >= GIGABYTE_LOG_MB and figures["sessions"] >= 10_000)


def _history(text: str, name: str, limit: float, unit: str = "ms", at_most: bool = True) -> Target:
    return Target(
        "history_scale",
        text,
        limit,
        unit,
        lambda figures: float(figures[name]),
        at_most=at_most,
        comparable=_gigabyte,
    )


def _asked(when: str, name: str) -> Target:
    return Target(
        "monorepo",
        f"Requests there {when}, but for waiting for a processor (worst p99)",
        100,
        "ms",
        lambda f: f[name],
        comparable=lambda f: f["files"] >= MANY_FILES,
    )


TARGETS = (
    Target(
        "initialize", "`initialize` is answered, from the start of the process (median)", 400, "ms",
        lambda f: f["initialize_ms"]["median"],
    ),
    Target(
        "initialize", "The same, time of the processor (median)", 400, "ms",
        lambda f: f["cpu_ms"]["median"],
    ),
    Target(
        "server_memory", "Memory of the server without the embedded model (peak)", 120, "MB",
        lambda f: f["peak_mb"],
    ),
    Target(
        "plan_assemble", "Plan to rendered body: 200 files, 2,000 messages, 500,000 tokens (p95)",
        30, "ms", lambda f: _main_size(f)["total_p95"],
    ),
    Target(
        "plan_assemble", "The same, time of the processor (p95)", 30, "ms",
        lambda f: _main_size(f)["cpu_p95"],
    ),
    Target(
        "plan_assemble",
        "Growth of the processor's time from the smallest to the largest session, against linear",
        1.25, "", lambda f: f["growth_relative_to_linear"],
        comparable=lambda f: len(f["assemble"]) > 1,
    ),
    Target(
        "plan_assemble", "Counting an edited file of 1 MB (p95)", 60, "ms",
        lambda f: f["count"]["edited_p95_ms"],
    ),
    Target(
        "plan_assemble", "Counting an unchanged file of 1 MB (p95)", 0.1, "ms",
        lambda f: f["count"]["unchanged_p95_ms"],
    ),
    _history("Listing all sessions of a log of 1 GB", "list_all_ms", 100),
    _history("Listing the newest 50 sessions", "list_50_ms", 100),
    _history("Loading the newest session", "load_newest_ms", 150),
    _history("Searching (p95)", "search_p95_ms", 100),
    _history("Building the index", "rebuild_mb_per_s", 20, "MB/s", at_most=False),
    Target(
        "cache_cost", "Cost of the log-structured policy over the lower bound (median)", 1.10, "",
        lambda f: f["log_structured_median"],
    ),
    Target(
        "cache_cost", "The same for the worst kind of session", 1.20, "",
        lambda f: f["log_structured_worst"],
    ),
    Target(
        "cache_cost", "Cost of `counter` over the log-structured policy, edit-heavy", 1.8, "",
        lambda f: f["counter_over_log_structured_edit_heavy"], at_most=False,
    ),
    Target(
        "cache_server", "Cost through the whole server over the lower bound (median)", 1.10, "",
        lambda f: f["median"],
    ),
    Target(
        "cache_server", "The same for the worst kind of session", 1.20, "", lambda f: f["worst"]
    ),
    Target(
        "segmentation", "Topic boundaries in programming chats: Pk relative to TextTiling's",
        0.8, "", lambda f: f["pk_ratio"],
    ),
    Target(
        "segmentation", "Topic boundaries: processor time for a message", 5, "ms",
        lambda f: f["ms_per_message"],
    ),
    Target(
        "retrieval", "Ranked retrieval over plain BM25: difference in recall@5", 0.05, "",
        lambda f: f["ranked_minus_bm25_at_5"], at_most=False,
        comparable=lambda f: f["conversations"] >= 12,
    ),
    Target(
        "retrieval", "The same in recall@10", 0.05, "",
        lambda f: f["ranked_minus_bm25_at_10"], at_most=False,
        comparable=lambda f: f["conversations"] >= 12,
    ),
    Target(
        "symbols_scale", "Symbol index of 10,000 files, cold", 60, "s",
        lambda f: f["cold_seconds"], comparable=lambda f: f["files"] >= 10_000,
    ),
    Target(
        "symbols_scale", "The same, time of its processor", 60, "s",
        lambda f: f["cold_cpu_seconds"], comparable=lambda f: f["files"] >= 10_000,
    ),
    Target(
        "symbols_scale", "Symbol index after one edit, from the watcher's message (median)", 300,
        "ms", lambda f: f["edit_ms"]["median"], comparable=lambda f: f["files"] >= 10_000,
    ),
    Target(
        "symbols_scale", "Budget requests while the index is built (p99)", 50, "ms",
        lambda f: f["budget_ms"]["p99"], comparable=lambda f: f["files"] >= 10_000,
    ),
    Target(
        "symbols_scale", "Chat requests while the index is built (p99)", 50, "ms",
        lambda f: f["chat_ms"]["p99"], comparable=lambda f: f["files"] >= 10_000,
    ),
    Target(
        "symbols_scale", "Memory of the index's process (peak)", 400, "MB",
        lambda f: f["index_peak_mb"], comparable=lambda f: f["files"] >= 10_000,
    ),
    Target(
        "monorepo", "Memory of all processes in a workspace of 100,000 files (peak)", 500, "MB",
        lambda f: f["all_peak_mb"], comparable=lambda f: f["files"] >= MANY_FILES,
    ),
    Target(
        "monorepo", "Files of it that are left out of the index", 0, "",
        lambda f: sum(one["files"] for one in f["skipped"]),
        comparable=lambda f: f["files"] >= MANY_FILES,
    ),
    _asked("while the index is built", "worst_own_p99_ms_indexing"),
    _asked("at rest", "worst_own_p99_ms_at_rest"),
    _asked("in a branch switch", "worst_own_p99_ms_switching"),
    Target(
        "years", "Listing 50 of 20,000 sessions (median)", 100, "ms",
        lambda f: f["server"]["list 50"]["median"], comparable=lambda f: f["sessions"] >= 20_000,
    ),
    Target(
        "years", "Reading one of them (median)", 100, "ms",
        lambda f: f["server"]["read"]["median"], comparable=lambda f: f["sessions"] >= 20_000,
    ),
    Target(
        "years", "Memory of the server with them (peak)", 300, "MB",
        lambda f: f["server_peak_mb"], comparable=lambda f: f["sessions"] >= 20_000,
    ),
    Target(
        "retrieval_commits", "Commits of which a touched file is among the first 10, against BM25",
        0.0, "", lambda f: f["ranked_map"]["hit@10"] - f["BM25"]["hit@10"], at_most=False,
        comparable=lambda f: f["commits"] >= 150,
    ),
    Target(
        "cache_local", "Tokens that the embedded model computes: log-structured over fixed order",
        0.4, "",
        lambda f: f["log_structured"]["computed_tokens"] / f["fixed"]["computed_tokens"],
    ),
    Target(
        "cache_local", "Time to its first token: log-structured over fixed order", 0.5, "",
        lambda f: f["log_structured_over_fixed"],
    ),
    Target(
        "load", "A request beside 20 edits a second in 50 documents and a chat (p99)", 100, "ms",
        lambda f: f["p99_ms"],
    ),
    Target(
        "load", "Events that were lost or out of order", 0, "",
        lambda f: f["events_lost_or_out_of_order"],
    ),
    Target(
        "load", "Memory at the end of an hour's events over that after its first minutes", 5, "%",
        lambda f: f["hour"]["growth_percent"],
    ),
    Target(
        "real_sessions", "Recorded sessions: cost over the bound (median)", 1.15, "",
        lambda f: f["over_bound_median"], comparable=lambda f: f["sessions"] >= SESSIONS,
    ),
    Target(
        "real_sessions", "Recorded sessions that every other arrangement makes dearer", 90, "%",
        lambda f: 100 * f["cheaper_than_all_share"], at_most=False,
        comparable=lambda f: f["sessions"] >= SESSIONS,
    ),
    Target(
        "real_sessions", "The same, or costing the same within half a percent", 90, "%",
        lambda f: 100 * f["cheaper_or_the_same_share"], at_most=False,
        comparable=lambda f: f["sessions"] >= SESSIONS,
    ),
    Target(
        "real_sessions", "Outdated text in the worst request of all", 15, "%",
        lambda f: 100 * f["outdated_worst"], comparable=lambda f: f["sessions"] >= SESSIONS,
    ),
    Target(
        "real_sessions", "Whose sessions they are: people", 10, "", lambda f: f["people"],
        at_most=False,
    ),
    Target(
        "real_sessions", "Requests refused in them", 0, "", lambda f: f["refused"],
    ),
    Target(
        "compaction_loss", "Questions that are still answerable after compaction", 90, "%",
        lambda f: 100 * f["extract"]["with"], at_most=False,
    ),
    Target(
        "compaction_loss", "The same with levels of summaries", 90, "%",
        lambda f: 100 * f["levels"]["with"], at_most=False,
    ),
)  # fmt: skip


def judge(results: Mapping[str, Figures]) -> list[Verdict]:
    """Verdicts on the targets of the benchmarks that ran, in the order of ``TARGETS``."""
    verdicts = []
    for target in TARGETS:
        if target.benchmark not in results:
            continue
        figures = results[target.benchmark]
        try:
            verdicts.append(
                Verdict(target, float(target.figure(figures)), target.comparable(figures))
            )
        except (KeyError, StopIteration, TypeError):
            verdicts.append(Verdict(target, None, False))
    return verdicts
