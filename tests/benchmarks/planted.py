"""Long programming conversations with planted facts and the messages that answer questions.

No public set of conversations with gold evidence comes as a registry package, so these are made:
deterministic for a seed, documented here, and of a kind that tells methods apart.

A conversation works through topics, a handful of turns each, most of them small talk of programming
(steps, tool-like listings, "continue", "go on"). Facts of four kinds are planted in it:

``single``     said once, long ago, by the user or in the reply.
``update``     said twice with another value; only the newer message is evidence.
``error``      an error and what fixed it; asked about when it comes back.
``filler``     "continue", "ok next": the evidence is the turn just before, whatever the words.

A fact is asked for twice: ``direct``, in its own words, and ``paraphrase``, in others. For each there
are distractors: turns that use the question's words about something else.
"""

# ruff: noqa: E501 - the table of facts reads better in long lines
from __future__ import annotations

import random
from collections.abc import Iterator

from attrs import field, frozen

from support.histories import SESSION
from tierline.context.blocks import Text
from tierline.history.messages import Message


@frozen
class Fact:
    """``{v}`` is the value: the answer, and what must be in a context that can answer."""

    topic: str
    said: str
    reply: str
    direct: str
    paraphrase: str
    distractor: str
    values: tuple[str, ...]


@frozen
class Question:
    """A prompt, the ids of the messages that answer it, and the word that the answer contains."""

    prompt: str
    kind: str
    gold: frozenset[str]
    """Turn ids; each is the evidence."""
    answer: str


@frozen
class Dialogue:
    """One conversation and its questions; all are asked at its end."""

    messages: tuple[Message, ...]
    questions: tuple[Question, ...] = field(factory=tuple)


def dialogues(count: int, seed: int = 20260301) -> Iterator[Dialogue]:
    """``count`` conversations of about 160 turns, 30,000 tokens each."""
    for number in range(count):
        yield _Maker(random.Random(seed + number)).make()


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.messages: list[Message] = []
        self.turns = 0
        self.minute = 0

    def make(self) -> Dialogue:
        rng = self.rng
        facts = rng.sample(FACTS, 24)
        updates = set(rng.sample(range(24), 6))
        errors = rng.sample(ERRORS, 6)
        plan: list[tuple[str, int]] = [("fact", i) for i in range(24)]
        plan += [("error", i) for i in range(6)]
        plan += [("distractor", i) for i in range(24)] * 2
        rng.shuffle(plan)
        later = [("update", i) for i in updates]
        place = {("fact", i): plan.index(("fact", i)) for i in range(24)}
        for step in later:  # somewhere behind what it changes
            first = place["fact", step[1]]
            plan.insert(rng.randint(first + 1, len(plan)), step)
            place = {("fact", i): plan.index(("fact", i)) for i in range(24)}
        chosen = [rng.sample(f.values, 2) for f in facts]
        gold: dict[tuple[str, int], str] = {}
        for kind, i in plan:
            if kind == "fact":
                gold[kind, i] = self.turn(facts[i], facts[i].said, facts[i].reply, chosen[i][0])
            elif kind == "update":
                said = f"Change of plan: {facts[i].said[0].lower()}{facts[i].said[1:]}"
                gold["fact", i] = self.turn(
                    facts[i], said, "Noted, that replaces it.", chosen[i][1]
                )
            elif kind == "error":
                gold[kind, i] = self.say(*errors[i][:2])
            else:
                self.say(facts[i].distractor, rng.choice(REPLIES))
            for _ in range(rng.choice((0, 1, 1, 2))):
                topic = facts[i % len(facts)].topic
                self.chatter(topic)
        questions: list[Question] = []
        for i, fact in enumerate(facts):
            kind = "update" if i in updates else "single"
            answer = chosen[i][1 if i in updates else 0]
            evidence = frozenset({gold["fact", i]})
            questions.append(Question(fact.direct, f"{kind}, direct", evidence, answer))
            questions.append(Question(fact.paraphrase, f"{kind}, paraphrase", evidence, answer))
        for i, error in enumerate(errors):
            questions.append(Question(error[2], "error", frozenset({gold["error", i]}), error[3]))
        marker = f"step-{rng.randint(1000, 9999)}"
        last = self.say(f"work through the list of the release, begin with {marker}",
                        f"I have begun with {marker}; the next entries follow.")  # fmt: skip
        questions += [
            Question(prompt, "filler", frozenset({last}), marker)
            for prompt in rng.sample(FILLERS, 10)
        ]
        return Dialogue(tuple(self.messages), tuple(questions))

    def turn(self, fact: Fact, said: str, reply: str, value: str) -> str:
        """The value stands in the prompt or in the reply; the other side talks around it."""
        around = self.rng.choice(AROUND).format(topic=fact.topic)
        return self.say(f"{around} {said}".format(v=value), reply.format(v=value))

    def chatter(self, topic: str) -> None:
        rng = self.rng
        if rng.random() < 0.35:
            self.say(rng.choice(FILLERS), rng.choice(REPLIES))
        else:
            told = " ".join(text.format(topic=topic) for text in rng.sample(LONG, len(LONG)))
            self.say(
                rng.choice(CHATTER).format(topic=topic),
                f"{rng.choice(REPLIES)} {told}\n{listing(rng, topic)}",
            )

    def say(self, prompt: str, reply: str) -> str:
        self.turns += 1
        self.minute += self.rng.choice((1, 1, 2, 3, 20))
        group = f"t{self.turns}"
        when = (
            f"2026-03-{1 + self.minute // 1440:02d}T{self.minute // 60 % 24:02d}:"
            f"{self.minute % 60:02d}:00Z"
        )
        for place, (role, text) in enumerate((("user", prompt), ("assistant", reply))):
            self.messages.append(
                Message(
                    id=f"{group}.{place}",
                    session_id=SESSION,
                    group_id=group,
                    timestamp=when,
                    role="user" if role == "user" else "assistant",
                    content=(Text(text),),
                )
            )
        return group


def listing(rng: random.Random, topic: str) -> str:
    """A code block of some length, as replies have them."""
    name = topic.replace(" ", "_")
    lines = [f"def {name}_{rng.randint(1, 99)}(items: list[str], limit: int = 10) -> list[str]:"]
    lines += [
        f"    part_{rng.randint(1, 999)} = items[{rng.randint(0, 9)}].strip()[:limit]"
        for _ in range(rng.randint(6, 14))
    ]
    return "\n".join(["```python", *lines, "    return items", "```"])


FILLERS = (
    "continue", "go on", "ok next", "yes", "next", "please go on", "continue please", "ok, continue",
    "keep going", "next step please", "sounds good, go ahead", "carry on", "great, go on", "yes, do it",
)  # fmt: skip
AROUND = (
    "About the {topic}:", "One more thing for the {topic}.", "For the {topic} keep in mind:",
    "While we are at the {topic}:", "I looked at the {topic} again.",
)  # fmt: skip
REPLIES = (
    "Done, I changed it and ran the checks.",
    "I went through it and left the rest as it was.",
    "That is in place now; the next part can follow.",
    "I continued with the next part and it goes on from there.",
    "Understood, I will keep to that.",
    "It works, and the tests are green.",
)
CHATTER = (
    "show me the {topic} once more",
    "rename the variables in the {topic} so that they read better",
    "can you shorten the {topic} a little?",
    "write a test for the {topic}",
    "what would you improve in the {topic}?",
    "add comments to the {topic}",
    "explain the {topic} to a new colleague",
)
LONG = (
    "I read the {topic} from top to bottom, moved two helpers, removed an unused import and kept the "
    "public names. The functions are shorter now, the longest has thirty lines, and each says in its "
    "docstring what it returns and which exceptions it raises.",
    "For the {topic} I compared three ways to write it: a loop, a comprehension and a generator. The "
    "loop is the clearest here, since two counters are kept, so I left it and only renamed them.",
    "The tests for the {topic} cover the empty case, one element, many elements and wrong types. Each "
    "has a name that says what it expects, and they run in less than a second altogether.",
)

FACTS = (
    Fact("database layer", "the integration database listens on port {v}.", "I set it in the compose file.",
         "which port does the integration database use?", "what number do I connect to for the test Postgres?",
         "the integration tests are slow today, and does the new UI library have a port of that widget to use?",
         ("5544", "6033", "7219", "8417")),
    Fact("authentication", "access tokens expire after {v} minutes.", "I put it into the token settings.",
         "after how many minutes do access tokens expire?", "how long does a login stay valid?",
         "count how many tokens the prompt has and how many minutes the build took", ("23", "47", "95", "38")),
    Fact("cache", "we decided to evict with {v} because plain age was too coarse.", "The cache uses it now.",
         "how do we evict entries from the cache, and why?", "what happens in memory when there is no room for more items?",
         "evict the stale branches and explain why the cache directory of the linter is in the repository",
         ("segmented-LRU", "clock-pro", "tiny-LFU", "ARC-two")),
    Fact("deployment", "releases are only rolled out on {v}.", "I will remind you of it.",
         "on which days are releases rolled out?", "when may I ship a new version to customers?",
         "the rolled up notes of the releases mention which days the office was closed",
         ("Tuesdays", "Wednesdays", "Thursdays", "Mondays")),
    Fact("message queue", "the broker's address is {v}.", "Saved in the environment of the workers.",
         "what is the address of the broker?", "where do the background jobs pick up their work from?",
         "address the comments of the insurance broker in the demo data, what is left of them?",
         ("rabbit-eu-3.internal", "nats-west.internal", "kafka-blue.internal", "mq-07.internal")),
    Fact("parser", "the grammar file is {v} and nothing else may define tokens.", "Good, I removed the copy.",
         "which grammar file defines the tokens?", "where is the syntax of the language described?",
         "check the grammar of the error texts and which tokens of the text file are misspelled",
         ("lang/core.peg", "lang/main.ebnf", "lang/surface.lark", "lang/rules.g4")),
    Fact("logging", "every log line must carry the field {v}.", "The formatter adds it now.",
         "which field must every log line carry?", "how can I follow one request through the output of all services?",
         "carry the line over the field in the diagram and log off every session",
         ("trace_id", "span_key", "corr_token", "flow_ref")),
    Fact("billing", "invoices are numbered with the prefix {v}.", "The generator uses this prefix.",
         "which prefix do invoices have?", "how does the identifier on a customer's bill begin?",
         "prefix the commits, and have a look at which tests touch invoices", ("AT-", "KX-", "QF-", "ZB-")),
    Fact("search", "results are limited to {v} hits for anonymous users.", "The limit is in the query builder.",
         "how many hits do anonymous users get?", "what is the cap on matches for people who are not signed in?",
         "the anonymous functions get many hits in the profiler", ("17", "26", "33", "41")),
    Fact("storage", "uploads go to the bucket {v}.", "The client writes there.",
         "to which bucket do uploads go?", "where are the files that users send us kept?",
         "the leaky bucket algorithm goes well with slow uploads", ("media-raw-eu", "intake-blue", "drop-zone-2", "user-files-x")),
    Fact("scheduler", "the nightly job starts at {v} UTC.", "The cron entry says so.",
         "at what time does the nightly job start?", "when does the automatic clean-up run?",
         "start the job queue in the nightly toolchain for a time", ("02:40", "03:15", "01:55", "04:05")),
    Fact("frontend", "we chose {v} over the other frameworks since the bundle is smaller.", "It is in package.json.",
         "which framework did we choose for the smaller bundle?", "what are the browser pages built with?",
         "bundle the smaller fonts; the framework of the test report is fine", ("Preact", "Svelte", "Solid", "Lit")),
    Fact("rate limiter", "a client may send {v} requests a minute.", "The limiter is set to this.",
         "how many requests a minute may a client send?", "when do we start to answer with 429?",
         "send the client the minutes of the meeting about requests for features", ("120", "75", "240", "310")),
    Fact("encryption", "passwords are hashed with {v}.", "The helper does so.",
         "what are passwords hashed with?", "how do we protect the credentials at rest?",
         "the hashed file names contain passwords of nobody, rename them", ("argon2id", "scrypt-n15", "bcrypt-12", "pbkdf2-sha3")),
    Fact("migration", "the schema version after the migration is {v}.", "The check compares with it.",
         "what is the schema version after the migration?", "how do I know that the tables are up to date?",
         "the version of the migration guide is behind the schema of the docs", ("v41", "v58", "v63", "v77")),
    Fact("mobile app", "the oldest system that we support is {v}.", "The build target is set.",
         "what is the oldest system that we support?", "which phones are too old for us?",
         "support asked about the oldest ticket in the system", ("Android-9", "iOS-15", "Android-10", "iOS-14")),
    Fact("import job", "rows with an unknown country get the code {v}.", "The mapping has a default now.",
         "which code do rows with an unknown country get?", "what do we write when we cannot tell where somebody is from?",
         "the code of the country picker gets rows of unknown width", ("ZZ9", "XQ1", "UU7", "QQ4")),
    Fact("notifications", "mails are sent through {v} and not through our own server.", "The adapter is configured.",
         "through what are mails sent?", "which provider delivers our messages to inboxes?",
         "the mails about the server room were sent to all", ("Postwind", "Mailriver", "Letterbird", "Sendbrook")),
    Fact("feature flags", "the flag for the new checkout is called {v}.", "It is read at start.",
         "what is the flag for the new checkout called?", "how do I switch on the redesigned payment page?",
         "flag the new colleagues that the checkout of the branch is called for", ("co_next", "pay_v3", "basket_two", "till_beta")),
    Fact("api gateway", "we return {v} for a resource that was removed.", "The handler does it.",
         "what do we return for a resource that was removed?", "which status does somebody get for a deleted entry?",
         "return the resource book that was removed from the shelf", ("410", "451", "423", "409")),
    Fact("metrics", "the dashboard's password is kept under {v} in the vault.", "I noted the place, not the secret.",
         "under what is the dashboard's password kept in the vault?", "where do I find the login for the graphs?",
         "keep the dashboard under the table; the vault of the cellar needs a password", ("ops/graf-7", "ops/viz-2", "team/panel-9", "infra/dash-4")),
    Fact("image service", "thumbnails are {v} pixels wide.", "The resizer uses this width.",
         "how many pixels wide are thumbnails?", "what size are the small previews of pictures?",
         "a wide range of pixels died on my screen", ("184", "212", "276", "308")),
    Fact("test suite", "slow tests carry the marker {v}.", "They are skipped without it.",
         "which marker do slow tests carry?", "how do I leave out the checks that take minutes?",
         "the slow marker pen carries no ink for the tests on paper", ("nightly_only", "tortoise", "long_haul", "heavyweight")),
    Fact("analytics", "events are kept for {v} days, the lawyers insisted.", "The retention rule is set.",
         "for how many days are events kept?", "when do we have to throw away tracking data?",
         "the events of the last days kept us busy", ("42", "66", "91", "113")),
    Fact("maps module", "coordinates are stored in {v} order.", "The converter assumes it.",
         "in which order are coordinates stored?", "does the longitude or the latitude come first in our tables?",
         "order the stored boxes and coordinate with the team", ("lon-lat", "lat-lon", "east-north", "north-east")),
    Fact("command line", "the exit status for bad input is {v}.", "All commands use it.",
         "what is the exit status for bad input?", "with which number does the program end when arguments are wrong?",
         "the input on the status of the fire exit was bad", ("64", "65", "78", "70")),
    Fact("translations", "missing texts fall back to {v}.", "The loader does that.",
         "to what do missing texts fall back?", "which language is shown when a sentence was not localised?",
         "the fall party texts are missing at the back", ("pt-BR", "nl-BE", "de-AT", "fr-CA")),
    Fact("websocket server", "idle connections are closed after {v} seconds.", "The timer is set.",
         "after how many seconds are idle connections closed?", "how long may a client be silent before we hang up?",
         "the road is closed after the bridge and connections by train idle", ("88", "132", "156", "204")),
    Fact("backup", "the restore was last rehearsed on {v}.", "I wrote it into the runbook.",
         "when was the restore last rehearsed?", "when did we last try to get everything back from the copies?",
         "restore the file that the band last rehearsed with", ("the 9th of May", "the 3rd of June", "the 27th of April", "the 14th of July")),
    Fact("compiler flags", "the release build uses {v} and not the default optimisation.", "The makefile has it.",
         "which optimisation does the release build use?", "how is the shipped binary made fast?",
         "build the use case; the default release of the optimisation course", ("-O2 -flto", "-Os -fwhole", "-O3 -fno-plt", "-Og -fpgo")),
)  # fmt: skip
"""Prompt, reply and questions of each planted fact."""

ERRORS = (
    ("I get ConnectionResetError: [Errno 104] in fetch_page()",
     "The cause was a keep-alive that was too long; I set pool_recycle to 55 and it is gone.",
     "there it is again: ConnectionResetError: [Errno 104]", "pool_recycle"),
    ("the build fails with error[E0499]: cannot borrow `buf` as mutable more than once",
     "I fixed it by splitting the slice with split_at_mut before the loop.",
     "error[E0499]: cannot borrow `row` as mutable more than once is back in another file", "split_at_mut"),
    ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in load_names()",
     "The file is in latin-1; opening it with encoding='cp1252' fixed it.",
     "now I see UnicodeDecodeError: 'utf-8' codec can't decode byte 0xfc", "cp1252"),
    ("npm ERR! code ERESOLVE while installing", "An override for peer-dep-react in package.json fixed it.",
     "npm ERR! code ERESOLVE happens on the new machine too", "peer-dep-react"),
    ("psycopg.errors.DeadlockDetected: deadlock detected in save_order()",
     "The fix: lock the rows in the order of their ids, with ORDER BY id FOR UPDATE.",
     "production reports psycopg.errors.DeadlockDetected: deadlock detected", "ORDER BY id FOR UPDATE"),
    ("ModuleNotFoundError: No module named 'yaml' in the container",
     "The slim image lacked it; I added libyaml-dev to the first stage.",
     "the pipeline shows ModuleNotFoundError: No module named 'yaml'", "libyaml-dev"),
    ("java.lang.OutOfMemoryError: Metaspace after some reloads",
     "A leaking class loader; closing the URLClassLoader in stop() fixed it.",
     "we have java.lang.OutOfMemoryError: Metaspace on staging", "URLClassLoader"),
    ("TypeError: Cannot read properties of undefined (reading 'map') in the list view",
     "The items arrive late; a guard with `items ?? []` in ListView fixed it.",
     "TypeError: Cannot read properties of undefined (reading 'map') in the grid", "items ?? []"),
)  # fmt: skip
"""Prompt, reply, what is asked later, and what the answer contains."""
