"""Drafts and attempts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import treering
from treering import Draft, Memory, Writer


def test_a_draft_commits_at_the_end(memory: Memory) -> None:
    with memory.draft("tidy") as draft:
        assert draft.put("a", "1") == "created"
        assert draft.put("a", "1") == "unchanged"
        assert draft.put("b", "2") == "created"
        assert draft and len(draft) == 2 and "a" in draft and "a" not in memory
        assert not draft.finished and draft.committed is None
    assert draft.finished and draft.committed is not None
    assert draft.committed.commit.op == "tidy" and draft.committed.commit.seq == 1
    assert set(memory.view()) == {"a", "b"}


def test_an_exception_discards_the_draft(memory: Memory) -> None:
    with pytest.raises(RuntimeError, match="oh"):
        with memory.draft() as draft:
            draft.put("a")
            raise RuntimeError("oh")
    assert draft.finished and draft.committed is None and len(memory) == 0


def test_a_draft_may_be_discarded_inside(memory: Memory) -> None:
    with memory.draft() as draft:
        draft.put("a")
        draft.discard()
    assert len(memory) == 0 and len(memory.commits()) == 1


def test_a_draft_may_be_committed_inside(memory: Memory) -> None:
    with memory.draft() as draft:
        draft.put("a")
        assert draft.commit("early").commit.op == "early"
    assert len(memory.commits()) == 2


def test_an_empty_draft_makes_no_commit(memory: Memory) -> None:
    with memory.draft() as draft:
        pass
    assert draft.committed is not None and not draft.committed.changed
    assert len(memory.commits()) == 1


def test_a_finished_draft_refuses_further_calls(memory: Memory) -> None:
    draft = memory.draft()
    draft.put("a")
    draft.commit()
    for call in (lambda: draft.put("b"), draft.commit, draft.changes, lambda: draft.get("a"), lambda: len(draft)):
        with pytest.raises(treering.HandleError) as caught:
            call()
        assert caught.value.code == "finished"
    draft.discard()


def test_a_draft_sees_its_own_changes(memory: Memory) -> None:
    memory.put("a", "1")
    with memory.draft() as draft:
        draft.put("a", "2")
        found = draft.get("a")
        assert found is not None and found.content == "2" and draft.base["a"].content == "1"
        assert draft.remove("a") == 1 and draft.get("a") is None
        assert [(change.id, change.kind) for change in draft.changes()] == [("a", "removed")]


def test_remove_counts(memory: Memory) -> None:
    memory.put("top")
    memory.put("top/a", parent="top")
    with memory.draft() as draft:
        assert draft.remove("nothing") == 0
        assert draft.remove("top", recursive=True) == 2
    assert len(memory) == 0


def test_restore_brings_back_a_version(memory: Memory) -> None:
    memory.put("a", "1")
    before = memory.view()
    memory.put("a", "2")
    with memory.draft("restore_it") as draft:
        assert draft.restore("a", before)
        assert not draft.restore("nothing", before)
    assert memory.view() == before


def test_a_conflict_with_another_writer(memory: Memory) -> None:
    draft = memory.draft()
    draft.put("a", "mine")
    memory.put("a", "theirs")
    with pytest.raises(treering.ConflictError) as caught:
        draft.commit()
    assert caught.value.code == "conflict" and "a" in caught.value.ids


def test_an_expectation_fails_with_a_conflict(memory: Memory) -> None:
    memory.put("a", "1")
    version = memory.view()["a"].digest
    draft = memory.draft()
    draft.put("b")
    draft.expect("a", version)
    draft.expect("c", None)
    memory.put("a", "2")
    with pytest.raises(treering.ConflictError):
        draft.commit()
    assert "b" not in memory


def test_a_draft_is_saved_and_opened(folder: Path) -> None:
    with Memory.create(folder) as memory:
        draft = memory.draft()
        draft.put("a", "1")
        draft.save("later")
        assert draft.finished
    with Memory.open(folder) as memory:
        with memory.open_draft("later") as draft:
            assert [change.id for change in draft.changes()] == ["a"]
        assert "a" in memory
        memory.delete_draft("later")
        with pytest.raises(treering.NotFoundError):
            memory.open_draft("later")


def test_the_writer_of_a_draft(memory: Memory, vera: Writer) -> None:
    with memory.draft(writer=vera) as draft:
        assert draft.writer == vera
        draft.put("a")
    assert memory.view()["a"].origin == "direct_user"


def test_an_attempt_commits_if_the_checks_pass(memory: Memory) -> None:
    seen: list[int] = []

    def few(draft: Draft) -> None:
        seen.append(len(draft))

    with memory.attempt(few, lambda draft: True) as draft:
        draft.put("a")
    assert seen == [1] and draft.committed is not None and draft.committed.commit.op == "attempt"
    memory.put("b")
    assert len(memory.snapshots()) == 1, "an attempt takes a snapshot before"


def refuse_by_text(draft: Draft) -> str:
    return "too many objects"


def refuse_by_exception(draft: Draft) -> None:
    assert len(draft) < 1, "too many objects"


@pytest.mark.parametrize("check", [refuse_by_text, refuse_by_exception])
def test_a_check_refuses_with_its_reason(memory: Memory, check: object) -> None:
    with pytest.raises(treering.DeniedError) as caught:
        with memory.attempt(check) as draft:  # type: ignore[arg-type]
            draft.put("a")
    assert caught.value.code == "rejected" and caught.value.ids == ("a",)
    assert "too many objects" in caught.value.message and check.__name__ in caught.value.message  # type: ignore[attr-defined]
    assert caught.value.hint is not None and "rejected/" in caught.value.hint
    assert len(memory) == 0 and draft.finished


def test_a_check_refuses_by_false(memory: Memory) -> None:
    with pytest.raises(treering.DeniedError):
        with memory.attempt(lambda draft: False) as draft:
            draft.put("a")
    assert len(memory) == 0


def test_a_check_reads_the_draft(memory: Memory) -> None:
    def reads(draft: Draft) -> None:
        assert draft.get("a") is not None and "a" in draft and draft.base.get("a") is None

    with memory.attempt(reads) as draft:
        draft.put("a")
    assert "a" in memory


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda draft: draft.put("unchecked"),
        lambda draft: draft.remove("a"),
        lambda draft: draft.commit(),
        lambda draft: draft.save("later"),
    ],
)
def test_a_check_changes_nothing(guarded: bool, change: Callable[[Draft], object]) -> None:
    with treering.in_memory() as agent:
        with pytest.raises(treering.DeniedError, match="cannot change"):
            with agent.attempt(change) if guarded else agent.memory.attempt(change) as draft:
                draft.put_item("tea", id="a")
        assert len(agent.view()) == 0


def test_nothing_is_staged_while_checks_run(memory: Memory) -> None:
    """A change of another thread would be committed without a check."""
    refused: list[str] = []

    def stage(draft: Draft) -> None:
        try:
            draft.put("unchecked")
        except treering.InvalidInputError as error:
            refused.append(error.message)

    def slow(draft: Draft) -> None:
        thread = threading.Thread(target=stage, args=(draft,))
        thread.start()
        thread.join()

    with memory.attempt(slow) as draft:
        draft.put("a")
    assert set(memory.view()) == {"a"} and len(refused) == 1


def test_an_attempt_has_the_operation_of_its_commit(memory: Memory) -> None:
    draft = memory.attempt(op="turn")
    draft.put("a")
    assert draft.commit("tidy").commit.op == "tidy"
    with memory.attempt(op="turn") as draft:
        draft.put("b")
    assert draft.committed is not None and draft.committed.commit.op == "turn"


def test_a_guarded_turn_takes_no_other_operation() -> None:
    with treering.in_memory() as agent:
        draft = agent.attempt()
        draft.put_item("tea", id="a")
        with pytest.raises(treering.InvalidInputError, match="operation"):
            draft.commit("tidy")
        assert draft.commit().commit.op == "guard"


@pytest.mark.parametrize("id", [1, None, "", "a\n"])
def test_what_is_no_id_is_not_contained(memory: Memory, id: object) -> None:
    assert id not in memory.draft()


def test_an_interrupt_in_a_check_is_no_verdict(memory: Memory) -> None:
    def interrupted(draft: Draft) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with memory.attempt(interrupted) as draft:
            draft.put("a")
    assert len(memory) == 0 and draft.finished


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("error", [KeyError("x"), RuntimeError("no model"), ZeroDivisionError(), OSError("gone")])
def test_an_exception_in_a_check_is_no_refusal(guarded: bool, error: Exception) -> None:
    def broken(draft: Draft) -> None:
        raise error

    with treering.in_memory() as agent:
        with pytest.raises(treering.CheckError, match="broken") as caught:
            with agent.attempt(broken) if guarded else agent.memory.attempt(broken) as draft:
                draft.put_item("tea", id="a")
        assert not isinstance(caught.value, treering.DeniedError)
        assert caught.value.__cause__ is error and caught.value.code == "check_failed"
        assert caught.value.hint is not None and "rejected/" in caught.value.hint
        assert draft.finished and len(agent.view()) == 0


def test_a_refusal_by_an_assert_has_its_cause(memory: Memory) -> None:
    with pytest.raises(treering.DeniedError) as caught:
        with memory.attempt(refuse_by_exception) as draft:
            draft.put("a")
    assert isinstance(caught.value.__cause__, AssertionError)


@pytest.mark.parametrize("project", ["tea", "", None])
def test_an_item_of_a_draft_has_the_scope_of_remember(project: str | None) -> None:
    with treering.in_memory(project=project) as agent:
        item = agent.remember("The office is in Oslo")
        for start in (agent.attempt, agent.memory.draft, agent.memory.attempt):
            with start() as draft:
                draft.put_item("The tea is green", id="plans/tea")
            assert agent.view()["plans/tea"].scope == item.scope == agent.scope
            agent.memory.remove("plans/tea")
        with agent.attempt() as draft:
            draft.put_item("The tea is green", id="plans/tea", scope="project:other")
        assert agent.view()["plans/tea"].scope == "project:other"


def test_a_check_must_be_a_function(memory: Memory) -> None:
    with pytest.raises(TypeError, match="function"):
        memory.attempt("not a function")  # type: ignore[arg-type]


def test_a_draft_of_a_closed_memory(memory: Memory) -> None:
    draft = memory.draft()
    draft.put("a")
    memory.close()
    with pytest.raises(treering.HandleError) as caught:
        draft.commit()
    assert caught.value.code == "closed"
