"""The official Python SDK starts `treering serve --mcp`, remembers a fact, recalls it, and takes a wrong one back."""

import asyncio
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

# The arguments name the program and its options, for example: treering serve --mcp --structured --store memory
COMMAND = sys.argv[1:] or ["treering", "serve", "--mcp", "--structured"]


async def main() -> None:
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            result = await session.call_tool(tool, arguments)
            if result.is_error:  # The text says what was wrong, and is written for a model.
                raise RuntimeError(result.content)
            return result.structured_content or {}

        await call("memory_remember", text="The office is in Oslo.", id="facts/office")
        await call("memory_remember", text="The office is on the moon.", id="facts/office")
        wrong = await call("memory_recall", query="where is the office")
        print("before undo:", wrong["hits"][0]["snippet"])

        await call("memory_undo")  # Takes back the last change of this connection.
        right = await call("memory_recall", query="where is the office")
        print("after undo:", right["hits"][0]["snippet"])


asyncio.run(main())
