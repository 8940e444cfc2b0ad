"""Which languages are indexed, and how their syntax trees say what is defined.

Each query captures the node of a definition as ``@<kind>`` and its name as ``@name``; ``@comment``
and ``@string`` mark text that is not code, ``@import`` the statements that import. The grammars are
imported when the first file of a language is met, in the index's own process.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from tree_sitter import Language, Query


@frozen
class Syntax:
    """How a language is read."""

    name: str
    module: str
    """Python module of the grammar."""
    endings: tuple[str, ...]
    query: str
    function: str = "language"
    names: tuple[str, ...] = ()
    """File names without such an ending that are in this language."""
    bodies: frozenset[str] = frozenset({"body"})
    """Fields under which a definition holds what is no part of its signature."""


_PYTHON = """
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @constant))
(type_alias_statement left: (type (identifier) @name)) @type
(import_statement) @import
(import_from_statement) @import
(comment) @comment
(string_content) @string
"""
_SCRIPT = """
(class_declaration name: (_) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @method
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant))
(program (export_statement
  (lexical_declaration (variable_declarator name: (identifier) @name) @constant)))
(import_statement) @import
(comment) @comment
(string) @string
(template_string (string_fragment) @string)
"""
_JAVASCRIPT = (
    _SCRIPT
    + """
(class_declaration name: (identifier) @name) @class
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @function
"""
)
_TYPESCRIPT = (
    _SCRIPT
    + """
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(function_signature name: (identifier) @name) @function
(abstract_method_signature name: (property_identifier) @name) @method
(internal_module name: (_) @name) @module
"""
)
_GO = """
(function_declaration name: (identifier) @name) @function
(method_declaration name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
(source_file (const_declaration (const_spec name: (identifier) @name) @constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @constant))
(import_spec) @import
(comment) @comment
(interpreted_string_literal) @string
(raw_string_literal) @string
"""
_RUST = """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(union_item name: (type_identifier) @name) @struct
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(mod_item name: (identifier) @name body: (_)) @module
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @constant
(macro_definition name: (identifier) @name) @macro
(impl_item type: (_) @name) @impl
(use_declaration) @import
(line_comment) @comment
(block_comment) @comment
(string_literal) @string
(raw_string_literal) @string
"""
_JAVA = """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @class
(annotation_type_declaration name: (identifier) @name) @interface
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(import_declaration) @import
(line_comment) @comment
(block_comment) @comment
(string_literal) @string
"""
_C = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name)))) @function
(translation_unit (declaration
  declarator: (function_declarator declarator: (identifier) @name)) @function)
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name))
  @constant)
(preproc_include) @import
(comment) @comment
(string_literal) @string
"""
_CPP = (
    _C
    + """
(class_specifier name: (type_identifier) @name body: (_)) @class
(namespace_definition name: (_) @name) @module
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @method
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier) @name)) @method
(function_definition declarator: (reference_declarator
  (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (qualified_identifier) @name))) @method
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @method
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type
(using_declaration) @import
(raw_string_literal) @string
"""
)
_RUBY = """
(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(program (assignment left: (constant) @name) @constant)
(body_statement (assignment left: (constant) @name) @constant)
(call method: (identifier) @_m (#match? @_m "^(require|require_relative|load)$")) @import
(comment) @comment
(string_content) @string
"""
_C_SHARP = """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(struct_declaration name: (identifier) @name) @struct
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @class
(delegate_declaration name: (identifier) @name) @type
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(property_declaration name: (identifier) @name) @property
(namespace_declaration name: (_) @name) @module
(using_directive) @import
(comment) @comment
(string_literal) @string
(verbatim_string_literal) @string
"""
_PHP = """
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(const_element (name) @name) @constant
(namespace_use_declaration) @import
(comment) @comment
(string) @string
"""
_BASH = """
(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @constant)
(command name: (command_name) @_c (#match? @_c "^(source|[.])$")) @import
(comment) @comment
(raw_string) @string
"""

SYNTAXES: tuple[Syntax, ...] = (
    Syntax("python", "tree_sitter_python", (".py", ".pyi", ".pyw"), _PYTHON),
    Syntax("javascript", "tree_sitter_javascript", (".js", ".jsx", ".mjs", ".cjs"), _JAVASCRIPT),
    Syntax(
        "typescript", "tree_sitter_typescript", (".ts", ".mts", ".cts"), _TYPESCRIPT,
        function="language_typescript",
    ),
    Syntax(
        "tsx", "tree_sitter_typescript", (".tsx",), _TYPESCRIPT, function="language_tsx",
    ),
    Syntax("go", "tree_sitter_go", (".go",), _GO),
    Syntax("rust", "tree_sitter_rust", (".rs",), _RUST),
    Syntax("java", "tree_sitter_java", (".java",), _JAVA),
    Syntax("c", "tree_sitter_c", (".c", ".h"), _C),
    Syntax(
        "cpp", "tree_sitter_cpp",
        (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".ipp", ".inl"), _CPP,
    ),
    Syntax(
        "ruby", "tree_sitter_ruby", (".rb", ".rake", ".gemspec"), _RUBY,
        names=("Rakefile", "Gemfile"),
    ),
    Syntax("csharp", "tree_sitter_c_sharp", (".cs",), _C_SHARP),
    Syntax("php", "tree_sitter_php", (".php",), _PHP, function="language_php"),
    Syntax("bash", "tree_sitter_bash", (".sh", ".bash"), _BASH),
    Syntax("markdown", "tree_sitter_markdown", (".md", ".markdown"), ""),
)  # fmt: skip

_BY_ENDING = {ending: syntax for syntax in SYNTAXES for ending in syntax.endings}
_BY_NAME = {name: syntax for syntax in SYNTAXES for name in syntax.names}
_TEXTS = frozenset(
    """.toml .yaml .yml .json .cfg .ini .txt .rst .html .css .scss .sql .proto .xml .gradle
    .cmake .mk .vue .svelte .lua .pl .pm .swift .kt .kts .scala .ex .exs .erl .hs .ml .r .jl
    .dart .zig .nim .m .mm .S .s .am .ac .in .el .vim .tf .bat .ps1 .adoc .org .tex .m4 .py.in
    .l .y .ll .yy .asm""".split()  # noqa: SIM905
)
_TEXT_NAMES = frozenset(
    [
        "Makefile",
        "Dockerfile",
        "CMakeLists.txt",
        "README",
        "LICENSE",
        "CHANGES",
        "ChangeLog",
        "NEWS",
        "configure.ac",
    ]
)


def syntax_of(path: str) -> Syntax | None:
    """The syntax of a file, by its name."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    ending = name[dot:].lower() if dot > 0 else ""
    return _BY_ENDING.get(ending) or _BY_NAME.get(name)


def is_text(path: str) -> bool:
    """True for files without a syntax that are searched by their words all the same."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name in _TEXT_NAMES or (dot > 0 and name[dot:] in _TEXTS)


@cache
def load(syntax: Syntax) -> tuple[Language, Query | None]:
    """The grammar and its query.

    Raises:
        ImportError: the grammar is not installed for this platform.
    """
    from tree_sitter import Language, Query

    module = importlib.import_module(syntax.module)
    language = Language(getattr(module, syntax.function)())
    return language, Query(language, syntax.query) if syntax.query else None
