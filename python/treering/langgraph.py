"""LangGraph on Treering: a checkpointer and a store whose every state can be undone.

    from treering.langgraph import TreeringSaver, TreeringStore

    graph = builder.compile(checkpointer=TreeringSaver.open("memory"), store=TreeringStore.open("memory"))

Needs ``pip install treering[langgraph]``.
"""

from __future__ import annotations

from ._langgraph_saver import TreeringSaver
from ._langgraph_store import TreeringStore

__all__ = ["TreeringSaver", "TreeringStore"]
