"""A memory for Pydantic AI: tools by which a model remembers, recalls and forgets.

    from pydantic_ai import Agent
    from treering.pydantic_ai import memory_toolset

    assistant = Agent("openai:gpt-5", toolsets=[memory_toolset(treering.open("memory"))])

Needs ``pip install treering[pydantic-ai]``.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic_ai import FunctionToolset

from ._tools import memory_functions
from ._treering import Agent

__all__ = ["memory_toolset"]


def memory_toolset(
    agent: Agent, *, limit: int = 5, trust: Literal["model", "untrusted"] | None = None
) -> FunctionToolset[Any]:
    """Returns the tools ``remember``, ``recall`` and ``forget``. They run one after the other, in threads.

    ``limit`` is the number of hits of a recall. ``trust`` is the class of what the model stores, that of the agent's writer
    without it. Each call is one commit at most, so ``agent.undo()`` takes it back.
    """
    return FunctionToolset(memory_functions(agent, limit, trust), sequential=True, id="treering")
