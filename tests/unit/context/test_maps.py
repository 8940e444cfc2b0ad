"""The module map: what it shows when there is not room for all."""

from __future__ import annotations

from tierline.context.retrieval.maps import MapChoice, blocks, choose, outline, tree
from tierline.context.retrieval.symbol import SourceFile, Symbol


def source(path: str, *symbols: Symbol) -> SourceFile:
    return SourceFile(path, "python", 50, symbols)


def function(name: str, line: int = 1) -> Symbol:
    return Symbol(name, "function", line, line, signature=f"def {name}()")


def test_files_are_chosen_by_rank_until_the_map_is_full() -> None:
    files = {f"d{n}/m.py": source(f"d{n}/m.py", function(f"work_{n}")) for n in range(40)}
    ranks = {path: 1 / (n + 1) for n, path in enumerate(files)}
    chosen = [list(choose(ranks, files.get, tokens=t, per_file=3).folders) for t in (0, 40, 400)]
    assert chosen[0] == []
    assert chosen[1] == [f"d{n}/" for n in range(len(chosen[1]))] and 2 < len(chosen[1]) < 8
    assert chosen[2][: len(chosen[1])] == chosen[1] and len(chosen[2]) == 40


def test_a_file_that_does_not_fit_makes_room_for_smaller_ones() -> None:
    long = source("a/long.py", *(function(f"a_long_name_of_a_function_{n}", n) for n in range(30)))
    files = {"a/long.py": long, "b/small.py": source("b/small.py", function("f"))}
    found = choose({"a/long.py": 1.0, "b/small.py": 0.1}, files.get, tokens=90, per_file=30)
    assert found.folders == {"b/": ("b/small.py",)}
    assert found.central == ("a/long.py", "b/small.py"), "central it is all the same"


def test_what_has_no_symbols_or_may_not_be_shown_is_passed_over() -> None:
    files = {p: source(p, function("f")) for p in ("a.py", "secret.py")} | {"e.py": source("e.py")}
    ranks = dict.fromkeys([*files, "gone.py"], 0.5)
    found = choose(ranks, files.get, tokens=90, per_file=3, keep=lambda p: p != "secret.py")
    assert found.folders == {"": ("a.py",)} and found.central == ("a.py",)
    (block,) = blocks(found, files.get)
    assert (block.key, block.text) == ("symbols:./", "## ./\na.py\n  def f()")


def test_a_folder_weighs_as_much_as_its_files_together() -> None:
    files = {p: source(p, function("f")) for p in ("a/1.py", "b/1.py", "b/2.py")}
    ranks = {"a/1.py": 0.5, "b/1.py": 0.3, "b/2.py": 0.3}
    assert list(choose(ranks, files.get, tokens=900, per_file=3).folders) == ["b/", "a/"]


def test_public_top_level_symbols_stand_for_a_file() -> None:
    method = Symbol("run", "method", 3, 4, parent="Work")
    work = Symbol("Work", "class", 2, 9)
    file = source("a.py", function("_hidden", 1), work, method, function("main", 12),
                  Symbol("LIMIT", "constant", 11, 11))  # fmt: skip
    assert [s.name for s in outline(file, 9)] == ["Work", "LIMIT", "main"]
    assert [s.name for s in outline(file, 2)] == ["Work", "main"], "constants last"
    assert [s.name for s in outline(source("b.py", method), 9)] == ["run"], "better than nothing"


def test_a_tree_shows_whole_levels_only() -> None:
    paths = ["a/x.py", "a/b/x.py", "a/b/c/x.py", "d/x.py", "top.py"]
    assert tree(paths) == "a/\n  b/\n    c/\nd/"
    assert tree(paths, limit=3) == "a/\n  b/\nd/\n… deeper folders are not shown"
    assert tree(paths, limit=2) == "a/\nd/\n… deeper folders are not shown"
    assert tree([*paths, "d/e/x.py"], limit=3) == "a/\nd/\n… deeper folders are not shown"
    assert tree(paths, limit=1) == "a/\n… deeper folders are not shown", "one level does not fit"
    assert tree(["x.py"]) == ""


def test_a_symbol_is_shown_with_its_kind_once() -> None:
    shown = source(
        "a.py", Symbol("A", "class", 1, 2, signature="class A(Base)"), Symbol("B", "class", 3, 4),
        Symbol("C", "struct", 5, 6, signature="pub C"), Symbol("D", "constant", 7, 7),
        Symbol("f", "function", 8, 9, signature="x" * 200),
    )  # fmt: skip
    (block,) = blocks(MapChoice({"": ("a.py",)}, (), 9), {"a.py": shown}.get)
    assert block.text.splitlines()[2:] == [
        "  class A(Base)", "  class B", "  struct pub C", "  D", "  " + "x" * 109 + "…",
    ]  # fmt: skip
