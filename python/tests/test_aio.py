"""The handles for asyncio."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from pathlib import Path

import pytest

import treering
from treering import Draft, aio


async def test_the_first_lines(folder: Path) -> None:
    async with await aio.open(folder) as agent:
        await agent.remember("The office is in Oslo")
        assert (await agent.recall("office"))[0].snippet == "The office is in Oslo"
        await agent.undo()
        assert len(await agent.recall("office")) == 0
    assert agent.closed


async def test_many_tasks_at_once(folder: Path) -> None:
    async with await aio.open(folder) as agent:
        await asyncio.gather(*(agent.memory.put(f"{number}") for number in range(50)))
        assert len(await agent.view()) == 50


async def test_the_loop_runs_while_a_call_waits(folder: Path) -> None:
    async with await aio.open(folder) as agent:
        main = threading.get_ident()
        seen: list[int] = []

        def embed(item: object, level: str) -> None:
            seen.append(threading.get_ident())

        await agent.remember("long text. " * 30, id="a")
        now = (await agent.view()).now
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while not done.is_set():
                ticks += 1
                await asyncio.sleep(0)

        done = asyncio.Event()
        ticking = asyncio.create_task(tick())
        await agent.decay(now=now.replace(year=now.year + 1), summarizer=embed)
        done.set()
        await ticking
        assert ticks > 0 and seen and main not in seen


async def test_a_cancelled_call_finishes(folder: Path) -> None:
    async with await aio.open(folder) as agent:
        started, go = threading.Event(), threading.Event()

        def check(draft: Draft) -> None:
            started.set()
            assert go.wait(10)

        async def turn() -> None:
            async with agent.memory.attempt(check) as draft:
                draft.put("a")

        task = asyncio.create_task(turn())
        await asyncio.to_thread(started.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        for _ in range(1000):
            if "a" in await agent.view():
                break
            await asyncio.sleep(0.01)
        assert "a" in await agent.view()


async def test_a_draft_commits_and_discards() -> None:
    async with await aio.in_memory() as agent:
        async with agent.memory.draft("tidy") as draft:
            draft.put("a")
        assert draft.committed is not None and draft.committed.commit.op == "tidy"
        with pytest.raises(RuntimeError):
            async with agent.memory.draft() as draft:
                draft.put("b")
                raise RuntimeError
        assert set(await agent.view()) == {"a"}


async def test_a_guarded_turn_raises() -> None:
    async with await aio.in_memory() as agent:
        with pytest.raises(treering.DeniedError):
            async with agent.attempt(lambda draft: False) as draft:
                draft.put_item("tea", id="a")
        assert len(await agent.view()) == 0 and draft.report is not None


async def test_sessions_and_errors() -> None:
    async with await aio.in_memory() as agent:
        monday = agent.with_session("monday")
        assert monday.writer.session == "monday"
        await monday.remember("tea")
        with pytest.raises(treering.NotFoundError) as caught:
            await agent.undo()
        assert caught.value.code == "nothing_to_undo"
        await agent.with_writer(treering.Writer(session="monday")).undo()


async def test_a_memory_is_opened_and_its_drafts_are_kept(folder: Path) -> None:
    async with await aio.AsyncMemory.open(folder, create=True) as memory:
        draft = memory.sync.draft()
        draft.put("a")
        draft.save("later")
        async with memory.open_draft("later") as opened:
            opened.put("b")
        assert opened.committed is not None and set(await memory.view()) == {"a", "b"}
        await memory.delete_draft("later")
        vera = memory.with_writer(treering.Writer.person("vera", reason="she said so"))
        commit = (await vera.put("c")).commit
        assert commit.actor == "vera" and commit.reason_digest is not None
        assert await memory.text(commit.reason_digest) == "she said so"
        found = await memory.bisect_states("seq:0", "@", lambda view: "c" in view)
        assert found.first_bad == commit
    assert memory.closed
    with pytest.raises(treering.NotFoundError):
        await aio.AsyncMemory.open(folder / "nothing")


async def test_watch_is_an_iterator(folder: Path) -> None:
    async with await aio.open(folder) as agent:
        moves = agent.watch()
        await agent.memory.put("a")
        await agent.memory.put("b")
        assert [(await anext(moves)).op, (await anext(moves)).op] == ["put", "put"]
        waiting = asyncio.create_task(anext(moves, None))
        await asyncio.sleep(0.05)
        await agent.close()
        assert await asyncio.wait_for(waiting, 10) is None


async def test_a_timeout_of_watch_loses_no_move() -> None:
    async with await aio.in_memory() as agent:
        moves = agent.watch()
        for number in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(moves), 0.05)
            # The poll that the timeout left behind finds this move.
            seq = (await agent.memory.put(f"{number}")).commit.seq
            await asyncio.sleep(0.1)
            assert (await asyncio.wait_for(anext(moves), 10)).seq == seq
        one, other = asyncio.create_task(anext(moves)), asyncio.create_task(anext(moves))
        await agent.memory.put("a")
        await agent.memory.put("b")
        assert (await one).seq + 1 == (await other).seq


async def test_a_watch_is_closed_by_its_reader_and_with_the_store(caplog: pytest.LogCaptureFixture) -> None:
    agent = await aio.in_memory()
    async with agent:
        moves, left = agent.watch(), agent.watch()
        for one in (moves, left):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(one), 0.01)
        await moves.aclose()
        await agent.memory.put("a")
        assert [one async for one in moves] == []
        async for moved in left:
            assert moved.op == "put"
            break
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(left), 0.01)
    del left
    await asyncio.sleep(0.6)
    gc.collect()
    assert not caplog.records, "the poll that nobody waits for ends silently"


def test_every_call_that_may_block_has_a_coroutine() -> None:
    # These return at once, return a context manager, have texts of their own, or are on the handle `sync`.
    others = {"with_writer", "with_session", "open", "create", "in_memory", "watch", "sync", "attempt", "draft", "open_draft", "fork", "open_fork"}
    for kind, asynchronous in ((treering.Agent, aio.AsyncAgent), (treering.Memory, aio.AsyncMemory)):
        for name, value in inspect.getmembers(kind, callable):
            if name.startswith("_") or name in others:
                continue
            found = getattr(asynchronous, name)
            assert inspect.iscoroutinefunction(found), name
            assert found.__doc__ == value.__doc__
        for name in ("attempt", "with_writer"):
            assert callable(getattr(asynchronous, name))
