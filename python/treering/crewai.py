"""A memory for CrewAI: tools by which the agents of a crew remember, recall and forget.

    from crewai import Agent
    from treering.crewai import memory_tools

    scout = Agent(role="scout", goal="…", backstory="…", tools=memory_tools(treering.open("memory")))

Needs ``pip install treering[crewai]``. CrewAI's own interface for storage is no base for an adapter: it changed within one major
version, and a search gets a vector instead of the question.
"""

from __future__ import annotations

from typing import Literal

from crewai.tools import BaseTool, tool

from ._tools import memory_functions
from ._treering import Agent

__all__ = ["memory_tools"]


def memory_tools(
    agent: Agent, *, limit: int = 5, trust: Literal["model", "untrusted"] | None = None
) -> list[BaseTool]:
    """Returns the tools ``remember``, ``recall`` and ``forget``.

    ``limit`` is the number of hits of a recall. ``trust`` is the class of what the model stores, that of the agent's writer
    without it. Each call is one commit at most, so ``agent.undo()`` takes it back.
    """
    tools: list[BaseTool] = [tool(function) for function in memory_functions(agent, limit, trust)]
    for one in tools:
        # CrewAI would answer the same call again from its cache, though the memory changed.
        one.cache_function = _never
    return tools


def _never(_arguments: object = None, _result: object = None) -> bool:
    return False
