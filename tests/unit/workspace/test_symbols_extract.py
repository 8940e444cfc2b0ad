"""Definitions, names and imports by tree-sitter, language by language."""

from __future__ import annotations

import pytest

from tierline.context.retrieval.symbol import SourceFile, module_of
from tierline.workspace.symbols.extract import extract
from tierline.workspace.symbols.languages import SYNTAXES, syntax_of

SAMPLES: dict[str, tuple[str, dict[str, tuple[str, int, int]], tuple[str, ...]]] = {
    "a.py": (
        '''import os
from a.b import c as d
LIMIT = 3
@frozen(slots=True)
class A(Base):
    """A thing.

    More."""
    @property
    def foo(self, a: int,
            b: str) -> int:
        """Foo doc."""
        def inner(): pass
        return bar(f"{baz} text")  # remark
async def top(): ...
''',
        {"LIMIT": ("constant", 3, 3), "A": ("class", 4, 14), "A.foo": ("method", 9, 14),
         "top": ("function", 15, 15)},
        ("import os", "from a.b import c as d"),
    ),
    "a.ts": (
        '''import { x } from "./b";
/** Doc of C. */
@Dec()
export class C extends D<T> { foo(a: string): void { const q = 1 } }
export const f = (a: number) => { return g(a) };
export interface I { a: string }
type T1 = string | number;
export enum E { A, B }
export abstract class AB { abstract m(): void; }
''',
        {"C": ("class", 3, 4), "C.foo": ("method", 4, 4), "f": ("function", 5, 5),
         "I": ("interface", 6, 6), "T1": ("type", 7, 7), "E": ("enum", 8, 8),
         "AB": ("class", 9, 9), "AB.m": ("method", 9, 9)},
        ('import { x } from "./b";',),
    ),
    "a.tsx": (
        "export function View(p: P) { return <div>{p.text}</div> }\n",
        {"View": ("function", 1, 1)},
        (),
    ),
    "a.js": (
        """const x = require('./y');
// does it
function foo(a) { return 1 }
class B { bar() {} }
exports.q = function() {};
""",
        {"x": ("constant", 1, 1), "foo": ("function", 3, 3), "B": ("class", 4, 4),
         "B.bar": ("method", 4, 4), "q": ("function", 5, 5)},
        ("./y",),
    ),
    "a.go": (
        """package main
import ("fmt"; "a/b")
// Server serves.
type Server struct { a int }
func (s *Server) Run(a int) error { return nil }
func New() *Server { return nil }
const Max = 3
""",
        {"Server": ("type", 4, 4), "Server.Run": ("method", 5, 5), "New": ("function", 6, 6),
         "Max": ("constant", 7, 7)},
        ('"fmt"', '"a/b"'),
    ),
    "a.rs": (
        """use std::io;
/// A struct.
#[cfg(feature = "x")]
pub struct Foo<T> { a: T }
impl<T> Foo<T> {
    pub fn new(a: T) -> Self { Foo { a } }
}
pub trait Trait { fn m(&self); }
mod inner { pub fn deep() {} }
macro_rules! mm { () => {} }
""",
        {"Foo": ("struct", 4, 4), "Foo.new": ("method", 6, 6), "Trait": ("trait", 8, 8),
         "Trait.m": ("method", 8, 8), "inner": ("module", 9, 9),
         "inner.deep": ("function", 9, 9), "mm": ("macro", 10, 10)},
        ("use std::io;",),
    ),
    "a.java": (
        """package x; import java.util.List;
/** Doc. */
@Deprecated public class A extends B {
  @Override public int foo(int a) { return 1; }
  A() {}
  enum Q { X }
}
""",
        {"A": ("class", 3, 7), "A.foo": ("method", 4, 4), "A.A": ("method", 5, 5),
         "A.Q": ("enum", 6, 6)},
        ("import java.util.List;",),
    ),
    "a.c": (
        """#include "b.h"
#define MAX 3
#ifdef DEBUG
/* debugging */
static int *dbg(int a) { return 0; }
#endif
struct s { int a; };
typedef struct t_ { int b; } t;
int proto(void);
""",
        {"MAX": ("macro", 2, 2), "dbg": ("function", 5, 5), "s": ("struct", 7, 7),
         "t": ("type", 8, 8), "proto": ("function", 9, 9)},
        ('#include "b.h"',),
    ),
    "a.cpp": (
        """#include <b>
namespace n {
// The class.
class C : public D { public: int foo() { return 1; } };
template <typename T> T tmpl(T a) { return a; }
}
int C::decl(int a) { return a; }
""",
        {"n": ("module", 2, 6), "n.C": ("class", 4, 4), "n.C.foo": ("method", 4, 4),
         "n.tmpl": ("function", 5, 5), "C.decl": ("method", 7, 7)},
        ("#include <b>",),
    ),
    "a.rb": (
        """require 'x'
# The module.
module M
  class K < Base
    LIM = 3
    def foo(a, b = 1)
      "text #{bar}"
    end
    def self.s; end
  end
end
""",
        {"M": ("module", 3, 11), "M.K": ("class", 4, 10), "M.K.LIM": ("constant", 5, 5),
         "M.K.foo": ("method", 6, 8), "M.K.s": ("method", 9, 9)},
        ("require 'x'",),
    ),
    "a.cs": (
        """using System;
namespace N.M {
  [Serializable] public class A : B { public int Foo(int a) => 1; public int P { get; set; } }
  interface I {}
}
""",
        {"N.M": ("module", 2, 5), "N.M.A": ("class", 3, 3), "N.M.A.Foo": ("method", 3, 3),
         "N.M.A.P": ("property", 3, 3), "N.M.I": ("interface", 4, 4)},
        ("using System;",),
    ),
    "a.php": (
        """<?php
namespace A; use B\\C;
/** Doc */
#[Attr]
class K extends L { const X = 1; public function foo(int $a): int { return bar($a); } }
function f() {}
""",
        {"K": ("class", 4, 5), "K.X": ("constant", 5, 5), "K.foo": ("method", 5, 5),
         "f": ("function", 6, 6)},
        ("use B\\C;",),
    ),
    "a.sh": (
        """#!/bin/bash
source ./lib.sh
foo() { echo "hi"; }
X=1
""",
        {"foo": ("function", 3, 3), "X": ("constant", 4, 4)},
        ("source ./lib.sh",),
    ),
    "a.md": (
        """# Title

text

## Part
```
# no heading
```
Setext
======
### deep
""",
        {"Title": ("heading", 1, 8), "Title.Part": ("heading", 5, 8),
         "Setext": ("heading", 9, 11), "Setext.deep": ("heading", 11, 11)},
        (),
    ),
}  # fmt: skip


def read(path: str, text: str | None = None) -> SourceFile:
    syntax = syntax_of(path)
    assert syntax is not None
    return extract(path, SAMPLES[path][0] if text is None else text, syntax)


@pytest.mark.parametrize("path", SAMPLES)
def test_definitions_have_their_kind_and_lines(path: str) -> None:
    found = {s.qualified: (s.kind, s.line, s.end) for s in read(path).symbols}
    assert SAMPLES[path][1].items() <= found.items(), found


@pytest.mark.parametrize("path", SAMPLES)
def test_imports_are_kept_as_written(path: str) -> None:
    assert read(path).imports == SAMPLES[path][2]


def test_every_language_of_the_issue_has_a_sample() -> None:
    sampled = {syntax_of(path) for path in SAMPLES}
    assert sampled == set(SYNTAXES)


@pytest.mark.parametrize(
    ("path", "name", "signature", "doc", "attributes"),
    [
        ("a.py", "A", "class A(Base)", "A thing. More.", ("@frozen(slots=True)",)),
        ("a.py", "A.foo", "def foo(self, a: int, b: str) -> int", "Foo doc.", ("@property",)),
        ("a.ts", "C", "class C extends D<T>", "Doc of C.", ("@Dec()",)),
        ("a.js", "foo", "function foo(a)", "does it", ()),
        ("a.go", "Server", "Server struct", "Server serves.", ()),
        ("a.go", "Server.Run", "func (s *Server) Run(a int) error", "", ()),
        ("a.rs", "Foo", "pub struct Foo<T>", "A struct.", ('#[cfg(feature = "x")]',)),
        ("a.java", "A", "@Deprecated public class A extends B", "Doc.", ("@Deprecated",)),
        ("a.c", "dbg", "static int *dbg(int a)", "debugging", ("#ifdef DEBUG",)),
        ("a.cpp", "n.C", "class C : public D", "The class.", ()),
        ("a.rb", "M", "module M", "The module.", ()),
        ("a.cs", "N.M.A", "public class A : B", "", ("[Serializable]",)),
        ("a.php", "K", "class K extends L", "Doc", ("#[Attr]",)),
        ("a.sh", "foo", "foo()", "", ()),
    ],
)
def test_a_card_has_signature_doc_comment_and_attributes(
    path: str, name: str, signature: str, doc: str, attributes: tuple[str, ...]
) -> None:
    """Seed 003:141-149: path, snippet, doc comment, cfg attributes."""
    symbol = next(s for s in read(path).symbols if s.qualified == name)
    assert (symbol.signature, symbol.doc, symbol.attributes) == (signature, doc, attributes)


def test_names_in_comments_and_strings_are_no_references() -> None:
    file = read("a.py")
    assert {"bar", "baz", "Base", "frozen"} <= file.uses.keys()
    assert not {"remark", "text", "thing"} & file.uses.keys()
    assert "remark" in file.words


def test_what_is_local_to_a_function_is_not_listed() -> None:
    assert "inner" not in {s.name for s in read("a.py").symbols}


@pytest.mark.parametrize("path", SAMPLES)
def test_broken_text_gives_what_can_be_told_of_it(path: str) -> None:
    text = SAMPLES[path][0]
    for cut in range(0, len(text), 7):
        read(path, text[:cut] + "\x00(((" + text[cut + 3 :])
    assert read(path, "").symbols == ()


def test_a_huge_line_and_deep_nesting_do_not_stall() -> None:
    assert read("a.js", "x = [" + "1," * 200_000 + "]\n").lines == 1
    read("a.py", "(" * 20_000)


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/pkg/a.py", "src.pkg.a"),
        ("src/pkg/__init__.py", "src.pkg"),
        ("web/index.ts", "web"),
        ("core/mod.rs", "core"),
        ("main.go", "main"),
        ("index.ts", "index"),
    ],
)
def test_module_paths(path: str, module: str) -> None:
    """Seed 003:145: a card's module path."""
    assert module_of(path) == module
