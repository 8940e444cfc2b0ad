"""Redaction never changes what it has redacted, and takes linear time."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierline.workspace.secretrules import SHAPES
from tierline.workspace.secrets import find, placeholder, redact

KEY_LIKE = st.sampled_from(
    [
        "password=", 'token: "', "AKIA", "0123456789ABCDEF", "sk-", "ghp_", "a1B2" * 10,
        "[redacted:", "]", "Bearer ", "://u:", "@h",
        "-----BEGIN PRIVATE KEY-----", "-----END", "eyJ", ".", "\n",
        " ", '"', "'", "=", ":", "Authorization: ", "secret", "hunter2-X",
        "\\n", "é",
    ]
)  # fmt: skip
texts = st.lists(KEY_LIKE, max_size=14).map("".join)


@settings(max_examples=400)
@given(texts)
def test_redacting_twice_changes_nothing(text: str) -> None:
    clean, _ = redact(text)
    assert redact(clean)[0] == clean


@given(texts)
def test_findings_are_in_order_and_everything_else_stays(text: str) -> None:
    clean, findings = redact(text)
    assert all(a.end <= b.start for a, b in pairwise(findings))
    kept = re.split(r"|".join(re.escape(placeholder(f.kind)) for f in findings) or r"(?!)", clean)
    place = 0
    for part in kept:
        place = text.find(part, place)
        assert place >= 0
        place += len(part)


@pytest.mark.parametrize("rule", SHAPES, ids=lambda rule: str(rule.kind))
def test_no_placeholder_matches_a_rule(rule: object) -> None:
    for other in SHAPES:
        assert find(f"x = {placeholder(other.kind)};") == []


ATTACKS = {
    "one letter": "a",
    "base64": "QUJD",
    "key headers": "-----BEGIN PRIVATE KEY-----",
    "headers and text": "-----BEGIN PRIVATE KEY----- AAAA",
    "proc types": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n",
    "sk": "sk-",
    "jwt": "eyJaaaaaaaaaaaaa.",
    "urls": "://a:",
    "bearers": "Bearer  ",
    "names": "password",
    "assignments": "password=",
    "quotes": 'token="',
    "azure": "AccountKey=",
    "aws": "aws_secret ",
    "telegram": "1234567890:AA",
    "hex": "0123456789abcdef",
    "discord": "MNOabc.",
    "spaces": " ",
    "authorization": "authorization:  bearer  ",
    "escapes": "\\n",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_time_is_linear_in_hostile_text(attack: str) -> None:
    """Ten times the text may take thirty times the CPU time; a quadratic scan takes a hundred.

    Also bounded absolutely, far above what a busy machine needs for a megabyte."""
    unit = ATTACKS[attack]

    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        best = 9.0
        for _ in range(3):
            began = time.process_time()
            redact(text)
            best = min(best, time.process_time() - began)
        return best

    small, large = seconds(60_000), seconds(600_000)
    assert large < 6
    assert large < 30 * max(small, 0.01)
