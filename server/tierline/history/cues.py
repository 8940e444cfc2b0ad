"""Classifying sentences of a conversation: rules, questions, answers, tasks, reports of success. By
words and patterns of English and German; a sentence may belong to no class.
"""

from __future__ import annotations

import re

_LEAD = (
    r"^\W*(?:(?:please|also|and|but|ok(?:ay)?|so|then|now|remember|important|note|rule|reminder"
    r"|wichtig|merke?|bitte|und|auch|also|aber|regel)\b[\s,:;.!-]*)*"
)
_FROM_NOW = (
    r"from (?:now|here|this point|today) on(?:wards?)?|as of (?:now|today)|going forward|henceforth"
    r"|in (?:the )?future\b|for (?:all|any) (?:future|further)|for the rest of (?:this|the)"
    r"|as a (?:general )?rule|standing rule|rule of thumb|at all times|no matter what"
    r"|under no circumstances|ab (?:jetzt|sofort|nun|heute)|von (?:jetzt|nun) an|künftig|zukünftig"
    r"|in zukunft|grundsätzlich|auf keinen fall|unter keinen umständen|in jedem fall"
)
_THIRD = (
    r"(?!\w+(?<!s)(?<!u)(?<!i)s\b|\w+ed\b|(?:mind|been|again|saw|see|had|got|get|did|was|were|went"
    r"|came|knew|thought|said|happens?)\b)"
)
"""Excludes reports of what something does or did: "always fails", "never worked"."""
_WRITTEN = (
    r"functions?|methods?|class|module|file|test|endpoint|route|query|migration|commit|change|fix"
    r"|feature|pull request|pr|api|component|message|string|answer|reply|comment|table|column"
    r"|setting|option|command|page|script"
)
"""What programmers write, singular."""
_RULES = (
    re.compile(rf"\b(?:{_FROM_NOW})\b", re.IGNORECASE),
    re.compile(
        rf"{_LEAD}(?:always|never(?: ever)?|(?:don't|do not) ever|(?:don't|do not) (?:ever"
        rf" )?forget)"
        rf"\s+{_THIRD}[\w'-]+",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:you|we|i want you to|make sure(?: that you| you)?(?: to)?|be sure to|(?:i'd|i"
        r" would) like"
        r" you to|(?:you|we) (?:should|must|need to|have to|are to|shall|will|may|can))"
        rf" (?:please )?(?:always|never) {_THIRD}[\w'-]+",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:{_LEAD}|[:,;]\s+|\band )(?:[a-z]+e?|don't|do not) (?:[\w'`\"./-]+ ){{0,6}}(?:every"
        rf" time"
        r"|each time|everywhere|for every (?:change|commit|answer|reply|file|test|function)"
        r"|throughout)\b",
        re.IGNORECASE,
    ),
    re.compile(rf"{_LEAD}(?:whenever|every time|each time) (?:you|we|i)\b.+,", re.IGNORECASE),
    re.compile(
        r"\bin this (?:project|repo|repository|code ?base|session|workspace|conversation),?"
        r" (?:(?:we |you |please )?(?:always|never|use|do|don't|must|should)"
        r"|(?:[\w'-]+ ){1,4}(?:must|should|has to|have to|goes? through|never|always)\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_LEAD}every (?:new |public |single )*(?:{_WRITTEN})\b(?: [\w'-]+){{0,4}} (?:needs|must"
        rf"|should|has to)\b|{_LEAD}(?:jede[rsmn]?) (?:neue[rsmn]? )?\w+ (?:braucht|muss|soll)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:you|du) (?:must not|mustn't|may not|are not allowed to|darfst (?:\w+ ){0,2}nicht)\b"
        r"|^\W*(?:remember|merke? dir|denk daran): ",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_LEAD}(?:no more|keine? (?:\w+ )?mehr) (?:[\w'-]+ ){{0,3}}[\w'-]+,?"
        rf" (?:please|bitte)\W*$|{_LEAD}(?:no|keine?) (?:[\w'-]+ ){{1,3}}in"
        rf" (?:the |your |den |deinen )?(?:code|replies|answers|tests|antworten)\W*$",
        re.IGNORECASE,
    ),
    re.compile(r"\bremember (?:that|to|this)\b|\bbear in mind that\b|\bkeep in mind that\b", re.I),
    re.compile(
        rf"{_LEAD}(?:immer|nie(?:mals)?|stets)\b.*\w+(?:en|ern|eln)\W*$"
        rf"|{_LEAD}(?!die|eine|diese|meine|keine|alle|viele|ihre|deine|unsere|welche|solche"
        rf"|beide|ich"
        rf"|wir|es|das|er|sie|man|der|warum|wieso|wann|wie|was)\w+(?:e|b|h|m|st|f|ib|ies|nimm|tu)"
        rf" (?:[\w\"`'./-]+ ){{0,4}}(?:immer|nie(?:mals)?|stets)\b"
        r"|\b(?:du|wir) (?:sollst|sollen|darfst|dürfen|musst|müssen) (?:\w+ ){0,3}"
        r"(?:immer|nie(?:mals)?|stets)\b|\bdenk(?:e)? (?:bitte )?(?:immer )?daran\b",
        re.IGNORECASE,
    ),
)
_RULE_WORDS = re.compile(
    rf"\b(?:{_FROM_NOW})\b|\b(?:please|always|bitte|immer|stets|also|and|but|ok(?:ay)?|you|we|i"
    rf" want"
    r" you to|should|must|shall|make sure to|be sure to|remember (?:that|to)|remember)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    rf"{_LEAD}(?:(?:can|could|would|will|may) (?:you|we)|kannst du|könntest du|würdest du|wirst du"
    r"|can i ask you to|why don't (?:you|we)|would you mind)\b(?! (?:please |mir |uns |bitte ){0,2}"
    r"(?:explain|tell|say|describe|show|give|clarify|see|remember|think|know|recommend|erklär|sagen"
    r"|zeigen|nenn))",
    re.IGNORECASE,
)
_ASKS = re.compile(
    rf"{_LEAD}(?:what|why|how|which|who|whose|where|when) (?:is|are|does|do|did|can|should|would"
    rf"|was"
    r"|were|has|have|to|about|many|much|long|often|come|will|could|kind|sort|version|file"
    r"|function)\b"
    rf"|{_LEAD}(?:was|wie|warum|wieso|wo|wann|welche[rsnm]?|wer|woher|wohin) (?:ist|sind|hat"
    rf"|haben|macht"
    r"|wird|werden|kann|soll|muss|heißt|bedeutet|geht|funktioniert)\b",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"^\W*(?:yes|yep|yeah|yup|no|nope|nah|sure|of course|definitely|absolutely|agreed|right|correct"
    r"|exactly|neither|both|either|ok(?:ay)?|please do|do (?:it|that|so|both)|go ahead|sounds"
    r" good"
    r"|not (?:yet|now|necessary|needed)|the (?:first|second|third|last|latter|former|other)"
    r"|option \w+|(?:i|we)(?:'d| would) (?:rather|prefer)|ja|nein|nee|klar|genau|gerne?|doch"
    r"|natürlich|beides?|keins|mach(?:e|en wir)? das|stimmt)\b",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"^\W*(?:thanks?|thank you|thx|great|perfect|works|(?:it|that|this) works|nice|awesome"
    r"|excellent"
    r"|good(?: job| work)?|lgtm|done|super|danke|vielen dank|cool|ok(?:ay)?|passt|wunderbar"
    r"|prima|klasse"
    r"|funktioniert|läuft|(?:that's|that is) (?:it|all|great|perfect))\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:done|finished|completed?|implemented|fixed|added|removed|renamed|updated|created|merged"
    r"|passes|passing|works(?: now)?|all (?:tests )?(?:pass|green)|resolved|deployed|shipped|did"
    r"|erledigt|fertig|behoben|hinzugefügt|ergänzt|entfernt|umbenannt|geändert|eingebaut"
    r"|implementiert"
    r"|(?:läuft|funktioniert|geht) jetzt)\b"
    r"|\b(?:i|we)(?:'ve| have)? (?:now |just |also |already )?(?!will\b|need|want|looked|tried"
    r"|checked"
    r"|noticed|recommended|suggested|wondered|assumed|expected|asked|failed)(?:\w+ed|wrote|made"
    r"|set|put"
    r"|built|ran|split|moved|gave|took|got rid|cut|let|kept|rewrote|undid|broke|swapped)\b"
    r"|\b(?:has|have) been (?:\w+ed|written|made|set|put|built|split|rewritten)\b"
    r"|\b(?:is|are) now\b|\bnow (?:uses?|returns?|checks?|reads?|writes?|handles?|runs?|has|have"
    r"|logs?"
    r"|accepts?|rejects?|waits?|shows?|sends?|keeps?|fails? with|raises?)\b"
    r"|\bhabe (?:ich )?(?:[\w`.-]+ ){0,8}\w*ge\w+(?:t|en)\b",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\b(?:will|going to|would|should|could|can|cannot|can't|couldn't|didn't|did not|unable"
    r"|need(?:s)? to"
    r"|has to|have to|not (?:yet )?(?:done|finished|fixed|implemented|added|removed|working)"
    r"|once|let me"
    r"|i'll|if you|werde|würde|sollte|muss|müssen|noch nicht|nicht (?:fertig|behoben))\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?:(?<!the )(?<!this )(?<!a )\b(?:TODO|FIXME)\b|"
    r"\bstill (?:need|have|has|to|missing|open|left|fail)|\bnot (?:yet|done|"
    r"finished)\b|\bremaining\b|\bremains? (?:to|open)\b|\bleft to do\b|\bnext steps?\b|\bfor"
    r" later\b|"
    r"\bfollow[- ]up\b|\bonce that|\bafter (?:that|this),? (?:we|i|you)|"
    r"\bwe(?:'ll| will) (?:also )?(?:need|have) to\b|\boutstanding\b|\bunresolved\b|"
    r"\b(?:is|are|still|remains?) pending\b|\bpending(?:\s*:|[.!]?$)|"
    r"\b(?:fehlt|fehlen|offen) noch\b|\bnoch (?:offen|nicht|zu tun)\b|\bnoch \w+en müssen\b|"
    r"^\s*[-*]\s*\[ \])",
    re.IGNORECASE | re.MULTILINE,
)
_PLAN = re.compile(r"\b(?:we|i)(?:'ll| will) (?:also )?(?:need|have) to\b", re.IGNORECASE)
_FIX = re.compile(
    r"\b(?:fix(?:ed|es)?|the (?:fix|cause|reason|problem|issue|culprit|bug) (?:is|was)|root cause|"
    r"caused by|because|solved|solution|resolved|works now|needs? to|has to|should be|"
    r"replaced?|was missing|forgot|turned out|ursache|behoben|liegt an|lag an|weil)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided|decision|we(?:'ll| will| should| agreed to) (?:use|go|keep|make|store|call|put|"
    r"have|do|stick|write|return)|let's (?:use|go with|keep|stick|call|make it|store)|"
    r"going with|go with|agreed|settled on|chose|choose|instead of|rather than|we (?:use|keep|want|"
    r"need) \w+ (?:for|because|so)|the plan is|i(?:'ll| will) (?:use|go with|keep|store|put)|"
    r"use \w+ (?:and )?not|prefer|(?:wir|ich) (?:nehmen|verwenden|benutzen|bleiben|entscheiden"
    r"|nehme"
    r"|verwende)|entschieden|entscheidung|statt)\b",
    re.IGNORECASE,
)
_BROKEN = re.compile(
    r"(?:\b[A-Z]\w*(?:Error|Exception|Warning)\b(?:: .+)?|\berror(?:\[\w+\])?:|\bfatal:|"
    r"\bpanicked at\b|\bsegmentation fault\b|\bexit (?:code|status) [1-9]\d*|\b(?:FAILED|FAIL)\b"
    r"|\b(?:npm )?ERR!|\bTraceback\b|\b(?:it|this|that|build|test|tests|server|app|page|request"
    r"|import|"
    r"query|command|job|deploy|login|upload)s? (?:still )?(?:fails?|failed|crash(?:es|ed)?|breaks?|"
    r"broke|hangs?|hung)\b|\b(?:doesn't|does not|isn't|won't|can't|cannot) (?:work|start|build"
    r"|compile"
    r"|connect|load|find|run|open|resolve)\w*|\bstatus (?:code )?[45]\d\d\b"
    r"|\b[45]\d\d (?:error|Internal|Bad|Not)|\bundefined is not\b|\bnot defined\b|\bthe bug\b"
    r"|\b(?:stürzt|bricht) \w*\s?ab\b|\bschlägt fehl\b|\bfunktioniert nicht\b|\bgeht nicht\b)",
    re.IGNORECASE,
)
_FACT = re.compile(
    r"(?:\b(?:port|version|password policy|timeout|limit|url|endpoint|branch|budget"
    r"|deadline)\b.*\d|"
    r"\bhttps?://|\blocalhost:\d+|\b\d+(?:\.\d+)? ?(?:ms|s|MB|GB|kB|KiB|MiB|tokens|rows|%)(?!\w))",
    re.IGNORECASE,
)


_NEW = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|great|thanks?|thank you|good|perfect|done|alright|now)[\s,.!;:-]+)*"
    r"(?:now let's|now (?:for |on to )?something (?:else|different|new)"
    r"|new (?:task|topic|question)\b"
    r"|next (?:task|topic|up|thing|one)\b|(?:and )?next(?=[:,;]| we | i )|now to (?:the|something)"
    r"|different (?:task|topic|question)|forget (?:that|it|about)"
    r"|let's (?:move on|switch|turn|change (?:the )?(?:topic|subject))|moving on|switching"
    r"|change of (?:topic|plan)|unrelated|separate(?:ly| question)|another (?:thing|task|topic)"
    r"|on (?:a|an)other (?:note|topic)|by the way|neues thema|etwas anderes"
    r"|(?:jetzt|nun|weiter) (?:zu|mit)\b"
    r"|als nächstes|nächste (?:aufgabe|frage))",
    re.IGNORECASE,
)


def is_new_task(prompt: str) -> bool:
    """The user says that something else begins ("next: …", "forget that")."""
    return _NEW.search(prompt) is not None


def is_rule(sentence: str) -> bool:
    """It lays down something for all that follows ("from now on …", "never …", "bitte immer …")."""
    return not sentence.rstrip(" )\"'").endswith("?") and any(r.search(sentence) for r in _RULES)


def rule_key(sentence: str) -> str:
    """A key that is equal for two wordings of one rule."""
    return " ".join(re.findall(r"\w+", _RULE_WORDS.sub(" ", sentence).lower()))


def is_question(sentence: str) -> bool:
    """It asks for information. "Could you add a test?" asks for work and is not a question."""
    asked = sentence.rstrip(" )\"'").endswith("?") or _ASKS.match(sentence) is not None
    return asked and not _REQUEST.match(sentence)


def is_answer(sentence: str, question: str) -> bool:
    """A prompt's first sentence that answers what the model asked last."""
    if is_question(sentence):
        return False
    if _OPINION.match(sentence):
        return True
    return bool(_ASKS.match(question) or " or " in question or " oder " in question) and (
        len(sentence.split()) <= _SHORT_ANSWER
    )


def is_thanks(sentence: str) -> bool:
    """It says that what was asked for is done, or well done."""
    return _THANKS.match(sentence) is not None


def is_opinion(sentence: str) -> bool:
    """A yes, a no, or a choice."""
    return _OPINION.match(sentence) is not None


def is_plan(sentence: str) -> bool:
    """It says what is going to be done now, as models do before they do it."""
    return _PLAN.search(sentence) is not None


def is_open(sentence: str) -> bool:
    """It names work that is left. A question about it does not."""
    return bool(_OPEN.search(sentence)) and not is_question(sentence)


def is_done(sentence: str) -> bool:
    """It reports that something was done."""
    if _OPEN.search(sentence) or is_question(sentence):
        return False
    return bool(_DONE.search(sentence)) and not _NOT_DONE.search(sentence)


def is_fix(sentence: str) -> bool:
    """It names the cause of an error, or what fixed it."""
    return bool(_FIX.search(sentence))


def is_decision(sentence: str) -> bool:
    """It chooses one way of doing something."""
    return bool(_DECISION.search(sentence)) and not is_question(sentence)


def is_broken(sentence: str) -> bool:
    """It reports that something does not work."""
    return bool(_BROKEN.search(sentence))


def is_fact(sentence: str) -> bool:
    """It names a value."""
    return bool(_FACT.search(sentence))


_SHORT_ANSWER = 8
"""Words."""
