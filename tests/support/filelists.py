"""Short ways to fill the list of files in tests, and to see what is sent of it."""

from __future__ import annotations

from tierline.context.files import FileContext
from tierline.context.filetext import file_text
from tierline.context.refusals import Refusal
from tierline.workspace.loader import LoadedFile, Loader


class Words:
    """A counter whose figures a test can work out: one token per blank-separated word."""

    def count(self, text: str) -> int:
        return len(text.split())


def add(files: FileContext, **texts: str) -> FileContext:
    """List files of these texts: ``src__b_py`` is ``src/b.py``."""
    for name, text in texts.items():
        files.put(name.replace("__", "/").replace("_py", ".py"), file_text(text))
    return files


def take(files: FileContext, loader: Loader, path: str) -> LoadedFile | Refusal:
    """List a file as the session lists one, or the reason why it is not."""
    found = loader.load(path)
    if isinstance(found, LoadedFile):
        files.put(found.key, found.content, **found.listing)
    return found


def text_of(files: FileContext, path: str) -> str | None:
    """A listed file's text; None if it is not listed."""
    entry = files.get(path)
    return None if entry is None else entry.text


def sent(files: FileContext) -> str:
    """All files that are sent, as they are sent."""
    return "\n".join(item.text for item in files.to_items(Words()))
