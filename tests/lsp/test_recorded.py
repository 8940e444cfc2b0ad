"""A recorded session is lived through with the whole server, and what it cost is accounted for."""

from __future__ import annotations

from benchmarks.recorded.account import account
from benchmarks.recorded.recording import Edit, Look, Recording, Round, Turn
from benchmarks.recorded.replay import play

SHOP = "".join(f"def price_{n}(total):\n    return total * {n}\n\n\n" for n in range(120))
CART = "".join(f"ITEM_{n} = {n}\n" for n in range(200))


async def test_a_recorded_session_is_lived_through() -> None:
    """Edits by the model and by others, files that come and go, what was read and printed."""
    double = Edit("shop.py", "return total * 7\n", "return total * 77\n")
    recording = Recording(
        "n",
        "somebody",
        "aider",
        (
            Turn("Make seven seventy-seven.", (Round("I do.", (), (double,)),), 0.0, ("shop.py",)),
            Turn(
                "What is in the cart? Run the tests.",
                (
                    Round("", (Look("Read", "cart.py", CART), Look("Bash", "", "2 passed\n"))),
                    Round("Items."),
                ),
                120.0,
                changes={"shop.py": SHOP.replace("* 7\n", "* 77\n").replace("* 9\n", "* 99\n")},
            ),
            Turn("Thank you.", (Round("You are welcome."),), 700.0, (), ("shop.py",)),
        ),
        {"shop.py": SHOP, "cart.py": CART},
    )
    played = await play(recording)
    assert (played.refused, played.failed) == ([], [])
    prompts = [sent.turn for sent in played.sent]
    assert prompts == [0, 0, 1, 1, 2]
    assert 575 < played.sent[-1].at - played.sent[-2].at < 700, "pauses pass on the clock alone"
    row = account(played)
    assert row["wrong"] == [], "what the body says of the files is what they say"
    assert row["over_bound"] >= 1
    assert set(row["differences"]) == {1}, "the others' change, once"
    assert 0 < row["outdated_worst"] < 0.1
    assert set(row["others"]) == {"append-only", "three marks", "sections with a map"}
    said = str(played.sent[3].body)
    assert "2 passed" in said
    assert "ITEM_199 = 199" in said
    assert "Applied as proposed (" in str(played.sent[1].body)
