"""Which files and symbols a prompt is about: words first, then the reference graph.

Files that hold the prompt's words seed a personalised rank, together with the files in context, the
names that the prompt mentions and what was edited last; files that they refer to, and files that
refer to them, get a share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence, Set

from attrs import define, field, frozen

from tierline.context.retrieval.corpus import Corpus
from tierline.context.retrieval.evidence import reason_words
from tierline.context.retrieval.graph import spread
from tierline.context.retrieval.symbol import Symbol, module_of
from tierline.context.retrieval.words import identifiers, query_terms, terms

MIN_RANK_SHARE = 1e-4
"""Share of the rank below which a file passes nothing on."""
MAX_RANKED = 2_000
"""Files that are ranked for their words, and as many for their edges: in a large workspace a common
word is in all of them, and a few edges lead to all.
"""
_LOOKED_AT_ONCE = 5_000
LEXICAL_SEEDS = 24
"""Files with the best word scores, which seed the rank."""


@frozen
class RankQuery:
    """The prompt, and the conversation's context."""

    text: str
    context: tuple[str, ...] = ()
    """Paths of files in context."""
    edited: tuple[str, ...] = ()
    """Paths of files that were edited recently, the newest first."""
    active: str = ""
    """Path of the file that the user looks at."""
    background: str = ""
    """Earlier prompts of the cluster, of less weight: they only order what the prompt finds."""


@frozen
class SignalWeights:
    """Weight of each signal; fitted on the commits of some of the benchmark's repositories."""

    words: float = 1.0
    graph: float = 0.6
    named: float = 0.6
    path_named: float = 1.5
    context: float = 0.25
    edited: float = 0.15
    active: float = 0.1
    central: float = 0.1
    tests: float = 0.9
    """Factor on files that look like tests, if the prompt does not mention tests."""


@frozen
class RankedFile:
    """A file and why it was found."""

    path: str
    score: float
    """From 0 to about 1 for the best."""
    why: tuple[str, ...]
    hop: bool = False
    """Found through the graph alone: it has none of the prompt's words."""
    matched: int = 0
    """How many of the prompt's words it has."""
    named: bool = False
    """The prompt names it, or something that it defines."""


@frozen
class Ranking:
    """The ranked files of a query, and how the query was understood."""

    files: tuple[RankedFile, ...]
    words: tuple[str, ...]
    names: tuple[str, ...]
    """Names in the prompt that the workspace defines."""
    seeds: Mapping[str, float] = field(factory=dict)


def rank_files(
    corpus: Corpus,
    query: RankQuery,
    *,
    central: Mapping[str, float] | None = None,
    blend: SignalWeights | None = None,
    limit: int = 40,
) -> Generator[None, None, Ranking]:
    """The files that a prompt is most likely about, best first. Ties go by path. Made in steps.

    ``central`` is the rank of files without any prompt (``ranking``), by path.
    """
    blend = blend or SignalWeights()
    words, asked = _query_words(query)
    lexical = yield from corpus.search(words)
    best = max(lexical.values(), default=0.0)
    found = _Scores()
    scores, add = found.values, found.add
    named, names = yield from _score_named(corpus, query, blend, found)
    held = list(_held(corpus, query, blend))
    weighed = {*_likely(lexical), *scores, *(number for number, _, _ in held)}
    for number in weighed & lexical.keys():
        add(number, blend.words * lexical[number] / best, "")
    yield
    for number, amount, reason in held:
        share = lexical.get(number, 0.0) / best if best else 0.3
        if share or reason != "in context":
            add(number, amount * share, reason)
    seeds = _seeds(scores, corpus, query, blend)
    flow = (yield from _flow(corpus, seeds)) if seeds and blend.graph else {}
    yield
    top = max(flow.values(), default=0.0)
    flow = {number: flow[number] for number in flow.keys() & {*_likely(flow), *scores}}
    for number in flow.keys() & lexical.keys() - weighed:
        add(number, blend.words * lexical[number] / best, "")
    direct = dict(scores)
    for number, amount in flow.items():
        add(number, blend.graph * math.sqrt(amount / top), "")
    yield
    _weigh(scores, corpus, query, blend, central or {})
    ordered = sorted(scores, key=lambda n: (-scores[n], corpus.entries[n].path))[:limit]
    files = yield from _explained(corpus, query.text, asked, found, ordered, direct, named)
    return Ranking(
        files, asked, tuple(names), {corpus.entries[n].path: round(s, 4) for n, s in seeds.items()}
    )


@define
class _Scores:
    """The scores of files while they are summed up, and the reasons."""

    values: dict[int, float] = field(factory=dict)
    reasons: dict[int, list[str]] = field(factory=dict)

    def add(self, number: int, amount: float, reason: str) -> None:
        if amount > 0:
            self.values[number] = self.values.get(number, 0.0) + amount
            if reason:
                self.reasons.setdefault(number, []).append(reason)


def _query_words(query: RankQuery) -> tuple[dict[str, float], tuple[str, ...]]:
    """Weights of words, and the words of the prompt itself."""
    words: dict[str, float] = {w: float(n) for w, n in query_terms(query.text).items()}
    asked = tuple(words)
    for word, times in query_terms(query.background).items():
        words.setdefault(word, 0.25 * times)
    return words, asked


def _score_named(
    corpus: Corpus, query: RankQuery, blend: SignalWeights, found: _Scores
) -> Generator[None, None, tuple[Set[int], Iterable[str]]]:
    """Score the files that the prompt names. Returns them, and its names that are defined."""
    named, names = _named(corpus, query.text)
    for number, (strength, reason) in named.items():
        found.add(number, blend.named * strength, reason)
    by_path = dict((yield from _paths_named(corpus, query.text)))
    yield
    for number, reason in by_path.items():
        found.add(number, blend.path_named, reason)
    return named.keys() | by_path.keys(), names


def _explained(
    corpus: Corpus,
    text: str,
    asked: tuple[str, ...],
    found: _Scores,
    ordered: Sequence[int],
    direct: Mapping[int, float],
    named: Set[int],
) -> Generator[None, None, tuple[RankedFile, ...]]:
    """The files in this order, each with its reasons."""
    why = found.reasons
    highest = found.values[ordered[0]] if ordered else 1.0
    rarity: dict[str, float] = {}
    for word in asked:
        rarity[word] = corpus.rarity(word)
        yield
    rarest = sorted(asked, key=lambda w: (-rarity[w], w))
    for number in ordered:
        if number not in direct:
            why[number] = _neighbour(corpus, number, direct, why, rarest, text)
        yield
    files = []
    for n in ordered:
        yield
        files.append(
            RankedFile(
                path=corpus.entries[n].path,
                score=round(found.values[n] / highest, 4),
                why=tuple(_reasons(corpus, n, rarest, why.get(n, []), text)),
                hop=n not in direct,
                matched=sum(corpus.holds(word, n) for word in asked),
                named=n in named,
            )
        )
    return tuple(files)


def rank_symbols(
    symbols: Sequence[Symbol],
    query: RankQuery,
    names: Iterable[str],
    *,
    rarity: Callable[[str], float] = lambda _word: 1.0,
) -> list[tuple[Symbol, float, str]]:
    """The symbols of one file by how well they fit a prompt, best first: symbol, score, why."""
    words = query_terms(query.text)
    wanted = set(names)
    found = []
    for place, symbol in enumerate(symbols):
        name_words = terms(symbol.name)
        other = terms(f"{symbol.signature} {symbol.doc} {symbol.parent}")
        score = 0.0
        hits: list[str] = []
        for word in words:
            if word in name_words:
                score += 2.0 * rarity(word)
                hits.append(word)
            elif word in other:
                score += 0.7 * rarity(word)
                hits.append(word)
        reason = f"matches {', '.join(reason_words(query.text, hits[:4]))}" if hits else ""
        if symbol.name in wanted or symbol.qualified in wanted:
            score += 30.0
            reason = "named in the prompt"
        if symbol.kind in ("class", "struct", "interface", "trait", "function", "type"):
            score += 0.2
        if symbol.name.startswith("_"):
            score *= 0.9
        found.append((symbol, score, reason, place))
    found.sort(key=lambda f: (-f[1], f[3]))
    return [(symbol, score, reason) for symbol, score, reason, _ in found]


def looks_like_test(path: str) -> bool:
    """True for files in test folders or with test names."""
    low = f"/{path.lower()}"
    name = low.rpartition("/")[2]
    return (
        "/test/" in low or "/tests/" in low or "/spec/" in low or "/__tests__/" in low
        or name.startswith("test_") or ".test." in name or ".spec." in name
        or name.partition(".")[0].endswith(("_test", "_spec"))
    )  # fmt: skip


def _held(
    corpus: Corpus, query: RankQuery, blend: SignalWeights
) -> Iterable[tuple[int, float, str]]:
    """Files of the conversation's context: file, weight, reason."""
    for paths, weight, reason in (
        (query.context, blend.context, "in context"),
        (query.edited[:10], blend.edited, "edited lately"),
        ((query.active,), blend.active, "open in the editor"),
    ):
        for path in paths:
            if (number := corpus.by_path.get(path)) is not None:
                yield number, weight, reason


def _weigh(
    scores: dict[int, float],
    corpus: Corpus,
    query: RankQuery,
    blend: SignalWeights,
    central: Mapping[str, float],
) -> None:
    """Raise central files a little, and lower tests unless the prompt mentions tests."""
    peak = max(central.values(), default=0.0)
    about_tests = {"test", "spec", "fixtur", "pytest"} & set(query_terms(query.text))
    tests = 1.0 if about_tests else blend.tests
    for number in scores:
        path = corpus.entries[number].path
        if peak > 0:
            scores[number] += blend.central * math.sqrt(central.get(path, 0.0) / peak)
        if tests != 1.0 and looks_like_test(path):
            scores[number] *= tests


def _named(corpus: Corpus, text: str) -> tuple[dict[int, tuple[float, str]], list[str]]:
    """Files that define names in the prompt, weighted higher the fewer define the name."""
    found: dict[int, tuple[float, str]] = {}
    names: list[str] = []
    for name in identifiers(text):
        last = name.replace("::", ".").replace("->", ".").replace("#", ".").rpartition(".")[2]
        definers = corpus.definers(last)
        if not definers:
            continue
        names.append(name)
        names.append(last)
        strength = 1 / math.sqrt(len(definers))
        for number in definers:
            if strength > found.get(number, (0.0, ""))[0]:
                found[number] = (strength, f"defines {last}, which the prompt names")
    return found, list(dict.fromkeys(names))


def _paths_named(corpus: Corpus, text: str) -> Generator[None, None, list[tuple[int, str]]]:
    """Files that the prompt names by path, file name or module."""
    found: dict[int, str] = {}
    low = f" {text} "
    tokens = {token.strip(".,:;()[]{}'\"`*<>") for token in low.split()}
    tokens |= {part for token in tokens for part in token.split(":")}
    candidates = {t for t in tokens if ("/" in t or "." in t) and len(t) > 3}
    if not candidates:
        return []
    for count, (path, number) in enumerate(list(corpus.by_path.items())):
        if count % _LOOKED_AT_ONCE == 0:
            yield
        name = path.rpartition("/")[2]
        if path in candidates or (name in candidates and len(name) > 3):
            found[number] = "the prompt names the file"
        elif any(path.endswith("/" + t) for t in candidates if "/" in t) or (
            module_of(path) in candidates
        ):
            found[number] = "the prompt names the module"
    return list(found.items()) if len(found) <= 12 else []


def _likely(scores: Mapping[int, float]) -> Iterable[int]:
    """Those that fit best; all if they are not many. What else counts is less than that."""
    if len(scores) <= MAX_RANKED:
        return scores
    least = sorted(scores.values(), reverse=True)[MAX_RANKED - 1]
    return (number for number, score in scores.items() if score >= least)


def _seeds(
    scores: Mapping[int, float], corpus: Corpus, query: RankQuery, blend: SignalWeights
) -> dict[int, float]:
    best = sorted(scores, key=lambda n: (-scores[n], n))[:LEXICAL_SEEDS]
    seeds = {number: scores[number] ** 2 for number in best}
    whole = sum(seeds.values()) or 1.0
    for part, weight in ((query.context, blend.context), (query.edited[:10], blend.edited)):
        known = [corpus.by_path[path] for path in part if path in corpus.by_path]
        for number in known:
            seeds[number] = seeds.get(number, 0.0) + weight * whole / len(known)
    return seeds


def _flow(corpus: Corpus, seeds: Mapping[int, float]) -> Generator[None, None, dict[int, float]]:
    """The personalised rank around the seeds. The edges may be a few edits behind."""
    flow: dict[int, float] = {}
    edges = corpus.edges(fresh=False)
    reached = yield from spread(edges, seeds, least=MIN_RANK_SHARE)
    for number, amount in reached.items():
        if (now := corpus.living(number)) is not None:
            flow[now] = flow.get(now, 0.0) + amount
    return flow


def _reasons(
    corpus: Corpus, number: int, words: Sequence[str], given: list[str], text: str
) -> list[str]:
    """Why a file was found; ``words`` are the prompt's, the rarest first."""
    entry = corpus.entries[number]
    held = [w for w in words if corpus.holds(w, number)]
    reasons = list(dict.fromkeys(given))
    if held:
        reasons.append(f"holds {', '.join(reason_words(text, held[:4]))}")
    path_words = terms(entry.path)
    in_path = [w for w in held if w in path_words]
    if in_path:
        reasons.append(f"its path says {reason_words(text, in_path)[0]}")
    return reasons


def _neighbour(
    corpus: Corpus,
    number: int,
    direct: Mapping[int, float],
    why: Mapping[int, list[str]],
    words: Sequence[str],
    text: str,
) -> list[str]:
    """Why a file without the prompt's words was found: the best file that refers to it, or that it
    refers to. Empty if there is none at one edge.
    """
    living = map(corpus.living, corpus.near(number))
    near = [now for now in living if now is not None and now in direct]
    if not near:
        return []
    best = max(near, key=lambda n: (direct[n], -n))
    reasons = _reasons(corpus, best, words, why.get(best, []), text)
    because = f" ({reasons[0]})" if reasons else ""
    return [f"refers to or is used by {corpus.entries[best].path}{because}"]
