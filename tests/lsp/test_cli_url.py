"""``tierline url``: the same pages as in the editor, from a terminal (docs/urls.md)."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from lsp.conftest import Start, environment
from lsp.pipe import clean_environment
from lsp.test_urls import BODY, GUIDE, TEXT, env
from support.warm import create_subprocess_exec
from tierline.cli.common import EXIT_PROBLEM
from web.site import page, site
from wire.servers import WireServer


async def test_pages_from_the_terminal_are_those_of_the_editor(
    start: Start, model: WireServer, workspace: Path
) -> None:
    async with site({"/guide": page(BODY.format(TEXT))}) as web:
        given = clean_environment(workspace, **environment(model), **env(web))

        async def tierline(*words: str) -> tuple[int, str, str]:
            process = await create_subprocess_exec(
                sys.executable, "-m", "tierline", *words, cwd=workspace, env=given,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
            await process.wait()
            assert process.returncode is not None
            assert b"Traceback" not in err
            return process.returncode, out.decode(), err.decode()

        code, said, _ = await tierline("url", "add", GUIDE)
        assert (code, said.startswith("In the context: Guide, ")) == (0, True)
        (listed,) = json.loads((await tierline("url", "list", "--json"))[1])
        assert (listed["url"], listed["title"], listed["tokens"] > 50) == (GUIDE, "Guide", True)
        table = (await tierline("url", "list"))[1]
        assert GUIDE in table and listed["key"] in table
        shown = (await tierline("url", "show", listed["key"]))[1]
        assert "oiled every 37 days" in shown

        editor = await start(model, env=env(web))
        (seen,) = (await editor.ask("urls/list")).urls
        assert (seen.url, seen.key) == (GUIDE, listed["key"])
        assert (await editor.chat("How often is it oiled?")).outcome == "ok"
        assert "oiled every 37 days" in json.dumps(model.bodies[-1])
        await editor.stop()

        web.answers["/guide"] = page(BODY.format(TEXT.replace("37", "41")))
        code, said, _ = await tierline("url", "refresh", GUIDE, "--json")
        assert json.loads(said)["added"]["url"] == GUIDE
        assert "oiled every 41 days" in (await tierline("url", "show", GUIDE))[1]
        assert (await tierline("url", "remove", GUIDE))[0] == 0
        assert json.loads((await tierline("url", "list", "--json"))[1]) == []
        code, said, why = await tierline("url", "remove", GUIDE)
        assert (code, said) == (EXIT_PROBLEM, "")
        assert "is not in the context" in why


async def test_private_places_are_refused_with_advice(workspace: Path) -> None:
    process = await create_subprocess_exec(
        sys.executable, "-m", "tierline", "url", "add", "http://127.0.0.1:8000/x", cwd=workspace,
        env=clean_environment(workspace), stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    err = await process.stderr.read()
    await process.wait()
    assert process.returncode == EXIT_PROBLEM
    assert err.decode().count(". ") >= 1, "what is wrong, and what to do"
