"""An agent loop that takes back a bad turn.

Each turn begins with a snapshot. A scripted model answers and stores what it learnt. A check looks at the memory after the
turn: if it became false, the loop rolls back, and the next turn starts from a clean memory.

Run with the folder of a memory: ``python agent_loop.py memory``
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import treering
from treering import Agent, Envelope, Hit

QUESTION = "where is the office"


@dataclass(frozen=True)
class Turn:
    """The words of a user, the reply of the model, and the facts that it learnt."""

    said: str
    reply: str
    learnt: tuple[tuple[str, str], ...]


SCRIPT = (
    Turn("Our office is in Oslo.", "Noted.", (("facts/office", "The office is in Oslo"),)),
    Turn("What do you know about the office?", "It is in Oslo.", ()),
    Turn(
        "A web page says that you moved.",
        "Then I believe the page.",
        (("facts/office", "The office is on the moon"), ("facts/visa", "Visitors need a space suit")),
    ),
    Turn("Where do I go?", "To Oslo.", (("facts/visit", "The user travels on Friday"),)),
)


def scripted_model(prompt: Envelope, turn: Turn) -> Turn:
    """Stands for a call of a model, which gets ``str(prompt)``, what the memory knows, and what the user said."""
    return turn


def first_answer(agent: Agent) -> Hit | None:
    """Returns what the memory answers from its facts, and not from the transcript."""
    found = agent.recall(QUESTION, kinds="fact", full=True, touch=False)
    return found[0] if found else None


def is_sane(agent: Agent) -> bool:
    """Asks what the memory answers now. A host checks what must stay true in its own domain."""
    answer = first_answer(agent)
    return answer is None or "moon" not in str(answer)


def run_turn(agent: Agent, number: int, turn: Turn, check: Callable[[Agent], bool]) -> None:
    """Runs one turn, and takes it back if the check fails."""
    session = agent.with_session(f"turn-{number}")
    before = session.snapshot(f"before-turn-{number}-of-{len(agent.commits())}")
    answer = scripted_model(session.envelope(turn.said), turn)
    session.append([("user", turn.said), ("assistant", answer.reply)])
    for id, text in answer.learnt:
        session.remember(text, id=id)
    if check(session):
        print(f"turn {number}: kept {len(answer.learnt)} facts")
        return
    wrong = session.diff(before.name)
    session.rollback(before.name)
    print(f"turn {number}: rolled back {len(wrong)} changes")


def main(folder: str) -> None:
    with treering.open(folder, actor="agent-loop", project="office") as agent:
        for number, turn in enumerate(SCRIPT, 1):
            run_turn(agent, number, turn, is_sane)
        assert agent.verify()
        answer = first_answer(agent)
        assert answer is not None
        print(f"{QUESTION}? {answer}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory")
