"""What other pages quote of the kept runs, so that no page tells of another run than the next one.

A page marks the place, ``<!-- measured: NAME -->`` to ``<!-- /measured -->``; what is between is
written anew with docs/benchmarks.md, and the plots in docs/images are drawn from the same figures.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.cache_plot import bars, lines
from benchmarks.report import grid

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/tiers.md", "docs/retrieval.md")
PLACE = re.compile(r"(?<=<!-- measured: )(\w+)( -->\n).*?(?=<!-- /measured -->)", re.DOTALL)
POLICIES = {"fixed": "fixed order", "counter": "counter", "log_structured": "log-structured"}
COUNTER = "counter_over_log_structured_edit_heavy"
COSTS = ("no cache", "fixed order", "append-only", "counter", "log-structured")
KINDS = ("typical", "edit-heavy", "read-mostly", "long", "often cold", "many files", "git")

Runs = Mapping[str, Mapping[str, Any]]


def quoted(text: str, results: Runs) -> str:
    """A page with its marked places written from the figures.

    Raises:
        KeyError: A place that nothing is written for, or a benchmark that has no run.
    """
    return PLACE.sub(lambda m: f"{m[1]}{m[2]}{QUOTES[m[1]](results)}", text)


def plots(results: Runs) -> dict[str, str]:
    """SVG by path of the picture, of the runs that there are."""
    drawn = {}
    if cost := results.get("cache_cost"):
        drawn["docs/images/cache-cost.svg"] = bars(_ratios(cost), COSTS)
    if local := results.get("cache_local"):
        drawn["docs/images/cache-local.svg"] = _turns_plot(local["turns"])
    return drawn


def written(results: Runs, root: Path = ROOT) -> dict[Path, str]:
    """Everything that quotes, as it has to be."""
    pages = {p: quoted((root / p).read_text(encoding="utf-8"), results) for p in PAGES}
    return {root / path: text for path, text in {**pages, **plots(results)}.items()}


def _turns_plot(turns: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [turns[number] for number in sorted(turns, key=int)]
    seconds = {name: [r[f"{key}_ms"] / 1000 for r in rows] for key, name in POLICIES.items()}
    shares = {
        name: [100 * r[f"{key}_cached"] / r[f"{key}_input"] for r in rows]
        for key, name in POLICIES.items()
    }
    return lines(
        "Twelve turns with edits, embedded model",
        [("Seconds to the first token", seconds), ("Input read from the cache, %", shares)],
        [row["edited"] for row in rows],
    )


def _gains(results: Runs) -> str:
    local, cost = results["cache_local"], results["cache_cost"]["ratios"]["edit-heavy"]
    first = (local[key]["first_token_sum_ms"] / 1000 for key in POLICIES)
    rows = [
        ["Read from the cache, twelve turns with edits, embedded model",
         *(f"{local[key]['cached_share']:.0%}".replace("%", " %") for key in POLICIES)],
        ["Waiting for the first tokens of the eleven turns after the first",
         *(f"{seconds:.0f} s" for seconds in first)],
        ["Cost of edit-heavy sessions, as a multiple of what they must cost at least",
         *(f"{cost[name]:.2f}" for name in POLICIES.values())],
    ]  # fmt: skip
    head = ("", "one fixed order", "turn counters", "Tierline")
    return grid(head, rows).replace("| --- | --- | --- | --- |", "| --- | ---: | ---: | ---: |")


def _cost(results: Runs) -> str:
    cost = results["cache_cost"]
    ratios = _ratios(cost)
    rows = [[kind, *(by[name] for name in COSTS)] for kind, by in ratios.items()]
    targets = cost["targets"]
    median, worst = cost["log_structured_median"], cost["log_structured_worst"]
    heavy = cost[COUNTER]
    least, worst_kind = targets[COUNTER], cost["log_structured_worst_kind"]
    verdicts = [
        ["log-structured, median over the kinds", targets["median"], median,
         _yes(median <= targets["median"])],
        [f"log-structured, worst kind ({worst_kind})", targets["worst"], worst,
         _yes(worst <= targets["worst"])],
        ["counter over log-structured, edit-heavy, at least", least, heavy, _yes(heavy >= least)],
    ]  # fmt: skip
    return "\n".join((
        _filled(
            f"Median over {cost['sessions']} sessions with {cost['requests']:,} requests: "
            f"{cost.get('seeds', 6)} of each generated kind, and {cost['real_sessions']} stretches "
            "of Tierline's own git history, each commit a turn with the commit's changes made by "
            "others before it."
        ),
        grid(("sessions", *COSTS), rows),
        grid(("cost over the bound", "target", "measured", "reached"), verdicts),
        f"The dearest single session is {max(cost['dearest_session'].values()):.2f}.\n",
        "Rewrites in a session; how many of them come when nothing is cached any more; the share "
        "of its\nthinking that one of them takes away sooner or later; the share of the newest "
        "five turns' thinking\nthat a request has; the same with a lifetime chosen as by default; "
        "and cost over the bound if cards, memos\nand selections left with the next prompt:\n",
        grid(("sessions", "rewrites", "of them cold", "lost in the end", "newest there",
              "rewrites (auto)", "lost (auto)", "newest (auto)", "notes leave"), [
            [kind, row["rewrites"], row.get("cold", "-"), row["thinking_lost"],
             row.get("recent_thinking", "-"), row["auto_rewrites"], row["auto_thinking_lost"],
             row.get("auto_recent_thinking", "-"), cost["notes"][kind]["leave"]]
            for kind, row in cost.get("rewrites", {}).items()
        ]),
    ))  # fmt: skip


def _ratios(cost: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """In the order in which they are told; kept runs are sorted by letters."""
    kinds = sorted(cost["ratios"], key=KINDS.index)
    return {kind: {name: cost["ratios"][kind][name] for name in COSTS} for kind in kinds}


def _yes(reached: bool) -> str:
    return "yes" if reached else "**no**"


def _local(results: Runs) -> str:
    local = results["cache_local"]
    share = {key: f"{100 * local[key]['cached_share']:.0f} %" for key in POLICIES}
    first = {key: f"{local[key]['first_token_sum_ms'] / 1000:.0f}" for key in POLICIES}
    return _filled(
        f"After the first turn, {share['log_structured']} of the input came from the cache with "
        f"the log-structured policy, {share['counter']} with `counter` and {share['fixed']} with "
        f"one fixed order. The eleven first tokens took {first['log_structured']} seconds "
        f"together, against {first['counter']} and {first['fixed']} ([benchmarks](benchmarks.md) "
        "has every turn, and how busy the machine was)."
    )


def commits_table(figures: Mapping[str, Any]) -> str:
    """Share of commits with a touched file among the first five / ten, by source and ranking."""
    rankings = ("ranked map", "map, edited", "in the prompt", "BM25", "random")
    rows = [
        [row["source"], row["commits"], row["files"] or "",
         *(f"{row[f'{name} hit@5']:.2f} / {row[f'{name} hit@10']:.2f}" for name in rankings)]
        for row in figures["by_source"]
    ]  # fmt: skip
    heads = ("ranked map", "knowing the last ten files touched", "in the prompt's cards",
             "BM25 over paths and contents", "chance")  # fmt: skip
    return grid(("source", "commits", "files", *heads), rows)


def _commits(results: Runs) -> str:
    told = results["retrieval_commits"]
    shown = {"ranked_map": "the map", "map,_edited": "the map with edits", "BM25": "BM25",
             "random": "chance"}  # fmt: skip
    five, ten = (
        ", ".join(f"{told[key][f'recall@{k}']:.2f} for {name}" for key, name in shown.items())
        for k in (5, 10)
    )
    return "\n".join((
        _filled(
            f"{told['commits']} commits of {told['sources']} repositories in one run: this one, "
            "and the upstream commits that Debian source packages carry as patches. Each cell: "
            "share of commits with a touched file among the first five / ten."
        ),
        commits_table(told),
        _filled(f"Mean share of touched files among the first five: {five}; the first ten: {ten}."),
    ))  # fmt: skip


def _filled(sentences: str) -> str:
    return textwrap.fill(sentences, 105, break_long_words=False, break_on_hyphens=False) + "\n"


QUOTES: Mapping[str, Callable[[Runs], str]] = {
    "gains": _gains,
    "cost": _cost,
    "local": _local,
    "commits": _commits,
}
