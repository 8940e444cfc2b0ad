"""MCP servers that the editor passes on, or that a workspace names."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acp import schema

from lsp.conftest import Open as OpenEditor
from lsp.conftest import open_editor
from lsp.editing import ALL
from panel.conftest import Open
from tierline import protocol as p
from tierline.session.tools.servers import matches
from wire.agents import Use, calls, results, says, tool_names
from wire.servers import wire_server

__all__ = ["open_editor"]

SERVER = str(Path(__file__).with_name("mcp_server.py"))
NAME = "mcp_weather_forecast"


def stdio(**env: str) -> schema.McpServerStdio:
    variables = [schema.EnvVariable(name=k, value=v) for k, v in env.items()]
    return schema.McpServerStdio(
        name="weather", command=sys.executable, args=[SERVER], env=variables
    )


def asks(town: str, call: str = "m1") -> Use:
    return Use(NAME, {"town": town}, call)


async def test_tools_of_a_server_that_the_editor_passes_on_are_offered_and_asked_about(
    panel: Open, workspace: Path
) -> None:
    script = [calls("openai", asks("Bonn")), calls("openai", asks("Ulm", "m2"))]
    with wire_server("openai", [*script, says("openai", "Wet.")]) as model:
        chat = await panel(model)
        made = await chat.agent.new_session(cwd=str(workspace), mcp_servers=[stdio(STATION="us")])
        chat.answers = ["always"]
        await chat.say(made.session_id, "How is the weather?")
        names = tool_names(model.bodies[0], "openai")
        assert NAME in names
        assert names.index(NAME) > names.index("search_code"), "behind our own: their prefix stays"
        assert "mcp_weather_a_tool_with_an_odd_name_" in names
        assert "Bonn: rain for 1 days, says us" in results(model.bodies[1], "openai")["m1"]
        assert "Ulm: rain" in results(model.bodies[2], "openai")["m2"]
        (asked,) = [call for call, _ in chat.asked]
        assert "Bonn" in str(asked.title), "the very arguments are shown, and asked about once"
        assert tool_names(model.bodies[2], "openai") == names


@pytest.mark.parametrize(
    ("patterns", "server", "tool", "meant"),
    [
        ("", "github", "get_issue", False),
        ("jira, github", "github", "get_issue", True),
        ("github/get_*", "github", "get_issue", True),
        ("github/get_*", "github", "delete_issue", False),
        ("github/get_*", "github", "", False),
        ("*/delete_*", "jira", "delete_all", True),
        ("git", "github", "get_issue", False),
    ],
)
def test_patterns_mean_servers_or_single_tools(
    patterns: str, server: str, tool: str, meant: bool
) -> None:
    assert matches(patterns, server, tool) == meant


async def test_patterns_switch_tools_off_and_allow_others_without_a_question(
    panel: Open, workspace: Path
) -> None:
    script = [calls("openai", asks("Bonn")), says("openai", "Wet.")]
    with wire_server("openai", script) as model:
        chat = await panel(
            model,
            env={
                "TIERLINE_TOOLS_MCP_OFF": "weather/fail, weather/le*",
                "TIERLINE_TOOLS_MCP_ALLOW": "weather/fore*",
            },
        )
        made = await chat.agent.new_session(cwd=str(workspace), mcp_servers=[stdio(STATION="us")])
        await chat.say(made.session_id, "How is the weather?")
        names = tool_names(model.bodies[0], "openai")
        assert NAME in names
        assert not {"mcp_weather_fail", "mcp_weather_leave"} & set(names)
        assert "Bonn: rain for 1 days, says us" in results(model.bodies[1], "openai")["m1"]
        assert chat.asked == []


async def test_a_denied_call_is_not_made_and_faults_are_told_to_the_model(
    panel: Open, workspace: Path
) -> None:
    mark = workspace / "called"
    uses = [
        asks("Bonn"),
        Use("mcp_weather_fail", {}, "m2"),
        Use("mcp_weather_leave", {}, "m3"),
        Use("mcp_weather_a_tool_with_an_odd_name_", {}, "m4"),
    ]
    script = [*(calls("openai", use) for use in uses), says("openai", "Well.")]
    with wire_server("openai", script) as model:
        chat = await panel(model)
        given: list[Any] = [stdio(MARK=str(mark))]
        made = await chat.agent.new_session(cwd=str(workspace), mcp_servers=given)
        chat.answers = ["deny", "once", "once", "once"]
        await chat.say(made.session_id, "How is the weather?")
        assert not mark.exists()
        told = results(model.bodies[-1], "openai")
        assert "did not allow" in told["m1"]
        assert "Error executing tool fail" in told["m2"]
        assert "MCP server weather" in told["m3"]
        assert told["m4"].startswith("xxx"), "it was started again"
        assert len(told["m4"]) < 410_000


@pytest.fixture
def address() -> Iterator[str]:
    """A server over HTTP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = subprocess.Popen([sys.executable, SERVER, "--http", str(port)])
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/mcp"
    running.terminate()
    running.wait(10)


async def test_a_server_over_http(panel: Open, workspace: Path, address: str) -> None:
    with wire_server("openai", [calls("openai", asks("Bonn")), says("openai", "Wet.")]) as model:
        chat = await panel(model)
        given = schema.HttpMcpServer(type="http", name="weather", url=address, headers=[])
        made = await chat.agent.new_session(cwd=str(workspace), mcp_servers=[given])
        chat.answers = ["once"]
        await chat.say(made.session_id, "How is the weather?")
        assert "Bonn: rain" in results(model.bodies[1], "openai")["m1"]


async def test_a_server_that_does_not_start_is_named_once_and_the_chat_works(
    panel: Open, workspace: Path
) -> None:
    with wire_server("openai", [says("openai", "Fine.")]) as model:
        chat = await panel(model)
        given = schema.McpServerStdio(name="gone", command="/no/such/program", args=[], env=[])
        made = await chat.agent.new_session(cwd=str(workspace), mcp_servers=[given])
        await chat.say(made.session_id, "Hello")
        assert chat.text().count("The MCP server gone is not used: its program was not found") == 1
        assert "Fine." in chat.text()


@pytest.mark.parametrize("file", [".mcp.json", ".vscode/mcp.json"])
async def test_a_server_that_the_workspace_names_is_started_only_with_leave(
    open_editor: OpenEditor,
    workspace: Path,
    file: str,
) -> None:
    mark = workspace / "called"
    entry = {"command": sys.executable, "args": [SERVER], "env": {"MARK": str(mark)}}
    (workspace / file).parent.mkdir(exist_ok=True)
    key = "servers" if "vscode" in file else "mcpServers"
    (workspace / file).write_text(json.dumps({key: {"weather": entry}}), encoding="utf-8")
    with wire_server("openai", [says("openai", "Dry.")]) as model:
        editor = await open_editor(model, ALL)

        def question() -> Any:
            return next((b.consent for b in editor.bodies(p.ConsentAsked)), None)

        asked = await editor.until(question)
        assert asked.title == "Start the MCP server weather?"
        assert SERVER in asked.text
        assert "MARK" in asked.detail
        await editor.chat("Before an answer.")
        assert NAME not in tool_names(model.bodies[0], "openai")
        await editor.ask("consent/answer", p.ConsentAnswerParams(asked.id, "once"))
        started = {"n": 1}

        async def offered() -> bool:
            started["n"] += 1
            await editor.chat(f"Attempt {started['n']}.")
            return NAME in tool_names(model.bodies[-1], "openai")

        for _ in range(20):
            if await offered():
                break
        else:
            pytest.fail("the server's tools were never offered")


async def test_where_the_workspace_is_not_trusted_or_servers_are_off_nothing_is_started(
    open_editor: OpenEditor,
    workspace: Path,
) -> None:
    entry = {"command": sys.executable, "args": [SERVER]}
    (workspace / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"weather": entry}}), encoding="utf-8"
    )
    for tools in ({"workspaceTrusted": False}, {"mcpServers": "off"}):
        with wire_server("openai", [says("openai", "Dry.")]) as model:
            editor = await open_editor(model, ALL, tools=tools)
            await editor.chat("Hello")
            assert editor.bodies(p.ConsentAsked) == []
            assert NAME not in tool_names(model.bodies[0], "openai")
            await editor.stop()


@pytest.mark.parametrize(
    ("text", "says_"),
    [
        ("{", "not JSON"),
        ("[]", "neither mcpServers nor servers"),
        ('{"mcpServers": {"x": 3}}', "is not an object"),
        ('{"mcpServers": {"x": {}}}', "neither a command nor a url"),
        ('{"mcpServers": {"x": {"command": "a", "args": "b"}}}', "args that are no list"),
        ('{"mcpServers": {"x": {"url": "file:///etc"}}}', "neither http nor https"),
        ('{"servers": {"x": {"command": "a", "env": {"K": "${input:k}"}}}}', "asks for an input"),
    ],
)
def test_what_a_file_says_wrongly_is_said(text: str, says_: str) -> None:
    from tierline.mcpservers.definitions import parse

    found, problems = parse(text, ".mcp.json", {})
    assert found == []
    assert says_ in problems[0]


def test_variables_are_filled_in_and_disabled_servers_are_left_out() -> None:
    from tierline.mcpservers.definitions import parse

    text = json.dumps(
        {
            "mcpServers": {
                "a": {"command": "${TOOL}", "args": ["--key", "${env:KEY}", 3]},
                "b": {"command": "b", "disabled": True},
            }
        }
    )
    (found,), problems = parse(text, ".mcp.json", {"TOOL": "prog", "KEY": "k"})
    assert (found.command, problems) == (("prog", "--key", "k", "3"), [])


def test_an_agreement_holds_for_all_that_is_given_to_a_server_and_says_where_it_comes_from() -> (
    None
):
    from tierline.mcpservers.definitions import parse

    def one(**entry: Any) -> Any:
        text = json.dumps({"mcpServers": {"a": entry}})
        (found,), problems = parse(text, ".mcp.json", {"KEY": "k", "OTHER": "k"})
        assert problems == []
        return found

    url = "https://mcp.example.org/"
    servers = [
        one(url=url),
        one(url=url, headers={"X-Team": "a"}),
        one(url=url, headers={"X-Team": "${KEY}"}),
        one(url=url, headers={"X-Team": "${OTHER}"}),
        one(command="a b", args=["c"]),
        one(command="a", args=["b c"]),
        one(command="a", args=["b", "c"], env={"PRELOAD": "./x.so"}),
        one(command="a", args=["b", "c"], env={"PRELOAD": "./y.so"}),
    ]
    assert len({server.identity for server in servers}) == len(servers)
    assert len({server.written for server in servers}) == len(servers)
    assert servers[2].written == (url, "X-Team: ${KEY}")
    assert servers[2].headers == {"X-Team": "k"}
    assert servers[5].shown == "a 'b c'"
