"""The session of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

agents = pytest.importorskip("agents")

import treering
from treering.openai_agents import TreeringSession


@pytest.fixture
def session() -> TreeringSession:
    return TreeringSession("conversation", treering.in_memory())


def said(text: str) -> Any:
    return {"role": "user", "content": text}


async def test_it_is_a_session_of_the_sdk(session: TreeringSession) -> None:
    assert isinstance(session, agents.memory.session.Session)


def test_its_repr_names_the_conversation_and_the_store(session: TreeringSession) -> None:
    assert repr(session) == f"TreeringSession('conversation', {session.memory!r})"


async def test_items_come_back_in_their_order(session: TreeringSession) -> None:
    await session.add_items([said("one"), said("two")])
    await session.add_items([{"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}])
    items = await session.get_items()
    assert items == [said("one"), said("two"), {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}]


@pytest.mark.parametrize(("limit", "texts"), [(None, "abc"), (2, "bc"), (3, "abc"), (9, "abc"), (0, ""), (1, "c")])
async def test_a_limit_returns_the_newest(session: TreeringSession, limit: int | None, texts: str) -> None:
    await session.add_items([said(text) for text in "abc"])
    assert await session.get_items(limit) == [said(text) for text in texts]


async def test_the_settings_limit_too() -> None:
    settings = agents.SessionSettings(limit=1)
    session = TreeringSession("s", treering.in_memory(), session_settings=settings)
    await session.add_items([said("a"), said("b")])
    assert await session.get_items() == [said("b")]


async def test_pop(session: TreeringSession) -> None:
    await session.add_items([said("a"), said("b")])
    assert await session.pop_item() == said("b")
    await session.add_items([said("c")])
    assert await session.get_items() == [said("a"), said("c")]
    assert [await session.pop_item() for _ in range(3)] == [said("c"), said("a"), None]


async def test_clear_and_undo(session: TreeringSession) -> None:
    await session.add_items([said("a")])
    await session.clear_session()
    assert await session.get_items() == [] and len(session.memory) == 0
    await session.undo()
    assert await session.get_items() == [said("a")]
    await session.undo()
    assert await session.get_items() == []
    await session.clear_session()


def answered(text: str) -> Any:
    return {"role": "assistant", "content": text}


async def test_undo_takes_back_a_whole_turn(session: TreeringSession) -> None:
    for turn in ("one", "two"):
        await session.add_items([said(turn)])
        await session.add_items([{"type": "reasoning", "summary": []}, answered(f"heard {turn}")])
    commits = len(session.memory.commits())
    done = await session.undo()
    assert await session.get_items() == [said("one"), {"type": "reasoning", "summary": []}, answered("heard one")]
    assert done.commit.op == "undo_turn" and len(session.memory.commits()) == commits + 1
    await session.add_items([said("three")])
    await session.undo()
    await session.undo()
    assert await session.get_items() == []
    with pytest.raises(treering.NotFoundError) as caught:
        await session.undo()
    assert caught.value.code == "nothing_to_undo"


async def test_undo_brings_back_a_popped_item(session: TreeringSession) -> None:
    await session.add_items([said("one")])
    await session.add_items([answered("heard one")])
    await session.pop_item()
    await session.undo()
    assert await session.get_items() == [said("one"), answered("heard one")]


async def test_undo_takes_back_no_work_of_others_in_the_lane(session: TreeringSession) -> None:
    lane = treering.Writer("direct_user", session=session.session_id)
    session.memory.put("theirs", "text", writer=lane)
    with pytest.raises(treering.NotFoundError):
        await session.undo()
    await session.add_items([said("one"), answered("heard one")])
    await session.clear_session()
    session.memory.put("theirs", "newer", writer=lane)
    await session.undo()
    assert await session.get_items() == [said("one"), answered("heard one")]
    assert session.memory.view()["theirs"].content == "newer"


@pytest.mark.parametrize("late", [1, 1000])
async def test_undo_loses_no_item_that_another_adds_meanwhile(session: TreeringSession, late: int) -> None:
    other = TreeringSession("conversation", session.memory)

    class Slow:
        """The memory, in which another adds an item after each of the first reads of the history."""

        added = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(other.memory, name)

        def history(self, name: str) -> Any:
            found = other.memory.history(name)
            if Slow.added < late:
                Slow.added += 1
                asyncio.run(other.add_items([said(f"late {Slow.added}")]))
                if late > 1:
                    asyncio.run(other.clear_session())
            return found

    await session.add_items([said(str(number)) for number in range(5)])
    await session.clear_session()
    session.memory = Slow()  # type: ignore[assignment]
    if late > 1:
        with pytest.raises(treering.ConflictError):
            await session.undo()
        assert 1 < Slow.added < late
        return
    # The added item is the newest turn, so the undo takes it back and leaves the rest.
    assert (await session.undo()).commit.op == "undo_turn"
    assert await other.get_items() == []
    await other.add_items([said("next")])
    assert await other.get_items() == [said("next")]


async def test_removed_items_leave_no_chunks(session: TreeringSession) -> None:
    def chunks() -> int:
        return sum(1 for name in session.memory.view() if "/chunk/" in name)

    large = said("grün " * 20_000)
    await session.add_items([large])
    kept = chunks()
    assert kept > 0
    await session.add_items([large, answered("other " * 20_000)])
    assert chunks() > kept
    assert await session.pop_item() == answered("other " * 20_000)
    assert await session.pop_item() == large and chunks() == kept
    assert await session.get_items() == [large]
    await session.undo()
    assert await session.get_items() == [large, large]
    await session.undo()
    assert await session.get_items() == [large, large, answered("other " * 20_000)]
    await session.undo()
    assert await session.get_items() == [large] and chunks() == kept
    await session.undo()
    assert chunks() == 0 and await session.get_items() == []


async def test_nothing_to_add_makes_no_commit(session: TreeringSession) -> None:
    await session.add_items([])
    assert len(session.memory.commits()) == 1


async def test_sessions_do_not_mix(session: TreeringSession) -> None:
    other = TreeringSession("other", session.memory)
    await session.add_items([said("a")])
    await other.add_items([said("b")])
    await session.clear_session()
    assert await other.get_items() == [said("b")]


async def test_two_tasks_add_at_once(session: TreeringSession) -> None:
    other = TreeringSession("conversation", session.memory)
    await asyncio.gather(*(one.add_items([said(f"{number}")]) for number in range(10) for one in (session, other)))
    assert len(await session.get_items()) == 20


async def test_a_large_item(session: TreeringSession) -> None:
    item = said("grün " * 500_000)
    await session.add_items([item])
    assert await session.get_items() == [item]


@pytest.mark.parametrize("name", ["a/b", "", "x" * 400, "grün", "line\nbreak"])
async def test_any_text_is_a_session(name: str) -> None:
    session = TreeringSession(name, treering.in_memory())
    await session.add_items([said("a")])
    assert await session.get_items() == [said("a")] and session.session_id == name


async def test_a_session_survives_a_restart(folder: Path) -> None:
    session = TreeringSession.open("s", folder)
    await session.add_items([said("a")])
    session.memory.close()
    assert await TreeringSession.open("s", folder).get_items() == [said("a")]


async def test_a_run_of_the_sdk_keeps_its_history(session: TreeringSession) -> None:
    class Scripted(agents.Model):  # type: ignore[misc, name-defined]
        """A model that counts the items that it is shown."""

        async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> Any:
            from agents import ModelResponse, Usage
            from openai.types.responses import ResponseOutputMessage, ResponseOutputText

            text = ResponseOutputText(text=f"saw {len(input)}", type="output_text", annotations=[])
            message = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *rest: Any, **more: Any) -> Any:
            raise NotImplementedError

    agents.set_tracing_disabled(True)
    agent = agents.Agent(name="scripted", model=Scripted())
    first = await agents.Runner.run(agent, "Hello", session=session)
    second = await agents.Runner.run(agent, "Again", session=session)
    assert (first.final_output, second.final_output) == ("saw 1", "saw 3")
    assert len(await session.get_items()) == 4


@pytest.mark.parametrize("by_agent", [True, False])
async def test_recall_finds_the_messages(by_agent: bool) -> None:
    with treering.in_memory(project="garden" if by_agent else None) as agent:
        session = TreeringSession("c", agent if by_agent else agent.memory)
        await session.add_items(
            [
                said("Who waters the tomatoes?"),
                {"role": "assistant", "content": [{"type": "output_text", "text": "Ada waters them on Mondays"}]},
                {"type": "function_call_output", "call_id": "c", "output": "the secret marmalade"},
            ]
        )
        found = [hit.snippet for hit in agent.recall("tomatoes")]
        assert any("tomatoes" in text for text in found)
        assert any("Mondays" in hit.snippet for hit in agent.recall("Mondays"))
        assert not agent.recall("marmalade").hits, "an output of a tool is not the word of the model"
        assert len(await session.get_items()) == 3


@pytest.mark.parametrize("wrong", ["hello", b"hello", {"role": "user", "content": "hello"}])
async def test_items_are_a_list(session: TreeringSession, wrong: Any) -> None:
    with pytest.raises(TypeError):
        await session.add_items(wrong)
    assert await session.get_items() == []
