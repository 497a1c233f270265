"""Views: one state that never changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import treering
from treering import Memory, NotFoundError, View


@pytest.fixture
def filled(memory: Memory) -> Memory:
    with memory.draft() as draft:
        draft.put("top", kind="folder")
        for number in range(200):
            draft.put(
                f"top/{number:03}",
                f"text {number}",
                kind="note" if number % 2 else "fact",
                parent="top",
                position=f"{200 - number:03}",
                attributes={"even": number % 2 == 0},
            )
    return memory


def test_a_view_is_a_mapping(filled: Memory) -> None:
    view = filled.view()
    assert len(view) == 201
    assert view["top/007"].content == "text 7"
    assert "top/007" in view and "nothing" not in view
    assert list(view) == sorted(view.keys())
    assert [one.id for one in view.values()] == list(view)
    assert dict(view.items())["top"].kind == "folder"
    assert dict(view).keys() == set(view)  # type: ignore[call-overload]


def test_get_returns_the_default(filled: Memory) -> None:
    view = filled.view()
    assert view.get("nothing") is None and view.get("nothing", 3) == 3
    assert view.get("top") is not None


def test_a_missing_id_is_a_key_error_with_a_code(filled: Memory) -> None:
    with pytest.raises(NotFoundError) as caught:
        filled.view()["nothing"]
    assert isinstance(caught.value, KeyError) and caught.value.code == "not_found"
    assert "nothing" in str(caught.value)


@pytest.mark.parametrize("id", [1, None, "", "a\n"])
def test_what_is_no_id_is_not_contained(filled: Memory, id: Any) -> None:
    assert id not in filled.view()


def test_a_view_never_changes(filled: Memory) -> None:
    before = filled.view()
    root = before.root
    filled.put("top/007", "other")
    filled.remove("top/008")
    assert before["top/007"].content == "text 7" and "top/008" in before and before.root == root
    assert filled.view().root != root


def test_views_of_one_root_are_equal(filled: Memory) -> None:
    one, other = filled.view(), filled.view()
    assert one == other and hash(one) == hash(other)
    filled.put("new")
    assert filled.view() != one
    filled.remove("new")
    assert filled.view() == one


def test_get_all_keeps_the_order(filled: Memory) -> None:
    found = filled.view().get_all(["top/003", "nothing", "top/001"])
    assert [one and one.id for one in found] == ["top/003", None, "top/001"]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({}, 201),
        ({"kind": "note"}, 100),
        ({"kind": "note", "limit": 7}, 7),
        ({"prefix": "top/00"}, 10),
        ({"parent": "top"}, 200),
        ({"attributes": {"even": True}}, 100),
        ({"attributes": {"even": True}, "kind": "note"}, 0),
        ({"scope": "elsewhere"}, 0),
        ({"limit": 0}, 0),
    ],
)
def test_a_query_finds_what_meets_every_condition(filled: Memory, query: dict[str, Any], count: int) -> None:
    assert len(list(filled.view().query(**query))) == count


def test_a_query_below_a_parent_keeps_the_order_of_positions(filled: Memory) -> None:
    ids = [one.id for one in filled.view().query(parent="top", limit=3)]
    assert ids == ["top/199", "top/198", "top/197"]
    assert filled.view().children("top", limit=3) == ("top/199", "top/198", "top/197")


def test_an_iterator_is_lazy_and_ends(filled: Memory) -> None:
    found = filled.view().query(kind="note")
    assert next(found).kind == "note"
    assert len(list(found)) == 99
    with pytest.raises(StopIteration):
        next(found)


def test_the_rest_of_a_query_becomes_a_table(filled: Memory) -> None:
    table = filled.view().query(kind="note").table()
    assert isinstance(table, treering.Table) and len(table) == 100
    assert table.to_dicts()[0]["kind"] == "note"


@pytest.mark.parametrize("revision", ["before", "@-1", "seq:1"])
def test_a_revision_names_an_earlier_state(filled: Memory, revision: str) -> None:
    filled.snapshot("before")
    root = filled.view().root
    filled.put("later")
    assert filled.at(revision).root == root


def test_a_revision_may_be_a_digest_a_root_or_a_time(filled: Memory) -> None:
    view = filled.view()
    filled.put("later")
    assert filled.at(view.commit.digest) == view
    assert filled.at(view.root) == view
    assert filled.at(view.commit.time) == view
    assert filled.at(view.commit.time.isoformat()) == view


@pytest.mark.parametrize(
    ("revision", "code"),
    [("nowhere", "no_revision"), ("@-9999", "no_revision"), ("seq:x", "invalid_input"), ("", "invalid_input")],
)
def test_a_bad_revision_has_a_code(filled: Memory, revision: str, code: str) -> None:
    with pytest.raises(treering.TreeringError) as caught:
        filled.at(revision)
    assert caught.value.code == code


@pytest.mark.parametrize("revision", [1, b"x", object()])
def test_a_revision_of_another_type_is_a_type_error(filled: Memory, revision: Any) -> None:
    with pytest.raises(TypeError):
        filled.at(revision)


def test_an_expired_object_is_hidden_from_a_query(memory: Memory) -> None:
    now = memory.view().now
    memory.put("short", expires=now + timedelta(hours=1))
    assert [one.id for one in memory.view().query()] == ["short"]
    later = memory.view().with_now(now + timedelta(hours=2))
    assert list(later.query()) == []
    assert [one.id for one in later.query(expired=True)] == ["short"]
    assert "short" in later


def test_a_proof_shows_presence_and_absence(filled: Memory) -> None:
    view = filled.view()
    assert view.prove("top").verify(view.root, "top") == view["top"].digest
    assert view.prove("nothing").verify(view.root, "nothing") is None


def test_a_proof_fails_for_another_root(filled: Memory) -> None:
    view = filled.view()
    proof = view.prove("top")
    filled.put("new")
    with pytest.raises(treering.InvalidInputError):
        proof.verify(filled.view().root, "top")
    with pytest.raises(treering.InvalidInputError):
        proof.verify(view.root, "top/001")


def test_a_view_is_passed_where_a_revision_is_wanted(filled: Memory) -> None:
    before = filled.view()
    filled.put("later")
    assert filled.at(before) == before
    assert [change.id for change in filled.diff(before)] == ["later"]


def test_repr_names_the_state(filled: Memory) -> None:
    view: View = filled.view()
    assert repr(view) == f"View(seq=1, objects=201, root={view.root[:8]})"


def test_get_all_does_not_believe_a_length(filled: Memory) -> None:
    class Liar(list[str]):
        def __len__(self) -> int:
            return 10**11

    assert [one and one.id for one in filled.view().get_all(Liar(["top/003", "nothing"]))] == ["top/003", None]
    assert [one and one.id for one in filled.view().get_all(iter(["top/001"]))] == ["top/001"]


def test_an_iterator_names_its_state_and_reads_nothing_for_it(memory: Memory) -> None:
    memory.put("a")
    memory.put("b")
    view = memory.view()
    found = view.query()
    assert repr(found) == "Objects(seq=2; table() reads the rest)"
    assert repr(view.keys()) == "Ids(seq=2)" and repr(view.items()) == "Items(seq=2)"
    assert len(found.table()) == 2
    memory.close()
    assert repr(found) == "Objects(closed)"
