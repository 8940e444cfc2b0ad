"""Native code that panics raises what is no Exception: the turn ends, the server goes on."""

from __future__ import annotations

from pathlib import Path

from lsp.conftest import Start
from wire.servers import WireServer

PANICS = """
from tierline.session.requests import layout
from tierline.tokenizers import encoder

right = layout.lay_out

def lay_out(candidates, snapshot, *rest, **more):
    if "panic" in snapshot.query:
        encoder("o200k_base").core.encode_ordinary(" " * 1_000_000)
    return right(candidates, snapshot, *rest, **more)

layout.lay_out = lay_out
"""


async def test_a_real_panic_ends_the_turn_with_a_sentence_and_the_next_one_works(
    start: Start, model: WireServer, tmp_path: Path
) -> None:
    path = tmp_path / "panics"
    path.mkdir()
    (path / "sitecustomize.py").write_text(PANICS)
    where = str(path)
    editor = await start(model, env={"PYTHONPATH": where, "RUST_BACKTRACE": "0"})
    end = await editor.chat("panic, please")
    assert (end.outcome, end.code) == ("error", "internal")
    assert "inside Tierline" in end.error
    end = await editor.chat("And now without.")
    assert (end.outcome, end.error) == ("ok", "")
