"""The official Python SDK connects to the server, lists and calls every tool, and reads every kind of resource."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

CALLS = [
    ("memory_remember", {"text": "Vera drinks green tea.", "id": "facts/tea"}),
    ("memory_recall", {"query": "tea"}),
    ("memory_get", {"id": "facts/tea"}),
    ("memory_get", {}),
    ("memory_note", {"text": "Ask about the lease."}),
    ("memory_note", {"action": "list"}),
    ("memory_snapshot", {"name": "before"}),
    ("memory_forget", {"ids": ["facts/tea"]}),
    ("memory_snapshot", {"action": "diff", "from": "before"}),
    ("memory_undo", {}),
    ("memory_status", {}),
    ("memory_history", {"id": "facts/tea"}),
    ("memory_blame", {"id": "facts/tea"}),
    ("memory_envelope", {}),
    ("memory_append", {"entries": [{"text": "Green tea, please.", "speaker": "assistant"}]}),
    ("memory_unforget", {"ids": []}),
    ("memory_quarantine", {}),
    ("memory", {"command": "view", "path": "/memories"}),
]
RESOURCES = [
    "memory://status",
    "memory://object/facts%2Ftea",
    "memory://snapshot/before",
    "memory://diff/before..@",
    "memory://envelope",
]


def field(result, name):
    """Returns a field, whatever the release of the SDK calls it."""
    snake = "".join("_" + c.lower() if c.isupper() else c for c in name)
    return getattr(result, snake, None) if hasattr(result, snake) else getattr(result, name, None)


async def main(command, *arguments):
    server = StdioServerParameters(command=command, args=list(arguments))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert names == {name for name, _ in CALLS}, names
        for name, given in CALLS:
            result = await session.call_tool(name, given)
            assert not field(result, "isError"), (name, result)
            assert name == "memory" or len(field(result, "structuredContent")["root"]) == 64, (name, result)
        refused = await session.call_tool("memory_recall", {"q": "tea"})
        assert field(refused, "isError"), refused
        templates = field(await session.list_resource_templates(), "resourceTemplates")
        assert len(templates) == 4 and len((await session.list_resources()).resources) == 2
        for uri in RESOURCES:
            assert (await session.read_resource(uri)).contents[0].text, uri
        for prompt in (await session.list_prompts()).prompts:
            assert (await session.get_prompt(prompt.name)).messages, prompt.name
    print(f"python: {len(names)} tools, {len(CALLS)} calls, {len(RESOURCES)} resources")


asyncio.run(main(*sys.argv[1:]))
