"""TokenCounter: every input shape, exactness, fallback, caching, calibration."""

from __future__ import annotations

import time

import pytest

from support.planning import FourCharacters, Recording, shipped, stub_counter
from tierline.context.accuracy import Accuracy
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.chunks import MAX_CHUNK
from tierline.context.counting import (
    CALL_OVERHEAD,
    MESSAGE_OVERHEAD,
    REQUEST_OVERHEAD,
    CountCache,
    TokenCounter,
    by_length,
)
from tierline.context.models import ModelFacts
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.history.messages import Message
from tierline.tokenizers import encoder

NATIVE = ModelFacts("m", encoding="stub", native_encoding=True)
FOREIGN = ModelFacts("m", encoding="stub", ratio=1.5, margin=0.2)


class Breaks:
    name = "stub"
    additive = True

    def __call__(self, text: str) -> int:
        raise RuntimeError("no")


def test_strings_messages_and_lists_of_them_can_be_counted() -> None:
    """Seed 004, Token Counting: "strings, message dicts, or lists"."""
    counter = stub_counter()
    message = {"role": "user", "content": "12345678"}
    assert counter.count("12345678") == 2
    assert counter.count(message) == 2 + MESSAGE_OVERHEAD
    assert counter.count([message, message, "1234"]) == 2 * (2 + MESSAGE_OVERHEAD) + 1


def test_one_message_costs_the_same_in_every_shape() -> None:
    counter = stub_counter()
    text = "How do I do this?"
    shapes = [
        {"role": "user", "content": text},
        {"role": "user", "content": [{"type": "text", "text": text}]},
        PromptMessage("user", (PromptBlock(Text(text), "prompt"),)),
        Message("1", "s", "g", "t", "user", (Text(text),)),
    ]
    assert len({counter.count(shape) for shape in shapes}) == 1


def test_calls_and_results_are_counted_with_what_is_in_them() -> None:
    counter = stub_counter()
    use = ToolUse("toolu_1", "read_file", {"path": "src/a.py"})
    result = ToolResult("toolu_1", (Text("x" * 40), Image("image/png", "", 750, 10)))
    assert counter.count(use) > CALL_OVERHEAD
    assert counter.count(result) == CALL_OVERHEAD + 10 + counter.count(result.content[1])


def test_a_prompt_counts_tools_system_and_messages() -> None:
    counter = stub_counter(tools_overhead_tokens=350)
    message = PromptMessage("user", (PromptBlock(Text("hi there"), "prompt"),))
    bare = Prompt("m", (PromptBlock(Text("Be brief."), "system:head"),), (message,))
    tool = ToolSpec("read_file", "Reads a file.", {"type": "object"})
    assert counter.count(bare) == 3 + (2 + MESSAGE_OVERHEAD) + REQUEST_OVERHEAD
    with_tool = Prompt("m", bare.system, bare.messages, (tool,))
    assert counter.count(with_tool) == counter.count(bare) + counter.count(tool) + 350


@pytest.mark.parametrize("value", [None, "", (), [], {}, Text("")])
def test_nothing_costs_next_to_nothing(value: object) -> None:
    assert stub_counter().count(value) <= 1


def test_reasoning_and_unknown_blocks_cost_their_json() -> None:
    counter = stub_counter()
    assert counter.count(Reasoning("anthropic", {"thinking": "x" * 400})) > 100
    assert counter.count({"type": "from_the_future", "payload": "x" * 400}) > 100
    assert counter.count({"type": "text", "text": None}) > 2, "as JSON"


def test_the_models_own_encoding_is_exact_and_has_no_margin() -> None:
    counter = TokenCounter(NATIVE, FourCharacters())
    assert (counter.accuracy, counter.margin, counter.ratio) == (Accuracy.EXACT, 0.0, 1.0)
    assert not counter.learn("x" * 4000, 5000)


def test_a_foreign_encoding_is_an_estimate_with_ratio_and_margin() -> None:
    counter = TokenCounter(FOREIGN, FourCharacters())
    assert (counter.accuracy, counter.margin) == (Accuracy.ESTIMATED, 0.2)
    assert counter.count("x" * 400) == 150


def test_a_ratio_scales_text_but_not_pictures() -> None:
    counter = TokenCounter(FOREIGN, FourCharacters())
    picture = Image("image/png", "", 750, 100)
    exact = TokenCounter(NATIVE, FourCharacters())
    assert counter.count(picture) == exact.count(picture)


def test_without_an_encoder_four_characters_are_a_token() -> None:
    """Seed 004, Token Counting: "estimates ~4 characters per token on any error"."""
    counter = TokenCounter(NATIVE, None)
    assert counter.count("x" * 401) == 101
    assert counter.accuracy == Accuracy.ESTIMATED
    assert counter.margin >= 0.35


def test_the_fallback_does_not_take_chinese_for_a_quarter_token() -> None:
    assert by_length("日本語とコード") >= 5


def test_a_failing_encoder_is_asked_once_and_warned_about_once() -> None:
    warnings: list[str] = []
    breaks = Recording(Breaks())
    counter = TokenCounter(NATIVE, breaks, warn=warnings.append)
    assert [counter.count(text) for text in ("12345678", "1234", "x" * 20)] == [2, 1, 5]
    assert len(warnings) == 1 and "4 characters" in warnings[0]
    assert len(breaks.asked) == 1
    assert counter.accuracy == Accuracy.ESTIMATED


def test_equal_content_is_encoded_once() -> None:
    encoder = Recording(len)
    counter = TokenCounter(NATIVE, encoder)
    assert counter.count("some text") == counter.count("some " + "text")
    assert encoder.asked == ["some text"]


def test_a_known_digest_saves_hashing_the_text() -> None:
    encoder = Recording(len)
    counter = TokenCounter(NATIVE, encoder)
    assert counter.count("some text", digest="abc") == 9
    assert counter.count("another string, same digest", digest="abc") == 9
    assert len(encoder.asked) == 1


def test_counters_share_a_cache_by_encoding() -> None:
    cache = CountCache()
    encoder = Recording(len)
    TokenCounter(NATIVE, encoder, cache=cache).count("text")
    assert TokenCounter(FOREIGN, encoder, cache=cache).count("text") == 6
    assert len(encoder.asked) == 1
    TokenCounter(NATIVE, Recording(len, name="other"), cache=cache)
    other = Recording(lambda text: 1, name="other")
    assert TokenCounter(NATIVE, other, cache=cache).count("text") == 1


def test_the_cache_is_bounded() -> None:
    cache = CountCache(max_entries=10, max_characters=200)
    encoder = Recording(len)
    counter = TokenCounter(NATIVE, encoder, cache=cache)
    for number in range(100):
        counter.count(f"{number:050}")
        counter.count("x", digest=str(number))
    assert len(cache._recent) <= 4
    assert len(cache._digests) <= 10
    counter.count("y" * 1000)
    assert sum(len(text) for _, text in cache._recent) <= 200


def test_an_edit_of_a_long_text_encodes_only_the_parts_around_it() -> None:
    encoder = Recording(len)
    counter = TokenCounter(NATIVE, encoder)
    text = "".join(f"def function_{n}(value): return value + {n}\n" for n in range(20_000))
    counter.count(text)
    encoder.asked.clear()
    middle = len(text) // 2
    assert counter.count(text[:middle] + "edited" + text[middle:]) == len(text) + 6
    assert sum(map(len, encoder.asked)) < 6 * MAX_CHUNK


def test_an_encoding_that_is_not_additive_is_never_cut() -> None:
    encoder = Recording(len, additive=False)
    text = "the line of it\n" * 5_000
    TokenCounter(NATIVE, encoder).count(text)
    assert encoder.asked == [text]


def test_surrogates_are_counted_as_what_is_sent() -> None:
    counter = TokenCounter(NATIVE, shipped("o200k_base"))
    half, whole = counter.count("half \ud83d emoji"), counter.count("half \ufffd emoji")
    assert half == whole
    assert counter.count("\ud83d\ude0b") == counter.count("😋")


def test_usage_reports_calibrate_and_the_odd_one_out_does_not_matter() -> None:
    counter = TokenCounter(FOREIGN, FourCharacters())
    text = "x" * 4000
    for reported in (1300, 1290, 9999, 1310, 1305, 300):
        counter.learn(text, reported)
    assert counter.accuracy == Accuracy.CALIBRATED
    assert counter.ratio == pytest.approx(1.3, abs=0.02)
    assert counter.margin < 0.2
    assert counter.count(text) == pytest.approx(1300, abs=20)


def test_a_reply_without_usage_teaches_nothing() -> None:
    counter = TokenCounter(FOREIGN, FourCharacters())
    assert not counter.learn("x" * 4000, None)
    assert not counter.learn("x" * 4000, 0)
    assert not counter.observe(1000, 0)
    assert counter.accuracy == Accuracy.ESTIMATED


def test_observing_uses_the_ratio_that_the_estimate_was_made_with() -> None:
    counter = TokenCounter(FOREIGN, FourCharacters())
    for _ in range(5):
        counter.observe(counter.count("x" * 4000), 1200)
    assert counter.ratio == 1.2


def test_an_edited_megabyte_is_counted_quickly() -> None:
    """Loose here, since machines differ; the benchmark holds it to 60 ms."""
    counter = TokenCounter(ModelFacts("m", native_encoding=True), shipped("o200k_base"))
    text = "".join(f"def function_{n}(value): return value + {n}\n" for n in range(24_000))
    counter.count(text)
    edited = text[:500_000] + "# an edit\n" + text[500_000:]
    began = time.process_time()
    counter.count(edited)
    counted = time.process_time() - began
    began = time.process_time()
    counter.count(edited)
    assert counted < 0.5
    assert time.process_time() - began < 0.01


def test_a_panic_in_the_encoder_leaves_an_estimate_and_is_told_once() -> None:
    """What native code raises when it panics is no Exception."""

    class PanicException(BaseException):
        pass

    class Panics:
        name, additive = "o200k_base", True

        def __call__(self, text: str) -> int:
            raise PanicException("index out of bounds")

    told: list[str] = []
    counter = TokenCounter(ModelFacts("m"), Panics(), warn=told.append)
    assert counter.count("x" * 400) == counter.count("y" * 400) == 100
    assert counter.accuracy is Accuracy.ESTIMATED
    assert len(told) == 1 and "PanicException" in told[0]


def test_a_run_that_makes_the_real_encoder_panic_is_counted_in_pieces() -> None:
    """Tiktoken panics on a million spaces: its regular expressions run out of their stack."""
    real = encoder("o200k_base")
    assert real is not None
    told: list[str] = []
    counter = TokenCounter(ModelFacts("m", encoding="o200k_base"), real, warn=told.append)
    assert 7_800 <= counter.count(" " * 999_999 + "x") <= 7_840
    assert told == []


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_is_not_held_back(end: type[BaseException]) -> None:
    class Ends:
        name, additive = "o200k_base", True

        def __call__(self, text: str) -> int:
            raise end

    with pytest.raises(end):
        TokenCounter(ModelFacts("m"), Ends()).count("x")


def test_a_count_that_is_remembered_takes_no_room_twice() -> None:
    cache = CountCache(max_characters=100)
    cache.keep("x", "a" * 40, 1)
    for _ in range(5):
        cache.keep("x", "b" * 40, 2)
    assert (cache.recent("x", "a" * 40), cache.recent("x", "b" * 40)) == (1, 2)
    cache.keep("x", "c" * 51, 3)
    assert cache.recent("x", "c" * 51) is None, "half of the room at most for one"
