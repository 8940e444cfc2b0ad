"""Names in a text: file names and identifiers.

A dot alone makes no file: ``user.name`` and ``time.Minute`` are attributes, ``example.com`` is a
host, ``1.2.3`` a version. What is a file has an ending that files have, or stands in folders, or is
one of the names without an ending that tools look for.
"""

from __future__ import annotations

import re

_ENDINGS = frozenset(
    """adoc asm astro avif avro bash bat bazel bib bin bmp bz2 c cc cfg cjs clj cljs cmake cmd
    coffee conf cpp cr cs csproj css csv cts cu cuh cxx d dart db dbf diff dll dockerfile
    docx dylib edn ejs el elm eot erb erl ex exe exs f90 feature fish flac fs fsx gif glsl
    go gql gradle graphql groovy gz h haml hbs hcl hh hpp hrl hs htm html hxx ico idl iml in
    inc ini ino ipynb jar java jinja jinja2 jks jl jpeg jpg js json json5 jsonc jsonl jsx kt
    kts less lhs liquid lisp lua m4 markdown md mdc mdx mjs mk ml mli mm mod mp3 mp4 mpy mts
    ndjson nim nix npy npz o odt ods ogg orig otf parquet patch pbxproj pdf pem php phtml
    pkl pl plist png po pot pptx prisma properties proto ps1 psd pug pxd py pyc pyd pyi pyx
    qml r rake rb rego rej rkt rs rst s sass sbt scala scm scss sh sln so sol sql sqlite
    sqlite3 srt styl sum sv svelte svg swift tar tcl templ tex tf tfstate tfvars tgz thrift
    tif tiff toml tpl ts tsv tsx ttf twig txt v vb vbproj vcxproj vert vhd vim vsix vue wasm
    wav webm webp whl wgsl woff woff2 xaml xcf xhtml xlsx xml xsd xsl xslt xz yaml yml zig
    zsh zst""".split()  # noqa: SIM905
)
_ATTRIBUTES = frozenset(
    """class config data env key lock log map next out pid pub test text tmp zip bak""".split()  # noqa: SIM905
)
"""Endings of files that are names of attributes as well: files only if the rest looks like one."""
"""Those of them that a plain name before them makes a file: ``app.log``."""
_OBJECTS = re.compile(
    r"(?:self|this|cls|np|pd|os|re|sys|math|console|window|document|process|logger|import\.meta|res"
    r"|req|request|response|result|r|e|ctx|obj|item|args|params|props|state|event|torch|Math|Object"
    r"|JSON|Array|Promise)",
    re.IGNORECASE,
)
"""Objects that have attributes: ``response.json``, ``math.log``."""
_LIBRARIES = re.compile(
    r"(?:node|vue|next|nuxt|express|react|three|d3|ember|backbone|chart|alpine|moment|discord|p5"
    r"|require|socket\.io|knockout|deck|handlebars|jquery)\.js|docs\.rs|asp\.net|crates\.io",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"(?:[\w-]+\.)+(?:com|org|net|io|dev|app|ai|co|edu|gov|info|example|localhost|de|at|ch|eu|uk|fr"
    r"|internal|test)",
    re.IGNORECASE,
)
_PLAIN = (
    r"(?:Makefile|Dockerfile|Containerfile|Jenkinsfile|Vagrantfile|Procfile|Rakefile|Gemfile"
    r"|Pipfile"
    r"|Brewfile|Justfile|justfile|LICENSE|CODEOWNERS|BUILD|WORKSPACE)"
)
_DOTFILE = (
    r"\.(?:env|[a-z]+ignore|[a-z]+rc|gitattributes|gitmodules|gitkeep|editorconfig|flake8|htaccess"
    r"|python-version|nvmrc|node-version|tool-versions|mailmap|dockerignore)(?:\.\w+){0,3}"
)
_CANDIDATE = re.compile(
    r"(?<![\w@:/.\\-])(?:"
    rf"(?P<path>(?:[A-Za-z]:[/\\]|\.{{0,3}}[/\\])?(?:[\w.@~+-]+[/\\])*(?:{_DOTFILE}"
    rf"|[\w@+.-]*\w\.[A-Za-z]\w{{0,9}}"
    rf"|{_PLAIN}(?:\.\w+)?))(?![\w(/\\])"
    r"|\.{2,3}(?P<dots>[\w-]+\.[a-z]\w{0,5})(?![\w(/\\]))"
)
_ROOT = re.compile(r"^(?:[A-Za-z]:|\.*[/\\]|\.\.+)+")
"""What stands before the name of a relative or absolute path."""
_NAME = re.compile(
    r"(?<![\w/.-])(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(\)"
    r"|[A-Za-z]+(?:_[A-Za-z0-9]+)+|_[a-z]\w+"
    r"|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,})(?![\w/-])"
)


def file_names(text: str) -> list[str]:
    """Paths and file names in a text, in order, repeated as often as they occur."""
    return [name for name, _ in _found(text)]


def identifiers(text: str) -> list[str]:
    """Names of code in a text: ``snake_case``, ``camelCase``, ``CamelCase``, ``call()``."""
    return [m[0].removesuffix("()") for m in _NAME.finditer(without_files(text))]


def without_files(text: str) -> str:
    """The text with a blank for each file name, whose parts are no identifiers."""
    parts: list[str] = []
    last = 0
    for _, (start, end) in _found(text):
        parts += [text[last:start], " "]
        last = end
    return "".join([*parts, text[last:]])


def _found(text: str) -> list[tuple[str, tuple[int, int]]]:
    found = []
    for match in _CANDIDATE.finditer(text):
        raw = match["dots"] or match["path"] or ""
        name = _ROOT.sub("", raw.replace("\\", "/"))
        if name and _is_file(name, in_folder="/" in raw or "\\" in raw):
            found.append((name, match.span()))
    return found


def _is_file(name: str, *, in_folder: bool) -> bool:  # noqa: PLR0911 - one per kind of name
    folder, _, last = name.rpartition("/")
    if _LIBRARIES.fullmatch(name) or (folder and _HOST.fullmatch(folder.partition("/")[0])):
        return False
    if re.fullmatch(rf"{_PLAIN}(?:\.\w+)?", last):
        return True
    if re.search(r"\w@", name):
        return False
    base, _, ending = last.rpartition(".")
    if last.startswith("."):
        return base == "" or _known(ending) or re.fullmatch(_DOTFILE, last) is not None or in_folder
    if len(base) == 1 and len(ending) == 1:
        return in_folder
    if _known(ending):
        return in_folder or not (
            _OBJECTS.fullmatch(base) or (base[-1:].isdigit() and ending == "x")
        )
    if ending in _ATTRIBUTES:
        return in_folder or (
            not _OBJECTS.fullmatch(base)
            and (
                ending in ("log", "lock", "tmp", "bak", "zip", "pid") or "-" in base or "." in base
            )
        )
    plain = "." not in folder.replace("..", "") and ending.islower() and ending.isalnum()
    return in_folder and plain and "." not in base


def _known(ending: str) -> bool:
    """``README.MD`` and ``plot.R`` are files, ``time.Go`` is none."""
    return ending in _ENDINGS or (
        ending.isupper() and ending.lower() in _ENDINGS and (len(ending) > 1 or ending == "R")
    )
