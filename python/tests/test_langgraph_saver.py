"""The LangGraph checkpointer: LangGraph's conformance tests, real graphs, and the known faults of other checkpointers."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.checkpoint.base")

from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

import treering
from treering import Memory
from treering.langgraph import TreeringSaver


class State(TypedDict):
    messages: Annotated[list[str], operator.add]


def config(thread: str = "t", **more: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **more}}


@pytest.fixture
def saver() -> Iterator[TreeringSaver]:
    with TreeringSaver(Memory.in_memory()) as saver:
        yield saver


def graph_of(saver: TreeringSaver) -> Any:
    builder = StateGraph(State)
    builder.add_node("echo", lambda state: {"messages": [f"heard {state['messages'][-1]}"]})
    builder.add_edge(START, "echo")
    builder.add_edge("echo", END)
    return builder.compile(checkpointer=saver)


async def test_conformance() -> None:
    conformance = pytest.importorskip("langgraph.checkpoint.conformance")

    @conformance.checkpointer_test(name="TreeringSaver")
    async def checkpointer() -> AsyncIterator[TreeringSaver]:
        with TreeringSaver(Memory.in_memory()) as saver:
            yield saver

    report = await conformance.validate(checkpointer)
    failed = {name: result.failures for name, result in report.results.items() if not result.passed}
    assert not failed, failed
    assert all(result.detected for result in report.results.values()) and len(report.results) == 8
    assert sum(result.tests_passed for result in report.results.values()) > 50


def test_a_conversation_goes_on_in_another_process(folder: Path) -> None:
    with TreeringSaver.open(folder) as saver:
        graph_of(saver).invoke({"messages": ["one"]}, config())
    with TreeringSaver.open(folder) as saver:
        state = graph_of(saver).invoke({"messages": ["two"]}, config())
    assert state["messages"] == ["one", "heard one", "two", "heard two"]


def test_a_thread_is_a_session_that_can_be_taken_back(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    graph.invoke({"messages": ["one"]}, config("1"))
    graph.invoke({"messages": ["two"]}, config("2"))
    done = saver.memory.revert(session="2")
    assert done.changed and not done.kept
    assert graph.get_state(config("2")).values == {}
    assert graph.get_state(config("1")).values["messages"] == ["one", "heard one"]


async def test_the_asynchronous_methods(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    await graph.ainvoke({"messages": ["one"]}, config())
    history = [state async for state in graph.aget_state_history(config())]
    assert len(history) == 3 and history[0].values["messages"] == ["one", "heard one"]


def test_an_earlier_checkpoint_is_forked(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    graph.invoke({"messages": ["one"]}, config())
    first = graph.get_state(config()).config
    graph.invoke({"messages": ["two"]}, config())
    state = graph.invoke({"messages": ["other"]}, first)
    assert state["messages"] == ["one", "heard one", "other", "heard other"]
    assert graph.get_state(config()).values["messages"][-1] == "heard other"


def test_an_interrupt_survives_a_restart_and_prune(folder: Path) -> None:
    def ask(state: State) -> dict[str, list[str]]:
        return {"messages": [interrupt("name?")]}

    def build(saver: TreeringSaver) -> Any:
        builder = StateGraph(State)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        return builder.compile(checkpointer=saver)

    with TreeringSaver.open(folder) as saver:
        build(saver).invoke({"messages": []}, config())
        saver.prune(["t"])
    with TreeringSaver.open(folder) as saver:
        graph = build(saver)
        assert graph.get_state(config()).interrupts[0].value == "name?"
        assert graph.invoke(Command(resume="vera"), config())["messages"] == ["vera"]


def test_a_bad_turn_is_undone_with_the_memory(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    graph.invoke({"messages": ["one"]}, config())
    saver.memory.snapshot("before")
    graph.invoke({"messages": ["nonsense"]}, config())
    saver.memory.rollback("before", across_lanes=True)
    assert graph.get_state(config()).values["messages"] == ["one", "heard one"]
    assert graph.invoke({"messages": ["two"]}, config())["messages"][-1] == "heard two"


def test_prune_keeps_the_newest_and_the_conversation_goes_on(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    for number in range(5):
        graph.invoke({"messages": [str(number)]}, config())
        graph.invoke({"messages": [str(number)]}, config("other"))
    before = graph.get_state(config()).values
    others = len(list(saver.list(config("other"))))
    saver.prune(["t"])
    assert len(list(saver.list(config()))) == 1 and graph.get_state(config()).values == before
    assert len(list(saver.list(config("other")))) == others
    assert len(graph.invoke({"messages": ["next"]}, config())["messages"]) == 12


def test_prune_leaves_nothing_behind_and_can_be_undone(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    for number in range(20):
        graph.invoke({"messages": [f"{number} " + "x" * 3000]}, config())
    before = len(saver.memory)
    root = saver.memory.view().root
    saver.prune(["t"])
    kinds = [one.kind for one in saver.memory.view().values()]
    assert kinds.count("langgraph_checkpoint") == 1 and len(kinds) < before / 4
    tuple_ = saver.get_tuple(config())
    assert tuple_ is not None and len(tuple_.checkpoint["channel_values"]["messages"]) == 40
    saver.memory.undo(writer=treering.Writer(session="t"))
    assert saver.memory.view().root == root
    saver.prune(["t"], strategy="delete")
    assert len(saver.memory) == 0


def test_prune_after_gc_frees_the_disk(folder: Path) -> None:
    with TreeringSaver.open(folder) as saver:
        graph = graph_of(saver)
        for number in range(30):
            graph.invoke({"messages": [f"{number} " + "y" * 5000]}, config())
        saver.prune(["t"])
        report = saver.memory.gc(keep_all=0, hourly=0, daily=0, weekly=0, forgotten=0)
        assert report.bytes < report.bytes_before / 2
        assert len(graph.get_state(config()).values["messages"]) == 60


def test_a_checkpoint_that_is_put_during_a_prune_stays_whole(
    saver: TreeringSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new checkpoint has a value whose chunks only old checkpoints have."""
    values = {"old": "x" * 9000, "new": "y" * 9000}
    places: list[RunnableConfig] = []

    def put(value: str) -> None:
        checkpoint: Checkpoint = empty_checkpoint()
        version = f"{len(places) + 1}"
        checkpoint["channel_values"] = {"channel": value}
        checkpoint["channel_versions"] = {"channel": version}
        places.append(saver.put(config(), checkpoint, {"source": "loop", "step": 0}, {"channel": version}))

    put(values["old"])
    put(values["new"])
    needed = saver._needed  # pyright: ignore[reportPrivateUsage]

    def slow(*arguments: Any) -> Any:
        if len(places) == 2:
            put(values["old"])
        return needed(*arguments)

    monkeypatch.setattr(saver, "_needed", slow)
    saver.prune(["t"])
    found = saver.get_tuple(config())
    assert found is not None and found.checkpoint["channel_values"] == {"channel": values["old"]}
    assert [one.config for one in saver.list(config())] == [places[2]]


def test_a_write_that_is_put_during_a_prune_stays_whole(saver: TreeringSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write has a value whose chunks only an old checkpoint has."""
    values = ["x" * 9000, "y" * 9000]
    place: RunnableConfig = config()
    for version, value in enumerate(values, 1):
        checkpoint: Checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"channel": value}
        checkpoint["channel_versions"] = {"channel": f"{version}"}
        place = saver.put(config(), checkpoint, {"source": "loop", "step": 0}, {"channel": f"{version}"})
    needed = saver._needed  # pyright: ignore[reportPrivateUsage]
    writes = 0

    def slow(*arguments: Any) -> Any:
        nonlocal writes
        writes += 1
        if writes == 1:
            saver.put_writes(place, [("channel", values[0])], "task")
        return needed(*arguments)

    monkeypatch.setattr(saver, "_needed", slow)
    saver.prune(["t"])
    found = saver.get_tuple(config())
    assert writes == 2 and found is not None and found.pending_writes == [("task", "channel", values[0])]


@pytest.mark.parametrize("strategy", ["", "keep", "all"])
def test_an_unknown_strategy_is_refused(saver: TreeringSaver, strategy: str) -> None:
    with pytest.raises(ValueError):
        saver.prune(["t"], strategy=strategy)


def stored_bytes(saver: TreeringSaver) -> int:
    """Returns the bytes of everything that was ever stored."""
    view = saver.memory.view()
    return sum(len(bytes(one)) for one in view.values())


def test_storage_grows_with_the_conversation_and_not_with_its_square(saver: TreeringSaver) -> None:
    """Other checkpointers store the whole list of messages at each step."""
    graph = graph_of(saver)
    sizes: list[int] = []
    for number in range(120):
        graph.invoke({"messages": [f"message {number} " + "z" * 500]}, config())
        if number in (39, 79, 119):
            sizes.append(stored_bytes(saver))
    first, second, third = sizes[0], sizes[1] - sizes[0], sizes[2] - sizes[1]
    assert second < 1.5 * first and third < 1.5 * second, sizes
    whole = sum(2 * number * 550 for number in range(120))
    assert sizes[2] < whole / 3, (sizes, whole)


def test_a_large_value_is_split(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    text = "grün " * 400_000
    assert graph.invoke({"messages": [text]}, config())["messages"][0] == text
    assert graph.get_state(config()).values["messages"][0] == text


@pytest.mark.parametrize("thread", ["a/b", "", "x" * 400, "grün ⚙", "with\nline", "..", "~x", "a b"])
def test_any_text_is_a_thread(saver: TreeringSaver, thread: str) -> None:
    graph = graph_of(saver)
    graph.invoke({"messages": ["one"]}, config(thread))
    found = list(saver.list(config(thread)))
    assert len(found) == 3
    configurable = found[0].config["configurable"]  # type: ignore[typeddict-item]
    assert configurable["thread_id"] == thread
    saver.delete_thread(thread)
    assert list(saver.list(config(thread))) == [] and len(saver.memory) == 0


def test_threads_do_not_mix(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    for thread in ("a", "a1", "a/1", "b"):
        graph.invoke({"messages": [thread]}, config(thread))
    saver.delete_thread("a")
    assert saver.get_tuple(config("a")) is None
    for thread in ("a1", "a/1", "b"):
        assert graph.get_state(config(thread)).values["messages"][0] == thread


def test_two_savers_on_one_store_see_each_other(folder: Path) -> None:
    with TreeringSaver.open(folder) as one, TreeringSaver.open(folder) as other:
        graph_of(one).invoke({"messages": ["one"]}, config())
        assert graph_of(other).get_state(config()).values["messages"] == ["one", "heard one"]


def test_copy_keeps_the_whole_history(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    for number in range(3):
        graph.invoke({"messages": [str(number) + "w" * 9000]}, config())
    saver.copy_thread("t", "copy")
    one, other = list(saver.list(config())), list(saver.list(config("copy")))
    assert [t.checkpoint for t in one] == [t.checkpoint for t in other]
    saver.delete_thread("t")
    assert graph.invoke({"messages": ["x"]}, config("copy"))["messages"][-1] == "heard x"


def test_list_filters_and_limits(saver: TreeringSaver) -> None:
    graph = graph_of(saver)
    for number in range(3):
        graph.invoke({"messages": [str(number)]}, config())
    every = list(saver.list(config()))
    assert len(every) == 9
    ids = [one.checkpoint["id"] for one in every]
    assert ids == sorted(ids, reverse=True)
    assert [one.checkpoint["id"] for one in saver.list(config(), limit=2)] == ids[:2]
    assert [one.checkpoint["id"] for one in saver.list(config(), before=every[3].config)] == ids[4:]
    assert {one.metadata["source"] for one in saver.list(config(), filter={"source": "input"})} == {"input"}
    assert len(list(saver.list(None))) == 9 and list(saver.list(config(), limit=0)) == []


def merge(state: list[str], writes: Any) -> list[str]:
    return [*state, *(one for write in writes for one in write)]


class Delta(TypedDict):
    messages: Annotated[list[str], DeltaChannel(merge, snapshot_frequency=4)]


def test_a_delta_channel_survives_prune(saver: TreeringSaver) -> None:
    builder = StateGraph(Delta)
    builder.add_node("echo", lambda state: {"messages": [f"heard {len(state['messages'])}"]})
    builder.add_edge(START, "echo")
    graph: Any = builder.compile(checkpointer=saver)
    kept = set()
    for number in range(7):
        graph.invoke({"messages": [str(number)]}, config())
        before = graph.get_state(config()).values
        saver.prune(["t"])
        assert graph.get_state(config()).values == before
        kept.add(len(list(saver.list(config()))))
    assert len(before["messages"]) == 14 and len(kept) > 1, "some prunes kept ancestors"


def test_the_first_write_of_a_task_counts(saver: TreeringSaver) -> None:
    checkpoint: Checkpoint = empty_checkpoint()
    place = saver.put(config(), checkpoint, {"source": "input", "step": -1}, {})
    saver.put_writes(place, [("channel", "first")], "task")
    saver.put_writes(place, [("channel", "second")], "task")
    found = saver.get_tuple(place)
    assert found is not None and found.pending_writes == [("task", "channel", "first")]


def test_a_checkpoint_that_does_not_exist(saver: TreeringSaver) -> None:
    assert saver.get_tuple(config()) is None
    assert saver.get_tuple(config(checkpoint_id="nothing")) is None
    assert list(saver.list(config())) == []
    saver.delete_thread("t")
    saver.prune(["t"])
    saver.copy_thread("t", "u")
