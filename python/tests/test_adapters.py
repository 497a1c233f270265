"""The common part of the adapters."""

from __future__ import annotations

from treering import Draft, Memory
from treering._adapters import Chunks, change, remove_all


def test_a_chunk_that_another_writer_removes_is_stored_again(memory: Memory) -> None:
    chunks, frames = Chunks("chunk/", "global"), [("text", b"x" * 10_000)]
    change(memory, "first", lambda draft: draft.put("first", attributes=chunks.put(draft, frames)))
    tries: list[int] = []

    def stage(draft: Draft) -> None:
        draft.put("second", attributes=chunks.put(draft, frames))
        tries.append(len(tries))
        if len(tries) == 1:
            with memory.draft() as other:
                remove_all(other, [one.id for one in memory.view().query(prefix="chunk/")])

    change(memory, "second", stage)
    view = memory.view()
    assert chunks.get_all(view, [view["second"].attributes]) == [frames] and len(tries) == 2


def test_two_values_of_one_change_share_their_chunks(memory: Memory) -> None:
    chunks, frames = Chunks("chunk/", "global"), [("text", b"x" * 10_000)]

    def stage(draft: Draft) -> None:
        for name in ("first", "second"):
            draft.put(name, attributes=chunks.put(draft, frames))

    change(memory, "both", stage)
    view = memory.view()
    assert len(list(view.query(kind="chunk"))) == 1
    both = [view[name].attributes for name in ("first", "second")]
    assert chunks.get_all(view, both) == [frames, frames]
