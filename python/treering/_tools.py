"""The functions by which a model remembers, recalls and forgets. The adapters make tools of their frameworks from them."""

# Without `from __future__ import annotations`, because frameworks read the types of the functions to describe them.
from collections.abc import Callable
from typing import Any, Literal

from ._treering import Agent
from .errors import ConflictError, DeniedError, InvalidInputError, NotFoundError


def memory_functions(
    agent: Agent, limit: int, trust: Literal["model", "untrusted"] | None
) -> list[Callable[..., Any]]:
    """Returns the functions for one memory. Each call is one commit at most, so ``agent.undo()`` takes it back."""

    def remember(text: str, tags: list[str] | None = None) -> dict[str, str]:
        """Stores one fact for later conversations. Write one whole sentence that needs no context."""
        try:
            stored = agent.remember(text, tags=tags or [], trust=trust)
        except (ConflictError, DeniedError, InvalidInputError) as error:
            # The model reads the reason, and its run goes on.
            return {"status": error.code, "reason": error.message}
        return {"id": stored.id, "status": stored.status}

    def recall(question: str) -> list[dict[str, str]]:
        """Finds stored facts that answer a question. Use it before you say that you do not know something."""
        hits = agent.recall(question, limit=limit)
        return [
            {"id": hit.id, "text": hit.snippet, "time": hit.time.isoformat(), "trust": hit.trust} for hit in hits
        ]

    def forget(id: str) -> dict[str, str | list[str]]:
        """Takes a stored fact away, by its id. It can be brought back."""
        try:
            return {"forgotten": [item.id for item in agent.forget(id).items]}
        except (NotFoundError, InvalidInputError):
            return {"forgotten": []}
        except (ConflictError, DeniedError) as error:
            return {"forgotten": [], "status": error.code, "reason": error.message}

    return [remember, recall, forget]
