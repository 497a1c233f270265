"""An orchestrator with three sub-agents, each on a fork of one memory.

The sub-agents work at the same time, and none sees the work of another. One raises an exception, so its fork is dropped. The
others are merged. Two of them changed the same note, so the second merge leaves a conflict, which a person decides.

Run with the folder of a memory: ``python many_agents.py memory``
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from treering import Conflict, Memory, Writer

PLAN = "travel by train\nstay in Bergen\nleave on Monday"


def scout(fork: Memory) -> None:
    """Finds a ferry, and changes the first line of the plan."""
    fork.put("facts/ferry", "The ferry leaves at eight.")
    fork.put("plan", PLAN.replace("train", "ferry"))


def booker(fork: Memory) -> None:
    """Books a flight, and changes the same line."""
    fork.put("facts/flight", "The flight leaves at ten.")
    fork.put("plan", PLAN.replace("train", "plane"))


def rogue(fork: Memory) -> None:
    """Goes wrong half-way."""
    fork.remove("plan")
    raise RuntimeError("I lost my way")


AGENTS: tuple[Callable[[Memory], None], ...] = (scout, booker, rogue)


def fork_for(memory: Memory, agent: Callable[[Memory], None]) -> Memory:
    """Makes the fork of a sub-agent, whose writes count as those of a model."""
    name = agent.__name__
    return memory.fork(name, trust_cap="model", writer=Writer.model(name, session=name))


def run_on_fork(fork: Memory, agent: Callable[[Memory], None]) -> str:
    """Runs one sub-agent on its fork, which is merged at the end. An exception drops it."""
    name = agent.__name__
    try:
        with fork:
            agent(fork)
    except RuntimeError as error:
        return f"{name} is dropped: {error}"
    merged = fork.merged
    conflicts = 0 if merged is None else len(merged.conflicts)
    return f"{name} is merged, {conflicts} in conflict"


def decide(memory: Memory, conflict: Conflict, person: Writer) -> None:
    """Takes the side with the ferry."""
    for side in conflict.sides:
        if side.digest and side.object and "ferry" in (side.object.content or ""):
            memory.resolve(conflict.id, take=side.digest, writer=person)


def main(folder: str) -> None:
    """Runs all sub-agents at the same time, and decides what they left open."""
    with Memory.open(folder, create=True, writer=Writer.model("lead", session="lead")) as memory:
        memory.put("plan", PLAN)
        # All forks begin here, so that no sub-agent begins with the work of another one.
        forks = [fork_for(memory, agent) for agent in AGENTS]
        with ThreadPoolExecutor() as threads:
            outcomes = [threads.submit(run_on_fork, *pair) for pair in zip(forks, AGENTS)]
        for outcome in outcomes:
            print(outcome.result())
        for conflict in memory.conflicts():
            print(f"{conflict.id} is open in {', '.join(conflict.fields)}")
            decide(memory, conflict, Writer.person("vera"))
        print(memory.view()["plan"].content)
        print(", ".join(memory.view()), "are stored, forks left:", len(memory.forks()))


if __name__ == "__main__":
    main(sys.argv[1])
