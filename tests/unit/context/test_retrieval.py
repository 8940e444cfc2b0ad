"""Seed 003, "Context Management Planning": retrieval, cards, pins, modes, the experimental part.

Line numbers are those of the seed. The behaviours through a server are in tests/lsp/test_retrieval
and tests/lsp/test_pins; pins, leases and activation as a state machine in
tests/property/test_holdings_machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from tierline.context.items import Item, Pin, Section
from tierline.context.limits import Limits
from tierline.context.mode import LIMITS, ContextMode
from tierline.context.plan import plan
from tierline.context.retrieval.cards import (
    MAX_SUGGESTED,
    Card,
    card_of,
    mentioned,
    parse_key,
    render,
    suggested_pins,
)
from tierline.context.retrieval.clusters import MIN_WORDS, QueryCluster, cosine, embed
from tierline.context.retrieval.corpus import Corpus, document
from tierline.context.retrieval.graph import run_to_end
from tierline.context.retrieval.holdings import WEIGHTS, Holdings
from tierline.context.retrieval.maps import (
    ASK_TOOL,
    CENTRAL_NODES,
    blocks,
    choose,
    scaffold,
    tree,
)
from tierline.context.retrieval.rank import RankQuery, rank_files, rank_symbols
from tierline.context.retrieval.sets import SENTENCES, Candidate, Exclusion, RetrievalSet
from tierline.context.retrieval.symbol import SourceFile, Symbol
from tierline.session.requests.context_line import context_line
from tierline.session.retrieval.touchpoints import CardReader, gather, locate
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots
from tierline.workspace.symbols.extract import extract
from tierline.workspace.symbols.languages import syntax_of

PROJECT = {
    "core/tokens.py": 'class TokenStream:\n    """Reads tokens."""\n\n    def next(self): ...\n',
    "core/grammar.py": "from core.tokens import TokenStream\n\n"
    'def parse_query(text):\n    """Parse a query."""\n    return TokenStream()\n',
    "web/views.py": "from core.grammar import parse_query\n\n"
    "def search_view(request):\n    return parse_query(request)\n",
    "web/footer.py": 'def render_footer(year):\n    """The footer."""\n    return year\n',
    "tests/test_grammar.py": "from core.grammar import parse_query\n\n"
    "def test_parse_query():\n    assert parse_query('a')\n",
}


def project(extra: dict[str, str] | None = None) -> tuple[Corpus, dict[str, SourceFile]]:
    corpus, files = Corpus(), {}
    for path, text in {**PROJECT, **(extra or {})}.items():
        syntax = syntax_of(path)
        assert syntax is not None
        files[path] = extract(path, text, syntax)
        corpus.put(files[path], document(files[path]))
    return corpus, files


# --- RetrievalSet (59-66), Candidate Item (105-113), Feedback (197-204) ---------------------------


def a_set(*outs: Exclusion | None, turn: str = "g1") -> RetrievalSet:
    return RetrievalSet(
        group_id=turn,
        query="q",
        mode="light",
        candidates=tuple(
            Candidate(Card(f"m{n}.py", 1, 9, f"f{n}", why="matches f"), 1 - n / 10, f"m{n}.py",
                      hop=n == 2, tokens=10, out=out)
            for n, out in enumerate(outs)
        ),
    )  # fmt: skip


@pytest.mark.requirement("003:63")
def test_a_set_has_a_stable_id() -> None:
    assert a_set(None).set_id == a_set(None).set_id
    assert a_set(None).set_id != a_set(Exclusion.WEAK).set_id
    assert a_set(None).set_id != a_set(None, turn="g2").set_id


@pytest.mark.requirement("003:64")
def test_each_item_has_its_provenance() -> None:
    candidate = a_set(None, None, None).candidates[2]
    assert (candidate.card.path, candidate.card.line, candidate.card.end) == ("m2.py", 1, 9)
    assert candidate.card.symbol == "f2"
    assert candidate.node == "m2.py"
    assert candidate.hop is True
    assert candidate.score == pytest.approx(0.8)


@pytest.mark.requirement("003:202")
def test_what_was_excluded_is_kept_with_reasons() -> None:
    found = a_set(None, Exclusion.WEAK, Exclusion.LIMIT)
    assert [c.card.symbol for c in found.included] == ["f0"]
    assert [c.reason for c in found.excluded] == [
        SENTENCES[Exclusion.WEAK],
        SENTENCES[Exclusion.LIMIT],
    ]
    assert RetrievalSet.from_json(found.to_json()) == found


@pytest.mark.requirement("003:201")
def test_what_the_plan_had_no_room_for_says_so_under_the_same_id() -> None:
    found = a_set(None, None)
    less = found.without(frozenset({"card:m0.py#f0"}))
    assert less.set_id == found.set_id
    assert [c.out for c in less.candidates] == [Exclusion.BUDGET, None]


@pytest.mark.parametrize("out", list(Exclusion))
@pytest.mark.requirement("003:199")
def test_every_reason_has_a_sentence(out: Exclusion) -> None:
    assert SENTENCES[out].endswith(".")


# --- Orientation Scaffold (115-119), KG-aware (227-229) -------------------------------------------


@pytest.mark.requirement("003:116")
def test_the_module_tree_shows_folders_level_by_level() -> None:
    text = tree(["a/b/c/x.py", "a/b/y.py", "d/z.py", "top.py"])
    assert text == "a/\n  b/\n    c/\nd/"
    cut = tree([f"a/b{n}/c/x.py" for n in range(50)] + ["d/z.py"], limit=20)
    assert cut.splitlines()[:2] == ["a/", "d/"]
    assert cut.endswith("deeper folders are not shown")


@pytest.mark.requirement("003:117")
def test_a_note_tells_the_model_how_to_ask_for_more() -> None:
    _, files = project()
    choice = choose({"core/tokens.py": 1.0}, files.get, tokens=300, per_file=4)
    assert ASK_TOOL in scaffold(choice, files.get, tools=True)
    assert "@path" in scaffold(choice, files.get, tools=False)


@pytest.mark.requirement("003:119")
def test_up_to_three_central_nodes_with_their_doc_comments() -> None:
    corpus, files = project()
    ranks = {"core/tokens.py": 0.4, "core/grammar.py": 0.3, "web/views.py": 0.2,
             "web/footer.py": 0.1}  # fmt: skip
    choice = choose(ranks, files.get, tokens=500, per_file=4)
    text = scaffold(choice, files.get)
    assert len(choice.central) == CENTRAL_NODES
    assert "- core.tokens (core/tokens.py): Reads tokens" in text
    assert "web.footer" not in text
    assert len(corpus) == len(PROJECT)


def test_an_edit_changes_its_folders_block_only() -> None:
    """Design, section 10."""
    _, files = project()
    choice = choose(dict.fromkeys(PROJECT, 0.2), files.get, tokens=900, per_file=4)
    before = {b.key: b.text for b in blocks(choice, files.get)}
    syntax = syntax_of("a.py")
    assert syntax is not None
    files["web/views.py"] = extract("web/views.py", "def other_view(): ...\n", syntax)
    after = {b.key: b.text for b in blocks(choice, files.get)}
    assert {k for k in before if before[k] != after[k]} == {"symbols:web/"}
    del files["web/views.py"], files["web/footer.py"]
    assert "symbols:web/" not in {b.key for b in blocks(choice, files.get)}


@given(st.integers(50, 2000), st.integers(1, 8))
def test_a_map_keeps_to_its_size(tokens: int, per_file: int) -> None:
    files = {
        f"p{n % 7}/m{n}.py": SourceFile(
            f"p{n % 7}/m{n}.py", "python", 50,
            tuple(Symbol(f"f{k}", "function", k + 1, k + 1, signature=f"def f{k}(a: int) -> str")
                  for k in range(6)),
        )
        for n in range(60)
    }  # fmt: skip
    ranks = {path: 1 / (n + 1) for n, path in enumerate(files)}
    choice = choose(ranks, files.get, tokens=tokens, per_file=per_file)
    made = blocks(choice, files.get)
    assert sum(len(b.text) + 1 for b in made) <= tokens * 3.6 + 60
    shown = [p for b in made for p in b.files]
    assert len(shown) == len(set(shown))


# --- Symbol Card (141-149), Candidate Touchpoints (165-169) ---------------------------------------

CARD = Card(
    "src/pkg/plan.py", 10, 60, "Plan.entry", "method", "def entry(self, key: str) -> Entry | None",
    "The entry of an item.", ("@cached", "#[cfg(test)]"), "matches entry",
)  # fmt: skip


@pytest.mark.requirement("003:145-149")
def test_a_card_has_path_module_snippet_doc_and_attributes() -> None:
    lines = ["    def entry(self, key: str) -> Entry | None:"]
    lines += [f"        line{n}" for n in range(50)]
    text = render(CARD, lines)
    assert "src/pkg/plan.py:10" in text
    assert "src.pkg.plan.Plan.entry" in text
    assert "The entry of an item." in text
    assert "@cached" in text and "#[cfg(test)]" in text
    assert "line3" in text and "line4" not in text, "up to 5 lines"
    assert "(46 more lines)" in text
    assert render(evolve(CARD, end=15), lines[:6]).count("(1 more line)\n") == 1
    assert "more line" not in render(evolve(CARD, end=14), lines[:5])
    assert "Why: matches entry." in text


def test_a_card_says_its_signature_and_its_doc_once() -> None:
    signature, doc = CARD.signature, f"        # {CARD.doc}"
    bare = render(CARD, [])
    assert bare.count(signature) == 1 and bare.count(f"“{CARD.doc}”") == 1 and "more" not in bare
    body = render(CARD, [f"    {signature}:", doc])
    assert body.count(signature) == 1 and body.count(CARD.doc) == 1 and "“" not in body
    other = render(CARD, ["    pass"])
    assert other.count(signature) == 1 and f"“{CARD.doc}”" in other


@pytest.mark.requirement("003:168")
def test_a_touchpoint_shows_up_to_30_lines() -> None:
    lines = [f"line{n}" for n in range(60)]
    text = render(CARD, lines, limit=LIMITS[ContextMode.HEAVY].card_lines)
    assert "line29" in text and "line30" not in text


@given(st.lists(st.text(), max_size=12))
def test_a_snippet_cannot_close_its_fence(lines: list[str]) -> None:
    clean = [line.replace("\n", " ").replace("\r", " ") for line in lines]
    text = render(CARD, ["````", "```x", *clean], limit=30)
    fence = max((run for run in text.split("\n") if set(run) == {"`"}), key=len)
    assert len(fence) > 4


@pytest.mark.requirement("003:166")
def test_limits_of_touchpoints() -> None:
    """6-12 cards."""
    for mode in (ContextMode.LIGHT, ContextMode.HEAVY):
        assert 6 <= LIMITS[mode].candidates <= 12
    assert LIMITS[ContextMode.LIGHT].card_lines == 5
    assert LIMITS[ContextMode.HEAVY].card_lines == 30


def test_keys_name_path_and_symbol() -> None:
    assert CARD.key == "card:src/pkg/plan.py#Plan.entry"
    assert parse_key(CARD.key) == ("src/pkg/plan.py", "Plan.entry")
    assert parse_key("src/a.py") == ("src/a.py", "")


def test_a_card_is_found_again_where_its_symbol_moved_to() -> None:
    card = Card("a.py", 2, 4, "A.run", "method")
    lines = ["x"] * 40
    assert locate(card, lines) is None
    lines[20] = "    def run(self): ..."
    moved = locate(card, lines)
    assert moved is not None
    assert (moved.line, moved.end) == (21, 23)


def index_answer(corpus: Corpus, files: dict[str, SourceFile], text: str) -> dict[str, object]:
    query = RankQuery(text)
    found = run_to_end(rank_files(corpus, query))
    rows = []
    for ranked in found.files:
        symbols = rank_symbols(files[ranked.path].symbols, query, found.names)
        rows.append({
            "path": ranked.path, "score": ranked.score, "why": list(ranked.why),
            "hop": ranked.hop, "matched": ranked.matched, "named": ranked.named,
            "lines": files[ranked.path].lines,
            "symbols": [[s.row(), score, why] for s, score, why in symbols[:3]],
        })  # fmt: skip
    return {"files": rows, "rarity": dict.fromkeys(found.words, 1.0), "names": list(found.names)}


def reader(tmp_path: Path) -> CardReader:
    for path, text in PROJECT.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return CardReader(Loader(Roots([str(tmp_path)])))


@pytest.mark.requirement("003:165")
def test_touchpoints_with_provenance_and_why(tmp_path: Path) -> None:
    corpus, files = project()
    answer = index_answer(corpus, files, "How does parse_query read tokens?")
    candidates, items = gather(
        answer, LIMITS[ContextMode.LIGHT], most_tokens=2000, reader=reader(tmp_path), count=len
    )
    best = candidates[0]
    assert (best.card.path, best.card.symbol) == ("core/grammar.py", "parse_query")
    assert "named in the prompt" in best.card.why
    assert items[0].key == best.card.key
    assert (items[0].pin, items[0].volatile) == (Pin.EPHEMERAL, True)
    assert items[0].section is Section.RETRIEVED
    kept = {item.key for item in items}
    assert all((c.out is None) == (c.card.key in kept) for c in candidates)


def test_limits_of_tokens_and_files_in_context_are_reasons(tmp_path: Path) -> None:
    corpus, files = project()
    answer = index_answer(corpus, files, "How does parse_query read tokens?")
    light = LIMITS[ContextMode.LIGHT]
    candidates, items = gather(
        answer, light, most_tokens=10, reader=reader(tmp_path), count=len,
        in_context=frozenset({"core/grammar.py"}),
    )  # fmt: skip
    assert items == []
    outs = {c.card.path: c.out for c in candidates}
    assert outs["core/grammar.py"] is Exclusion.IN_CONTEXT
    assert Exclusion.LIMIT in {c.out for c in candidates}


def test_another_file_comes_before_a_further_symbol_of_one_that_has_a_card(
    tmp_path: Path,
) -> None:
    def row(name: str, line: int) -> list[object]:
        return [Symbol(name, "function", line, line).row(), 3.0, "matches it"]

    def found(path: str, score: float, *symbols: list[object]) -> dict[str, object]:
        (tmp_path / path).write_text("one = two = three = 1\n" * 9, encoding="utf-8")
        return {"path": path, "score": score, "why": ["holds it"], "hop": False, "matched": 3,
                "named": False, "lines": 9, "symbols": list(symbols)}  # fmt: skip

    answer = {
        "files": [
            found("a.py", 1.0, row("one", 1), row("two", 2), row("three", 3)),
            found("b.py", 0.8, row("one", 1), row("two", 2)),
            found("c.py", 0.6, row("one", 1)),
        ],
        "rarity": {"w": 1.0, "x": 1.0, "y": 1.0},
    }
    cards = CardReader(Loader(Roots([str(tmp_path)])))
    candidates, items = gather(
        answer, LIMITS[ContextMode.LIGHT], most_tokens=2000, reader=cards, count=lambda _: 1
    )
    order = [f"{c.card.path} {c.card.symbol}" for c in candidates if c.out is None]
    assert order == ["a.py one", "b.py one", "a.py two", "c.py one", "b.py two"]
    assert len(items) == 5
    assert [c.out for c in candidates if c.card.symbol == "three"] == [Exclusion.SAME_FILE]


# --- ranking --------------------------------------------------------------------------------------


def test_what_a_prompt_names_comes_first_and_its_neighbours_follow() -> None:
    corpus, _ = project()
    found = run_to_end(rank_files(corpus, RankQuery("Why does parse_query return a stream?")))
    paths = [f.path for f in found.files]
    assert paths[0] == "core/grammar.py"
    assert "core/tokens.py" in paths
    assert "defines parse_query, which the prompt names" in found.files[0].why


@pytest.mark.requirement("003:232")
def test_a_hop_target_is_marked() -> None:
    corpus, _ = project({"core/lone.py": "import core.grammar\n\nZ = 1\n"})
    found = run_to_end(rank_files(corpus, RankQuery("footer year")))
    assert not any(f.hop for f in found.files if f.path == "web/footer.py")
    found = run_to_end(rank_files(corpus, RankQuery("stream of tokens")))
    hops = {f.path for f in found.files if f.hop}
    assert "web/views.py" in hops or "core/lone.py" in hops


def test_the_conversation_personalises_the_rank() -> None:
    extra = {f"{x}/save.py": "def store_item(): ...\n" for x in "ab"}
    extra |= {f"{x}/user.py": f"from {x}.save import store_item\nstore_item()\n" for x in "ab"}
    corpus, _ = project(extra)

    def order(query: RankQuery) -> list[str]:
        paths = [f.path for f in run_to_end(rank_files(corpus, query)).files]
        return [path for path in paths if path.endswith("save.py")]

    assert order(RankQuery("store item")) == ["a/save.py", "b/save.py"]
    assert order(RankQuery("store item", context=("b/user.py",))) == ["b/save.py", "a/save.py"]
    assert order(RankQuery("store item", edited=("b/save.py",))) == ["b/save.py", "a/save.py"]
    assert order(RankQuery("store item", active="b/save.py")) == ["b/save.py", "a/save.py"]


def test_upkeep_forgets_what_is_gone() -> None:
    corpus, files = project()
    for _ in range(200):  # enough dead entries to be swept out
        corpus.put(files["core/grammar.py"], document(files["core/grammar.py"]))
    assert len(corpus.entries) < 150
    corpus.remove("core/grammar.py")
    found = run_to_end(rank_files(corpus, RankQuery("parse_query")))
    assert "core/grammar.py" not in [f.path for f in found.files]
    assert corpus.definers("parse_query") == set()
    assert all(
        corpus.entries[n].alive for n in range(len(corpus.entries)) if corpus.near(n).targets
    )


# --- Promotion, Activation Score (151-163), Advanced (231-235) ------------------------------------


@pytest.mark.parametrize(
    ("signal", "line"),
    [("planned", 161), ("quoted", 162), ("named", 163), ("hop", 232), ("cluster", 234)],
)
def test_what_raises_activation(signal: str, line: int) -> None:
    holdings = Holdings()
    holdings.begin_turn("t1")
    name = {"hop": "hops"}.get(signal, signal)
    holdings.observe(**{name: ["card:a.py#f"]})
    assert holdings.score("card:a.py#f") == WEIGHTS[signal], f"seed 003:{line}"


@pytest.mark.requirement("003:162")
def test_a_quotation_is_told_from_a_common_word() -> None:
    keys = ["card:src/a.py#Plan.entry", "card:src/b.py#tokenize_query", "card:src/c.py"]
    assert mentioned("the entry of it", keys) == set()
    assert mentioned("call `entry` there", keys) == {keys[0]}
    assert mentioned("entry(key) does", keys) == {keys[0]}
    assert mentioned("tokenize_query does", keys) == {keys[1]}
    assert mentioned("see src/c.py", keys) == {keys[2]}
    assert mentioned("retokenize_query2 does", keys) == set()


# --- Context Mode (171-188), Budget Meter (190-195) -----------------------------------------------


def candidates_of(count: int) -> list[Item]:
    cards = [
        Item(f"card:m{n}.py#f", Section.RETRIEVED, f"{n}", 100, text="x", pin=Pin.EPHEMERAL,
             volatile=True) for n in range(count)
    ]  # fmt: skip
    block = Item("symbols:src/", Section.SYMBOLS, "s", 100, text="map")
    prompt = Item("history:1", Section.HISTORY, "h", 10, text="p", required=True)
    file = Item("file:a.py", Section.FILES, "f", 90, text="a", path="a.py")
    return [prompt, file, block, *cards]


@pytest.mark.parametrize(
    ("mode", "cards", "maps", "line"),
    [("off", 0, 0, 176), ("light", 8, 1, 177), ("heavy", 12, 1, 178)],
)
@pytest.mark.requirement("003:173")
def test_the_mode_limits_the_rest_of_the_assembly(
    mode: str, cards: int, maps: int, line: int
) -> None:
    limits = Limits(window=100_000, max_input_tokens=90_000, max_output_tokens=4_000)
    decided = plan(candidates_of(20), limits, mode=ContextMode(mode))
    kept = [e.section for e in decided.included]
    assert kept.count(Section.RETRIEVED) == cards, f"seed 003:{line}"
    assert kept.count(Section.SYMBOLS) == maps


@pytest.mark.requirement("003:192")
def test_the_line_under_a_prompt() -> None:
    """``+3 cards, 2 files · 2.1k tokens · CTX light``."""
    limits = Limits(window=100_000, max_input_tokens=90_000, max_output_tokens=4_000)
    decided = plan(candidates_of(3), limits)
    assert context_line(decided, ContextMode.LIGHT) == "+3 cards, 1 file · 500 tokens · CTX light"


@pytest.mark.parametrize("window", [2_048, 8_192, 32_000, 200_000])
def test_light_mode_leaves_the_window_to_the_conversation(window: int) -> None:
    limits = LIMITS[ContextMode.LIGHT]
    together = limits.tokens(window) + limits.map_limit(window)
    assert together <= 0.15 * window
    assert together <= 3_500


# --- Query clusters (208-213), Task (237-239) -----------------------------------------------------


@pytest.mark.requirement("003:211")
def test_another_subject_is_another_cluster() -> None:
    phase = QueryCluster().next("Fix the tokenizer so that parse_query keeps quoted strings")
    assert phase.cluster == 1
    same = phase.next("parse_query still drops quoted strings at the end of the tokenizer input")
    assert (same.cluster, same.turns) == (1, 2)
    other = same.next("Write release notes about the new colour theme and its icons")
    assert (other.cluster, other.turns) == (2, 1)
    assert other.task != same.task, "a task is a run of turns in one cluster"


@pytest.mark.requirement("003:213")
def test_a_prompt_without_words_of_its_own_stays() -> None:
    phase = QueryCluster().next("Fix the tokenizer so that parse_query keeps quoted strings")
    for text in ("go on", "and the tests?", "", "yes please"):
        phase = phase.next(text)
        assert phase.cluster == 1
    assert MIN_WORDS > 1


@given(st.text(), st.text())
@pytest.mark.requirement("003:210")
def test_clusters_are_deterministic_and_similarity_is_bounded(a: str, b: str) -> None:
    assert embed(a) == embed(a)
    assert -1.000001 <= cosine(embed(a), embed(b)) <= 1.000001
    if embed(a):
        assert cosine(embed(a), embed(a)) == pytest.approx(1)
    phase = QueryCluster().next(a).next(b)
    assert QueryCluster.from_json(phase.to_json()).cluster == phase.cluster


# --- LLM-suggested pins (215-220) -----------------------------------------------------------------


@pytest.mark.requirement("003:216")
def test_the_model_may_suggest_pins() -> None:
    text = "Fine.\n\n**Suggested pins:** `src/a.py`, src/b.py#Plan.entry, the, `c.py`."
    assert suggested_pins(text) == ["src/a.py", "src/b.py#Plan.entry", "c.py"]
    assert suggested_pins("I suggested pins: none of them") == []
    many = "Suggested pins: " + ", ".join(f"m{n}.py" for n in range(20))
    assert len(suggested_pins(many)) == MAX_SUGGESTED


def test_a_card_of_a_symbol_holds_all_that_is_known_of_it() -> None:
    symbol = Symbol("run", "method", 3, 9, "A", "def run(self)", "Runs.", ("@x",))
    card = card_of("a.py", symbol, "matches run")
    assert (card.symbol, card.kind, card.line, card.end) == ("A.run", "method", 3, 9)
    assert (card.signature, card.doc, card.attributes) == ("def run(self)", "Runs.", ("@x",))


def test_a_symbol_is_found_by_its_qualified_name_before_another_of_its_bare_name() -> None:
    first, second = Symbol("run", "method", 1, 2, "A"), Symbol("run", "method", 3, 4, "B")
    source = SourceFile("a.py", "python", 4, (first, second))
    assert source.find("B.run") is second and source.find("A.run") is first
    assert source.find("run") is first and source.find("x::run") is first
    assert source.find("walk") is None


def test_a_corpus_from_which_much_went_is_like_one_that_never_had_it() -> None:
    def source(number: int) -> SourceFile:
        define = (Symbol(f"name{number}", "function", 1, 2),)
        uses = {f"name{(number + 5) % 200}": 2}
        return SourceFile(f"src/mod{number}.py", "python", 2, define, uses)

    grown, fresh = Corpus(), Corpus()
    for number in range(200):
        grown.put(source(number), document(source(number)))
    for number in range(200):
        if number % 5:
            assert grown.remove(source(number).path)
        else:
            fresh.put(source(number), document(source(number)))
    for number in range(200, 260):
        for corpus in (grown, fresh):
            corpus.put(source(number), document(source(number)))
    assert len(grown) == len(fresh) == 100 and len(grown.entries) == 200, "their numbers are used"

    def named(corpus: Corpus, numbers: Iterable[int]) -> list[str]:
        return sorted(corpus.entries[n].path for n in numbers if corpus.entries[n].alive)

    for number in range(260):
        name = f"name{number}"
        assert named(grown, grown.definers(name)) == named(fresh, fresh.definers(name))
        assert named(grown, run_to_end(grown.search({name: 1.0}))) == named(
            fresh, run_to_end(fresh.search({name: 1.0}))
        )
    for path, number in grown.by_path.items():
        assert named(grown, grown.near(number)) == named(fresh, fresh.near(fresh.by_path[path]))
