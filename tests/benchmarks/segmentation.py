"""Topic segmentation: the local boundary detector beside TextTiling, on five sets.

    python tests/benchmarks/segmentation.py           # measure
    python tests/benchmarks/segmentation.py --fit     # fit the detector's weights anew, print them

Pk, WindowDiff (both: lower is better) and F1 of exact boundaries, in turns. The weights were fitted
on the first half of the real chats (in time); everything that is measured here lies in the second
half, or was not used at all. TextTiling gets the same words (stems without stop-words),
and of six variants (block size, cut) the one that turns out best on each set, which is more than it
could know. NLTK's TextTiling works on running text and is slow, so it runs on two sets only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from benchmarks import dialogues, segment_metrics
from benchmarks.dialogues import Dialogue
from tierline.context.blocks import Text
from tierline.history.boundaries import local
from tierline.history.boundaries.signs import stems, turns
from tierline.history.messages import Message

Segmenter: TypeAlias = Callable[[Dialogue], set[int]]
NOTE = """\
The usual sets for dialogue segmentation could not be downloaded here, so these figures cannot be
compared with published ones. *Real chats*: the chat history
of a programming assistant's own author, from that project's source distribution; a boundary is
where the user began a new chat or cleared the old one, which is not always a new topic.
*Shuffled*: the same chats in random order, so that the joins are known (semi-synthetic). *By
hand*: chats written for this test by the detector's author. *Small talk*: a corpus of pairs by
category, joined by us. The weights were fitted on earlier real chats and on other categories of
small talk. TextTiling's figures are those of the best of six variants for each set, chosen in
hindsight.
"""
SHUFFLES = 5
"""How often chats are laid end to end in another order."""
WITH_NLTK = ("real chats in order", "written by hand")
SEGMENTS_AT = 0.4
"""Probability from which a place begins a topic, where it is higher than its neighbours'."""
SINGLES = 2.0
"""Weight of single chats when fitting."""


def messages(dialogue: Dialogue) -> list[Message]:
    """The dialogue as the product holds it."""
    made: list[Message] = []
    for number, (prompt, reply) in enumerate(dialogue[0]):
        group = f"g{number}"
        made.append(Message(f"{group}q", "s", group, "", "user", (Text(prompt),)))
        made.append(Message(f"{group}a", "s", group, "", "assistant", (Text(reply),)))
    return made


def halves() -> tuple[list[Dialogue], list[Dialogue]]:
    """The real chats in order: the earlier half for fitting, the later half for measuring."""
    found = dialogues.sessions()
    return found[: len(found) // 2], found[len(found) // 2 :]


def shuffled(found: Sequence[Dialogue], seed: int) -> list[Dialogue]:
    """The same chats in other orders, so that neighbours come from different weeks."""
    rng = random.Random(seed)
    chats = [chat for dialogue in found for chat in _parts(dialogue)]
    made = []
    for _ in range(SHUFFLES):
        rng.shuffle(chats)
        size = dialogues.SEGMENTS
        made += [dialogues.join(chats[i : i + size]) for i in range(0, len(chats) - size + 1, size)]
    return made


def _parts(dialogue: Dialogue) -> list[list[dialogues.Turn]]:
    talk, starts = dialogue
    edges = [0, *sorted(starts), len(talk)]
    return [talk[a:b] for a, b in itertools.pairwise(edges)]


# --- methods -------------------------------------------------------------------------------------


def ours(dialogue: Dialogue) -> set[int]:
    """The local detector: all places at which a topic begins, by turns. Topics have two turns or
    more: of neighbouring places only the more probable one counts.
    """
    found = local.gaps(messages(dialogue))
    values = [gap.probability for gap in found]
    return {
        gap.place // 2
        for i, gap in enumerate(found)
        if gap.probability >= SEGMENTS_AT and gap.probability >= max(values[max(0, i - 1) : i + 2])
    }


def tiling(block: int, conservative: bool) -> Segmenter:
    """TextTiling over turns."""

    def find(dialogue: Dialogue) -> set[int]:
        texts = [stems(f"{prompt} {reply}") for prompt, reply in dialogue[0]]
        return set(segment_metrics.text_tiling(texts, block=block, conservative=conservative))

    return find


def best_tiling(found: Sequence[Dialogue]) -> dict[str, float]:
    """The figures of the variant (block size, cut) that turns out best on a set."""
    variants = [tiling(block, careful) for block in (1, 2, 3) for careful in (False, True)]
    return min((measure(found, t) for t in variants), key=lambda row: row["pk"])


def nltk_tiling(dialogue: Dialogue) -> set[int]:
    """TextTiling as NLTK has it, its paragraph breaks between turns."""
    from nltk.tokenize import TextTilingTokenizer

    flat = [" ".join(f"{prompt} {reply}".split()) for prompt, reply in dialogue[0]]
    text = "\n\n" + "\n\n".join(flat)
    starts, place = [], 0
    for turn in flat:
        starts.append(place + 2)
        place += 2 + len(turn)
    try:
        tiles = TextTilingTokenizer(w=20, k=6, stopwords=["the", "a", "of"]).tokenize(text)
    except ValueError:  # it refuses texts that are too short
        return set()
    edges, place = [], 0
    for tile in tiles[:-1]:
        place += len(tile)
        edges.append(place)
    found = {min(range(len(starts)), key=lambda i: abs(starts[i] - 2 - edge)) for edge in edges}
    return found - {0}


def every(step: int) -> Segmenter:
    """A boundary after every ``step`` turns: what knowing only the mean length is worth."""
    return lambda dialogue: set(range(step, len(dialogue[0]), step))


def measure(found: Sequence[Dialogue], segmenter: Segmenter) -> dict[str, float]:
    """Mean Pk and WindowDiff over dialogues, F1 over all boundaries, milliseconds a message."""
    before = time.process_time()
    guesses = [segmenter(dialogue) for dialogue in found]
    spent = time.process_time() - before
    scores = [
        (
            segment_metrics.pk(gold, guess, len(talk)),
            segment_metrics.window_diff(gold, guess, len(talk)),
        )
        for (talk, gold), guess in zip(found, guesses, strict=True)
    ]
    precision, recall, both = segment_metrics.f1(
        (gold, guess) for (_, gold), guess in zip(found, guesses, strict=True)
    )
    return {
        "pk": sum(a for a, _ in scores) / len(scores),
        "window_diff": sum(b for _, b in scores) / len(scores),
        "precision": precision,
        "recall": recall,
        "f1": both,
        "ms": 1000 * spent / sum(2 * len(talk) for talk, _ in found),
    }


# --- fitting -------------------------------------------------------------------------------------


def fit(rounds: int = 2500, rate: float = 0.5, decay: float = 0.003) -> list[float]:
    """Logistic regression by gradient descent on the earlier half: in order, in other orders, whole
    and cut short, and single chats in which nothing is to be found; and on half of the small talk.
    """
    import numpy

    early, _ = halves()
    mixed = shuffled(early, 1)
    small = [dialogue for seed in range(SHUFFLES) for dialogue in dialogues.joined(0, seed)]
    rows: list[tuple[float, ...]] = []
    labels: list[float] = []
    weights: list[float] = []
    for found, weight in (
        (early, 1.0),
        (mixed, 2.0 / SHUFFLES),
        ([_cut(d) for d in early], 0.5),
        ([_cut(d) for d in mixed], 1.5 / SHUFFLES),
        (singles(early), SINGLES),
        ([_cut(d) for d in singles(early)], SINGLES / 2),
        (small, 0.5 / SHUFFLES),
    ):
        for dialogue in found:
            vectors = local.features(turns(messages(dialogue)))
            rows += vectors
            labels += [float(i in dialogue[1]) for i in range(1, len(vectors) + 1)]
            weights += [weight] * len(vectors)
    x, y, w = numpy.array(rows), numpy.array(labels), numpy.array(weights)
    beta = numpy.zeros(x.shape[1])
    for _ in range(rounds):
        slope = x.T @ (w * (1 / (1 + numpy.exp(-x @ beta)) - y)) / w.sum()
        slope[1:] += decay * beta[1:]
        beta -= rate * slope
    return [round(float(value), 2) for value in beta]


def singles(found: Sequence[Dialogue], least: int = 4) -> list[Dialogue]:
    """Single chats of ``least`` turns and more: there is no boundary in them."""
    return [(part, set()) for d in found for part in _parts(d) if len(part) >= least]


def _cut(dialogue: Dialogue) -> Dialogue:
    """Prompts and replies as short as people write them elsewhere."""
    return [(prompt[:140], reply[:180]) for prompt, reply in dialogue[0]], dialogue[1]


# --- the run -------------------------------------------------------------------------------------


def main() -> dict[str, Any]:
    """All methods on all sets that can be had."""
    sets: dict[str, list[Dialogue]] = {}
    missing: list[str] = []
    try:
        _, late = halves()
        sets["real chats in order"] = late
        sets["real chats, shuffled"] = shuffled(late, 2)
    except OSError as error:
        missing.append(str(error))
    sets["written by hand"] = dialogues.hand()
    sets["by hand, shuffled"] = shuffled(dialogues.hand(), 3)
    try:
        sets["small talk, joined"] = [
            dialogue for seed in range(SHUFFLES) for dialogue in dialogues.joined(1, seed)
        ]
    except OSError as error:
        missing.append(str(error))
    result: dict[str, Any] = {"missing": missing, "sets": {}}
    for name, found in sets.items():
        turns_in = sum(len(talk) for talk, _ in found)
        joins = sum(len(gold) for _, gold in found)
        rows = {
            "local detector": measure(found, ours),
            "TextTiling": best_tiling(found),
            "a boundary every n turns": measure(
                found, every(round(turns_in / (joins + len(found))))
            ),
            "no boundaries": measure(found, lambda _: set()),
        }
        if name in WITH_NLTK:
            try:
                rows["TextTiling (NLTK)"] = measure(found, nltk_tiling)
            except ImportError:
                missing.append("NLTK is not installed")
        result["sets"][name] = {
            "dialogues": len(found),
            "turns": turns_in,
            "boundaries": joins,
            "methods": rows,
        }
    try:
        alone = singles(halves()[1])
        sure = [local.detect(messages(d)).confidence for d in alone]
        result["single_chats"] = len(alone)
        result["false_alarms"] = sum(value >= 0.5 for value in sure)
        pairs = [dialogues.join([a[0], b[0]]) for a, b in itertools.pairwise(alone)]
        hits = [local.detect(messages(d)) for d in pairs]
        right = [
            hit.sure and (hit.boundary_index or 0) // 2 in gold
            for hit, (_, gold) in zip(hits, pairs, strict=True)
        ]
        result["pairs"] = len(pairs)
        result["pairs_found"] = sum(right)
        result["pairs_wrong"] = sum(hit.sure for hit in hits) - sum(right)
    except OSError:
        pass
    result["ms_per_message"] = max(
        r["methods"]["local detector"]["ms"] for r in result["sets"].values()
    )
    programming = [r["methods"] for name, r in result["sets"].items() if "talk" not in name]
    result["pk_ratio"] = sum(m["local detector"]["pk"] for m in programming) / sum(
        m["TextTiling"]["pk"] for m in programming
    )
    return result


def table(result: dict[str, Any]) -> str:
    """Markdown."""
    lines = [
        NOTE,
        "| set | method | Pk | WindowDiff | precision | recall | F1 | ms a message |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, group in result["sets"].items():
        head = f"{name} ({group['turns']} turns, {group['boundaries']} boundaries)"
        for method, row in group["methods"].items():
            lines.append(
                f"| {head} | {method} | {row['pk']:.3f} | {row['window_diff']:.3f} | "
                f"{row['precision']:.2f} | {row['recall']:.2f} | {row['f1']:.2f} | "
                f"{row['ms']:.2f} |"
            )
            head = ""
    if "pairs" in result:
        lines.append(
            f"\nAs compaction uses it (the most probable boundary, from a confidence of 0.5): in "
            f"{result['single_chats']} single chats of four turns and more it saw a boundary "
            f"{result['false_alarms']} times; of {result['pairs']} pairs of such chats it "
            f"found the join {result['pairs_found']} times and another place "
            f"{result['pairs_wrong']} times."
        )
    lines += [f"\nNot measured: {text}." for text in result["missing"]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--fit", action="store_true")
    if parser.parse_args().fit:
        for feature, weight in zip(local.FEATURES, fit(), strict=True):
            print(f"{weight:6.2f},  # {feature}")
    else:
        figures = main()
        print(table(figures))
        print(json.dumps({k: v for k, v in figures.items() if k != "sets"}))
