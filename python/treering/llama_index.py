"""A memory for LlamaIndex: a block of its ``Memory``, and tools.

    from llama_index.core.memory import Memory
    from treering.llama_index import TreeringMemoryBlock

    block = TreeringMemoryBlock(agent=treering.open("memory"))
    memory = Memory.from_defaults(session_id="monday", memory_blocks=[block], insert_method="user")

Needs ``pip install treering[llama-index]``.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.tools import BaseTool, FunctionTool
from pydantic import Field

from ._adapters import session_writer
from ._tools import memory_functions
from ._treering import Agent

__all__ = ["TreeringMemoryBlock", "memory_tools"]

_SPEAKERS = ("user", "assistant")


class TreeringMemoryBlock(BaseMemoryBlock[str]):
    """Shows what the memory knows about the last message of the user, and stores messages that leave the short-term memory.

    The session is the session of the writer, so ``agent.revert(session=…)`` takes back what one conversation left. Use
    ``insert_method="user"``: what is stored is no instruction of the system.
    """

    agent: Agent = Field(exclude=True)
    name: str = "treering"
    budget: int = Field(default=2000, description="The most tokens of the block.")
    with_untrusted: bool = Field(default=False, description="Whether untrusted items are shown, too.")

    async def _aget(self, messages: list[ChatMessage] | None = None, **_block_kwargs: Any) -> str:
        asked = [one.content for one in messages or () if one.role == "user" and one.content]
        if not asked:
            return ""
        envelope = await asyncio.to_thread(
            self.agent.envelope, asked[-1], budget=self.budget, with_untrusted=self.with_untrusted
        )
        return envelope.text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions: dict[str | None, list[dict[str, str]]] = {}
        for one in messages:
            # The output of a tool would make all of the session untrusted.
            if one.role in _SPEAKERS and one.content:
                session = one.additional_kwargs.get("session_id")
                sessions.setdefault(session, []).append({"text": one.content, "speaker": one.role.value})
        for session, items in sessions.items():
            await asyncio.to_thread(self._store, session, items)

    def _store(self, session: str | None, items: list[dict[str, str]]) -> None:
        writer = self.agent.writer if session is None else session_writer(self.agent.writer, session)
        self.agent.remember_many(items, kind="message", writer=writer)


def memory_tools(
    agent: Agent, *, limit: int = 5, trust: Literal["model", "untrusted"] | None = None
) -> list[BaseTool]:
    """Returns the tools ``remember``, ``recall`` and ``forget``.

    ``limit`` is the number of hits of a recall. ``trust`` is the class of what the model stores, that of the agent's writer
    without it. Each call is one commit at most, so ``agent.undo()`` takes it back.
    """
    return [FunctionTool.from_defaults(function) for function in memory_functions(agent, limit, trust)]
