"""Whether a prompt is about the workspace's code at all. Decided before anything is retrieved.

A large workspace contains nearly every English word, so one word that occurs in it proves nothing.
Evidence, from strong to weak: a name or path of the workspace; two adjacent words that one name or
path consists of ("rate limit": ``RateLimiter``); a large share of the prompt's words in the names
of one file. Talk about programming lowers the share that is needed; a request for something that is
not code ("a poem about …") raises it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from attrs import field, frozen

from tierline.context.retrieval.words import (
    STOP,
    is_german,
    original_spellings,
    query_terms,
    stem,
    terms,
)

SHARE_IN_TALK = 0.3
"""Share of the prompt's words in a file's names that is enough in talk about programming."""
SHARE_BESIDE = 0.3
"""Share that is enough if two of them are adjacent in the prompt and in one name."""
SHARE_OF_PATH = 0.35
"""Share that is enough if the rarest of them is in the file's name."""
SHARE = 0.5
"""Share that is enough otherwise, with at least two words."""

_WORD = re.compile(r"[^\W\d_]+")
_CODE_SHAPE = re.compile(
    r"```|\b[a-z0-9]+_[a-z0-9_]+\b|\b[a-z]+[A-Z]\w*|\b\w+\(\)|\b[A-Z]\w+(?:Error|Exception)\b"
    r"|^Traceback|\b[\w-]+\.(?:py|tsx?|jsx?|go|rs|java|rb|cs|php|sh|cc?|cpp|h|md|toml|ya?ml|json)\b",
    re.MULTILINE,
)
_YOU = re.compile(r"\b(?:you|your|du|dir|dich|dein\w*|recommend\w*|empf\w+)\b", re.IGNORECASE)
_DOUBLED = re.compile(r"(?<=[a-z]{2})([bdgmnprt])\1$")
_BESIDE = re.compile(r"[\s\-_/'’]{1,3}(?:of |the |a |for |s )?")


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


TALK = _stems(
    """algorithm api app argument assert async attribute backend bug build cached class cli code
    codebase command commit compile compiler compute computed config configuration constant
    constructor crash debug decode decorator default dependency deprecate deprecated docstring
    encode encoding endpoint enum error exception fail failing failure feature field file fix
    fixture flag folder frontend function generic handler hang helper implement implementation
    implemented import inherit inheritance init initialise initialize instance integration
    interface invoke issue json leak lib library linter literal log logging loop merge method
    migration mock module mypy namespace null object optimise optimize output override package
    parameter params parse parser patch performance pipeline plugin private property protocol
    public pull rebuild rebuilt refactor refactoring regex regexp regression rename repo
    repository request response restart return rewrite runtime schema script sdk serialise
    serialize server setting signature snippet source sql stacktrace statement struct stub
    subclass suite symbol syntax test tested tests thread throw timeout todo traceback type
    typing undefined unit unused usage utf validate validation variable warning wire wrapper
    abhängigkeit anwendung argumente ausnahme befehl behebe behebt bibliothek datei dateien
    einstellung einstellungen fehler fehlermeldung feld funktion funktionen implementiere
    implementiert implementierung klasse klassen konstante korrigiere methode methoden modul
    module objekt ordner paket parameter quelltext rückgabe rückgabewert schnittstelle stürzt
    teste testen umbenennen variable variablen verzeichnis"""
)
"""Words of talk about programming, in English and German."""

NO_CODE = _stems(
    """anecdote bedtime birthday carol cv dinner email essay fable fairytale greeting haiku
    horoscope invitation joke letter limerick lullaby lyrics movie novel ode poem poems poetry
    proverb recipe restaurant resume rhyme riddle slogan song sonnet speech story tale toast
    tweet vacation verse weather wedding
    anekdote brief einladung geburtstag gedicht gedichte geschichte grußkarte lied märchen rede
    reim rezept sprichwort urlaub vers wetter witz witze"""
)
"""Words of requests for something that is not code; without words that are common in code:
``translate``, ``message``, ``post``.
"""

GENERIC = _stems(
    """able actually add adding agreed ahead also anything ask back best better big bit bring change
    check come compare compose consider continue create decide decides describe difference different
    difficult does else empty every everything explain fast find first follow found give go good
    great happen hello help helpful hey hi idea keep kind know large last learn leave like list
    little long look lot made many mean meaning mention move much name need never new next nice
    nothing number ok okay old open order part people place please possible put question quick
    read reason recognise recognised recommend remember remove right run say see seem send sent
    set short show simple simpler slow small something sort sound sounds speak speaks
    start stay stop sure
    take tell thank thanks thing think time today tomorrow try understand update user want watch
    way well whole word work write wrong year yesterday
    bitte danke erklär erkläre gib hallo hilf hilfe kannst mach mache möchte schreib schreibe
    zeig zeige"""
)
"""Words that name an action and not its object; alone in a name they prove nothing."""


@frozen
class FileTerms:
    """The words of one file's path and of its symbols' names, each as a set of roots."""

    path: frozenset[str]
    symbols: tuple[frozenset[str], ...] = ()

    @classmethod
    def of(cls, path: str, names: Iterable[str]) -> FileTerms:
        """The words of a path and of the names in the file."""
        bare = path.rpartition(".")[0] or path
        return cls(
            _roots(terms(bare.replace("/", " "))), tuple(_roots(terms(name)) for name in names)
        )


@frozen
class PromptTerms:
    """A prompt's words and signs that it is about code."""

    words: tuple[str, ...]
    """Stems of its words, without ``GENERIC`` ones."""
    beside: Mapping[frozenset[str], frozenset[str]] = field(factory=dict)
    """Pairs of adjacent words, by the roots that a name may have of them: both, or the one word
    that they form ("page rank": ``pagerank``).
    """
    german: bool = False
    """It is German: words that it shares with the code are hardly shared by chance."""
    talk: bool = False
    """It is about programming, or contains code."""
    no_code: bool = False
    """It asks for something that is not code."""
    personal: bool = False
    """It is about the model itself."""

    @classmethod
    def of(cls, text: str) -> PromptTerms:
        """Read a prompt."""
        said = {stem(word.lower()) for word in _WORD.findall(text)}
        shape = bool(_CODE_SHAPE.search(text))
        whole = said | {stem(part) for word in text.split() for part in original_spellings(word)}
        words = [w for w in query_terms(text) if w not in GENERIC and w in whole]
        words += sorted({w for w in map(str.lower, _WORD.findall(text)) if _only_as_stem(w)})
        about = tuple(w for w in words if w not in TALK) or tuple(words)
        return cls(
            about,
            _pairs(text, frozenset(query_terms(text))),
            german=is_german(text),
            talk=shape or bool(said & TALK),
            no_code=bool(said & NO_CODE),
            personal=bool(_YOU.search(text)),
        )

    def means(self, names: FileTerms, rarity: Callable[[str], float]) -> bool:
        """True if the prompt is likely about this file, though it does not name it.

        ``rarity`` of a word is 0 if no file has it, and grows the fewer have it.
        """
        if self.no_code or not self.words:
            return False
        held = names.path.union(*names.symbols)
        beside = [
            pair
            for made, pair in self.beside.items()
            if any(made <= name for name in (names.path, *names.symbols))
        ]
        held = held.union(*map(_roots, beside))
        hits = [word for word in self.words if _root(word) in held]
        most = max(1.0, *(rarity(word) for word in self.words))
        weights = {word: max(rarity(word) or most, most / 2) for word in self.words}
        share = sum(weights[word] for word in hits) / sum(weights.values())
        if beside:
            return self.talk or share >= SHARE_BESIDE
        if len(hits) > (1 if self.talk else 2):  # a long prompt: names cover a part
            return True
        if self.talk or self.german:
            return bool(hits) and share >= SHARE_IN_TALK
        if len(hits) > 1:
            return share >= SHARE
        called = (
            bool(hits)
            and _root(hits[0]) in names.path
            and weights[hits[0]] >= max(weights.values())
        )
        return bool(hits) and share > (SHARE_OF_PATH if called else SHARE) and not self.personal


def reason_words(text: str, words: Iterable[str]) -> list[str]:
    """Words as the prompt writes them, in the given order."""
    written = original_spellings(text)
    return list(dict.fromkeys(written.get(word, word) for word in words))


def _pairs(text: str, words: frozenset[str]) -> dict[frozenset[str], frozenset[str]]:
    """Pairs of adjacent words of a prompt, with at most a stop-word between."""
    found = {}
    placed = [(m.start(), m.end(), m[0].lower()) for m in _WORD.finditer(text)]
    for place, (_, end, word) in enumerate(placed):
        for start, _, other in placed[place + 1 : place + 3]:
            pair = frozenset((stem(word), stem(other)))
            if len(pair) == 2 and pair <= words and _BESIDE.fullmatch(text[end:start]):
                found[_roots(pair)] = found[_roots((stem(word + other),))] = pair
    return found


def _only_as_stem(word: str) -> bool:
    """True if only the stem is a stop-word: ``evening`` is not one, though ``even`` is."""
    return word not in STOP and stem(word) in STOP and not query_terms(word)


def _roots(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_root, words))


def _root(word: str) -> str:
    """The root that forms of a word share: ``embeddings`` and ``embeds``."""
    again = _DOUBLED.sub(r"\1", stem(word))
    return again if again == word else _root(again)
