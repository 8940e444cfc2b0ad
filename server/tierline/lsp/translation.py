"""The fields of the protocol that are sentences to the user, translated into the client's language.

None of them holds text of the user, a model or a file, or a value that clients compare.
"""

from __future__ import annotations

from typing import Any

from tierline import protocol as p
from tierline.localization.translator import Translator, translator

TRANSLATED_FIELDS: dict[type, tuple[str, ...]] = {
    p.CacheDecision: ("sentence",),
    p.CacheExplainResult: ("sentence",),
    p.CacheReport: ("sentence",),
    p.ChangeForecast: ("sentence",),
    p.ChatMessage: ("note",),
    p.ChatSendResult: ("notices",),
    p.CommandInfo: ("doc",),
    p.CommandResult: ("title", "text"),
    p.CompactionError: ("message", "advice"),
    p.CompactionNone: ("reason",),
    p.CompactionResult: ("reason",),
    p.ConsentInfo: ("title", "text", "detail"),
    p.EditInfo: ("reason",),
    p.FileInfo: ("reason",),
    p.FilesResult: ("notices",),
    p.HistoryStatus: ("compaction_note",),
    p.ImportResult: ("left_out",),
    p.InstructionInfo: ("why",),
    p.KeyCheckResult: ("message",),
    p.MentionInfo: ("why",),
    p.NewSessionFiles: ("sentence",),
    p.Notice: ("text",),
    p.PinInfo: ("why",),
    p.PlanEntryInfo: ("reason",),
    p.PlanExplainResult: ("sentence",),
    p.ProviderInfo: ("why",),
    p.RetrievalCandidate: ("why", "reason"),
    p.RetrievalInfo: ("note",),
    p.SymbolsStatus: ("why",),
    p.ToolCallInfo: ("note",),
    p.TurnFinished: ("error", "advice"),
    p.UrlsResult: ("notices",),
    p.Waiting: ("text",),
}
"""Value class → its fields, texts or lists of texts."""


class ClientLanguage:
    """The client's language, known after ``initialize``; English until then."""

    def __init__(self) -> None:
        self._translator: Translator | None = None

    def choose(self, locale: str | None) -> None:
        """Take the client's language (``InitializeParams.locale``), if there is a catalogue."""
        self._translator = translator(locale or "")

    def say(self, text: str) -> str:
        """A sentence in the client's language."""
        return self._translator.say(text) if self._translator and text else text

    def value(self, value: Any, wire: dict[str, Any]) -> dict[str, Any]:
        """The translated wire value of one of the classes in ``TRANSLATED_FIELDS``."""
        if self._translator is None:
            return wire
        if isinstance(value, p.CommandResult):
            # A document holds messages word for word, so it is not translated.
            said = (
                wire["text"] if value.document else self._translator.translate_lines(wire["text"])
            )
            return wire | {"title": self.say(wire["title"]), "text": said}
        for name in map(p.camel, TRANSLATED_FIELDS[type(value)]):
            text = wire.get(name)
            if isinstance(text, str):
                wire[name] = self.say(text)
            elif isinstance(text, list):
                wire[name] = [self.say(one) for one in text]
        return wire
