"""Forks and merges."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

import treering
from treering import Agent, Memory, Writer, aio


def test_nobody_else_sees_a_fork(memory: Memory) -> None:
    memory.put("a", "1")
    fork = memory.fork("task")
    fork.put("b", "2")
    assert "b" in fork and "b" not in memory and "a" in fork
    assert fork.fork_name == "task" and memory.fork_name is None
    assert "fork=\"task\"" in repr(fork)
    (info,) = memory.forks()
    assert (info.name, info.commits, info.trust_cap) == ("task", 1, "direct_user")
    assert "b" in memory.at("fork:task")


def test_a_fork_begins_at_a_revision_or_a_view(memory: Memory) -> None:
    memory.put("a", "1")
    view = memory.view()
    memory.put("b", "2")
    assert "b" not in memory.fork("one", at="@-1")
    assert "b" not in memory.fork("two", at=view)
    with pytest.raises(treering.NotFoundError):
        memory.fork("three", at="nothing")


def test_the_end_of_a_block_merges_and_drops(memory: Memory) -> None:
    memory.put("a", "1")
    with memory.fork("task") as fork:
        fork.put("b", "2")
        memory.put("c", "3")
    assert set(memory.view()) == {"a", "b", "c"}
    assert fork.closed and list(memory.forks()) == []
    merged = fork.merged
    assert merged is not None and merged.new and merged.commit.op == "merge"
    (change,) = merged.changes
    assert (change.id, change.kind, change.old_text, change.new_text) == ("b", "added", None, "2")
    with memory.fork("task"):
        pass


def test_an_exception_drops_the_fork_with_its_commits(memory: Memory) -> None:
    with pytest.raises(ZeroDivisionError):
        with memory.fork("task") as fork:
            fork.put("b", "2")
            raise ZeroDivisionError
    assert "b" not in memory and list(memory.forks()) == [] and fork.merged is None
    assert fork.closed


def test_a_fork_that_the_block_dropped_is_not_merged(memory: Memory) -> None:
    with memory.fork("task") as fork:
        fork.put("b", "2")
        memory.drop_fork("task", unmerged=True)
    assert "b" not in memory and fork.merged is None


def test_a_fork_whose_merge_is_refused_stays(folder: Path) -> None:
    with Memory.create(folder, writer=Writer.person("vera")) as memory:
        memory.put("a", "1")
        with pytest.raises(treering.DeniedError):
            with memory.fork("task", writer=Writer.tool("crawler")) as fork:
                fork.with_writer(Writer.person()).remove("a")
        assert [one.name for one in memory.forks()] == ["task"]
        with memory.open_fork("task") as fork:
            assert "a" not in fork
        assert [one.name for one in memory.forks()] == ["task"]


def test_a_block_with_another_writer_ends_nothing(memory: Memory) -> None:
    with memory.fork("task") as fork:
        with fork.with_writer(Writer.person("vera")) as vera:
            vera.put("b", "2")
        assert not fork.closed and "b" not in memory
        with pytest.raises(ZeroDivisionError):
            with fork.with_writer(Writer.model("worker")):
                raise ZeroDivisionError
        fork.put("c", "3")
    assert fork.closed and {"b", "c"} <= set(memory.view()) and not memory.forks()
    assert fork.merged is not None and vera.merged is not None
    with memory.fork("alone").with_writer(Writer.person("vera")) as vera:
        vera.put("d", "4")
    assert "d" in memory and not memory.forks()
    with contextlib.ExitStack() as stack:
        stack.push(memory.fork("pushed")).put("e", "5")
    assert "e" in memory and not memory.forks()


def test_an_untrusted_writer_merges_its_fork_and_leaves_what_it_may_not_drop(memory: Memory) -> None:
    tool = Writer.tool("crawler")
    with memory.fork("good", writer=tool) as fork:
        fork.put("b", "2")
    assert "b" in memory and not memory.forks()
    with pytest.raises(ZeroDivisionError) as caught:
        with memory.fork("bad", writer=tool) as fork:
            fork.put("c", "3")
            raise ZeroDivisionError
    assert "c" not in memory and [one.name for one in memory.forks()] == ["bad"]
    notes = getattr(caught.value, "__notes__", ["the fork 'bad' was not dropped"])
    assert "the fork 'bad' was not dropped" in notes[0]


def test_a_block_ends_its_own_fork_alone(memory: Memory) -> None:
    with memory.fork("task") as fork:
        fork.put("b", "2")
        memory.drop_fork("task", unmerged=True)
        memory.fork("task").put("c", "3")
    assert fork.merged is None and "c" not in memory
    assert [(one.name, one.commits) for one in memory.forks()] == [("task", 1)]


def test_nested_blocks_end_from_the_inside(memory: Memory) -> None:
    with pytest.raises(ZeroDivisionError):
        with memory.fork("outer") as outer:
            outer.put("a", "1")
            with outer.fork("inner") as inner:
                inner.put("b", "2")
                raise ZeroDivisionError
    assert not memory.forks() and not set(memory.view())
    with memory.fork("outer") as outer:
        with pytest.raises(ZeroDivisionError):
            with outer.fork("inner") as inner:
                inner.put("b", "2")
                raise ZeroDivisionError
        outer.put("a", "1")
    assert set(memory.view()) == {"a"} and not memory.forks()


def test_the_cap_lowers_what_a_fork_writes(memory: Memory) -> None:
    with memory.fork("task", trust_cap="tool_external", writer=Writer.person()) as fork:
        fork.put("b", "2")
    found = memory.get("b")
    assert found is not None and found.origin == "tool_external"
    with pytest.raises(treering.InvalidInputError):
        memory.fork("other", trust_cap="royal")  # type: ignore[arg-type]


def test_a_dropped_fork_loses_no_work_by_accident(memory: Memory) -> None:
    memory.fork("task").put("b", "2")
    with pytest.raises(treering.ConflictError) as caught:
        memory.drop_fork("task")
    assert caught.value.code == "unmerged" and "unmerged=True" in str(caught.value.hint)
    assert memory.drop_fork("task", unmerged=True).commits == 1
    with pytest.raises(treering.NotFoundError) as missing:
        memory.open_fork("task")
    assert missing.value.code == "no_fork" and missing.value.hint == "forks() lists the forks"


def test_a_name_is_used_once(memory: Memory) -> None:
    memory.fork("task")
    with pytest.raises(treering.InvalidInputError) as caught:
        memory.fork("task")
    assert caught.value.code == "name_taken"


def disagreeing(memory: Memory) -> Memory:
    memory.put("plan", "the office is in Oslo")
    fork = memory.fork("task")
    fork.put("plan", "the office is in Bergen")
    memory.put("plan", "the office is in Paris")
    return fork


def test_a_preview_changes_nothing(memory: Memory) -> None:
    disagreeing(memory)
    root = memory.view().root
    merged = memory.merge("task", dry_run=True, strategy="theirs")
    assert merged.dry_run and merged.new and memory.view().root == root
    (change,) = merged.changes
    assert (change.old_text, change.new_text) == ("the office is in Paris", "the office is in Bergen")


def test_a_conflict_stays_open_until_somebody_decides(memory: Memory) -> None:
    fork = disagreeing(memory)
    merged = memory.merge("task")
    assert [(one.id, one.fields) for one in merged.conflicts] == [("plan", ("content",))]
    (conflict,) = memory.conflicts()
    assert conflict.id == "plan" and conflict.base is not None
    assert conflict.base.content == "the office is in Oslo"
    texts = {side.object.content for side in conflict.sides if side.object is not None}
    assert texts == {"the office is in Bergen", "the office is in Paris"}
    theirs = fork.view()["plan"].digest
    assert theirs in {side.digest for side in conflict.sides}
    assert memory.resolve("plan", take=theirs).changed
    assert list(memory.conflicts()) == []
    found = memory.get("plan")
    assert found is not None and found.content == "the office is in Bergen"
    assert conflict.to_dict()["sides"][0]["object"]["id"] == "plan"


def test_a_later_version_is_shown_and_dropped_only_by_its_name(memory: Memory) -> None:
    fork = disagreeing(memory)
    theirs = fork.view()["plan"].digest
    memory.merge("task")
    assert memory.conflicts()[0].present is None
    memory.put("plan", "the office is in Rome")
    present = memory.conflicts()[0].present
    assert present is not None and present.object is not None and present.digest is not None
    assert present.object.content == "the office is in Rome" and present.commit is not None
    for expected in (None, theirs, "removed"):
        with pytest.raises(treering.ConflictError) as caught:
            memory.resolve("plan", take=theirs, expected=expected)
        assert caught.value.code == "changed" and "expected=" in str(caught.value.hint)
    memory.resolve("plan", take=theirs, expected=present.digest)
    assert memory.view()["plan"].content == "the office is in Bergen"


def test_a_decision_may_be_a_text_or_a_removal(memory: Memory) -> None:
    disagreeing(memory)
    memory.merge("task")
    with pytest.raises(treering.InvalidInputError):
        memory.resolve("plan")
    with pytest.raises(treering.InvalidInputError):
        memory.resolve("plan", remove=True, content="x")
    memory.resolve("plan", content="it moved twice")
    memory.undo()
    memory.resolve("plan", remove=True)
    assert "plan" not in memory
    with pytest.raises(treering.NotFoundError) as caught:
        memory.resolve("plan", remove=True)
    assert caught.value.code == "no_conflict" and "conflicts()" in str(caught.value.hint)


@pytest.mark.parametrize(("strategy", "text"), [("ours", "Paris"), ("theirs", "Bergen"), ("newer", "Paris")])
def test_a_strategy_leaves_nothing_open(memory: Memory, strategy: str, text: str) -> None:
    disagreeing(memory)
    merged = memory.merge("task", strategy=strategy)  # type: ignore[arg-type]
    found = memory.get("plan")
    assert not merged.conflicts and found is not None and text in (found.content or "")
    with pytest.raises(treering.InvalidInputError):
        memory.merge("task", strategy="mine")  # type: ignore[arg-type]


def test_merging_twice_changes_nothing_and_again_compares_with_the_base(memory: Memory) -> None:
    fork = memory.fork("task")
    fork.put("b", "2")
    assert memory.merge("task").new
    again = memory.merge("task")
    assert not again.new and not again.changes
    memory.remove("b")
    assert "b" not in memory
    memory.merge("task", again=True)
    assert memory.conflicts() or "b" in memory


def test_a_fork_takes_what_main_wrote(memory: Memory) -> None:
    fork = memory.fork("task")
    memory.put("a", "1")
    assert fork.merge("main").added == 1
    assert "a" in fork


def test_a_fork_of_a_fork_is_merged_into_it(memory: Memory) -> None:
    with memory.fork("outer") as outer:
        with outer.fork("inner") as inner:
            inner.put("b", "2")
        assert "b" in outer and "b" not in memory
    assert "b" in memory


def test_closing_the_store_closes_its_forks(folder: Path) -> None:
    memory = Memory.create(folder)
    fork = memory.fork("task")
    fork.put("b", "2")
    fork.close()
    assert fork.closed and not memory.closed
    other = memory.open_fork("task")
    memory.close()
    assert other.closed
    with Memory.open(folder, exclusive=True) as again:
        assert "b" in again.open_fork("task")


def test_an_agent_remembers_in_a_fork(agent: Agent) -> None:
    agent.remember("The office is in Oslo")
    with agent.fork("task", trust_cap="model") as fork:
        fork.remember("The harbour is in Bergen")
        assert fork.recall("where is the harbour")[0].text is None or len(fork.recall("harbour")) == 1
        assert not agent.recall("harbour").hits
    assert "Bergen" in str(agent.recall("harbour")[0])


def test_an_agent_takes_its_embedder_into_a_fork() -> None:
    def embed(text: str) -> list[float]:
        return [1.0, 0.0] if "harbour" in text or "port" in text else [0.0, 1.0]

    with treering.in_memory(project="tests", embedder=embed, embedder_name="two") as agent:
        with agent.fork("task") as fork:
            fork.remember("The harbour is in Bergen")
            counts = fork.embed()
            assert counts is not None and counts.pending == 0


def test_a_fork_ends_in_asyncio() -> None:
    async def run() -> None:
        async with await aio.AsyncMemory(Memory.in_memory()).fork("unused"):
            pass
        memory = aio.AsyncMemory(Memory.in_memory())
        async with await memory.fork("good", trust_cap="model") as fork:
            await fork.put("a", "1")
            async with fork.with_writer(Writer.model("worker")) as worker:
                await worker.put("c", "3")
            assert not fork.closed
            async with await fork.fork("inner") as inner:
                assert isinstance(inner, aio.AsyncMemory)
                await inner.put("d", "4")
        assert fork.merged is not None and await memory.get("a") is not None
        assert await memory.get("c") is not None and await memory.get("d") is not None
        with pytest.raises(ZeroDivisionError):
            async with await memory.fork("bad") as fork:
                await fork.put("b", "2")
                raise ZeroDivisionError
        with pytest.raises(asyncio.TimeoutError):
            async with await memory.fork("slow") as fork:
                await fork.put("b", "2")
                await asyncio.wait_for(asyncio.sleep(60), 0.01)
        assert await memory.get("b") is None and not await memory.forks()
        await memory.close()

    asyncio.run(run())


def test_forks_end_in_any_order(memory: Memory) -> None:
    forks = [memory.fork(f"task-{number}") for number in range(20)]
    for number, fork in enumerate(forks):
        fork.put(f"a{number}", "1")
    for number in range(0, 20, 2):
        memory.merge(f"task-{number}")
        memory.drop_fork(f"task-{number}")
    assert len(memory.view()) == 10 and len(memory.forks()) == 10
    assert memory.forks()[0].time.utcoffset() == timedelta(0)


def test_the_orchestrator_takes_the_good_work_and_drops_the_rest(tmp_path: Path) -> None:
    program = Path(__file__).resolve().parents[2] / "examples" / "python" / "many_agents.py"
    command = [sys.executable, str(program), str(tmp_path / "memory")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "rogue is dropped: I lost my way" in done.stdout
    with Memory.open(tmp_path / "memory") as memory:
        assert set(memory.view()) == {"plan", "facts/ferry", "facts/flight"}
        assert "ferry" in (memory.view()["plan"].content or "")
        assert not memory.forks() and not memory.conflicts() and memory.verify()
