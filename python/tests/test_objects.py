"""Objects and their values."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import treering
from treering import InvalidInputError, Memory, Object

UTC = timezone.utc


def stored(memory: Memory, **fields: Any) -> Object:
    memory.put("it", "text", **fields)
    found = memory.get("it")
    assert found is not None
    return found


def test_an_object_has_the_fields_that_were_put(memory: Memory) -> None:
    memory.put("top", kind="folder")
    time = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
    found = stored(
        memory,
        kind="note",
        scope="project:tea",
        parent="top",
        position="a1",
        attributes={"todo": "open"},
        event_time=time,
        expires=time + timedelta(days=10_000),
    )
    assert (found.id, found.kind, found.scope, found.parent, found.position) == (
        "it",
        "note",
        "project:tea",
        "top",
        "a1",
    )
    assert found.content == "text" and str(found) == "text"
    assert found.attributes == {"todo": "open"}
    assert found.event_time == time
    assert found.expires == time + timedelta(days=10_000)
    assert found.origin == "model" and found.trusted
    assert len(found.digest) == 64 and not found.erased


def test_an_absent_field_is_none(memory: Memory) -> None:
    memory.put("bare")
    found = memory.get("bare")
    assert found is not None
    assert (found.content, found.parent, found.position, found.event_time, found.expires) == (None,) * 5
    assert found.attributes == {} and found.derived_from == ()


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        1.5,
        -0.25,
        math.inf,
        "",
        "grün ⚙ 漢字",
        [],
        [1, "two", [3.0, None]],
        {},
        {"a": {"b": [True]}},
        "x" * 10_000,
    ],
)
def test_a_value_comes_back_with_its_type(memory: Memory, value: object) -> None:
    found = stored(memory, attributes={"value": value})["value"]
    assert found == value and type(found) is type(value)


def test_a_tuple_becomes_a_list(memory: Memory) -> None:
    assert stored(memory, attributes={"value": (1, 2)})["value"] == [1, 2]


def test_nan_comes_back_as_nan(memory: Memory) -> None:
    assert math.isnan(stored(memory, attributes={"value": math.nan})["value"])


def test_none_removes_an_attribute(memory: Memory) -> None:
    assert stored(memory, attributes={"gone": None}).attributes == {}


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
def test_an_integer_beyond_64_bits_is_refused(memory: Memory, value: int) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        memory.put("it", attributes={"value": value})


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object(), datetime.now(UTC), 1j, range(3)])
def test_a_value_of_another_type_is_refused(memory: Memory, value: object) -> None:
    with pytest.raises(TypeError, match="attribute"):
        memory.put("it", attributes={"value": value})


@pytest.mark.parametrize("attributes", [{1: "a"}, {None: "a"}, {"a": {2: "b"}}])
def test_a_key_must_be_text(memory: Memory, attributes: dict[Any, Any]) -> None:
    with pytest.raises(TypeError):
        memory.put("it", attributes=attributes)


def test_a_value_that_contains_itself_is_refused(memory: Memory) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InvalidInputError, match="nested"):
        memory.put("it", attributes={"value": endless})


@pytest.mark.parametrize("nested", [False, True])
def test_a_dict_that_changes_while_it_is_read(memory: Memory, nested: bool) -> None:
    attributes: dict[str, Any] = {}

    class Growing(list[int]):
        """A list whose iterator changes the dict around it."""

        def __iter__(self) -> Any:
            attributes[f"new{len(attributes)}"] = 1
            return super().__iter__()

    attributes.update({"a": Growing([1]), "b": Growing([2])})
    found = stored(memory, attributes={"in": attributes} if nested else attributes).attributes
    assert (found["in"] if nested else found) == {"a": [1], "b": [2]}


@pytest.mark.parametrize("id", ["", "a\nb", "x" * 257, "\x00"])
def test_a_bad_id_is_a_value_error_with_a_code(memory: Memory, id: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        memory.put(id)
    assert isinstance(caught.value, ValueError)
    assert caught.value.code == ("over_limit" if len(id) > 256 else "invalid_input")


@pytest.mark.parametrize("id", [None, 1, b"id", ["id"]])
def test_an_id_of_another_type_is_a_type_error(memory: Memory, id: Any) -> None:
    with pytest.raises(TypeError):
        memory.put(id)


def test_a_lone_surrogate_is_a_value_error(memory: Memory) -> None:
    with pytest.raises(ValueError):
        memory.put("it", "\ud800")


def test_a_time_needs_a_zone(memory: Memory) -> None:
    with pytest.raises(ValueError, match="time zone"):
        memory.put("it", event_time=datetime(2026, 1, 1))


def test_a_time_may_be_text(memory: Memory) -> None:
    found = stored(memory, event_time="2026-01-02T03:04:05Z")
    assert found.event_time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_time_of_another_zone_is_the_same_moment(memory: Memory) -> None:
    time = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    found = stored(memory, event_time=time)
    assert found.event_time == time
    assert found.event_time is not None and found.event_time.tzinfo is UTC


@pytest.mark.parametrize("time", ["yesterday", "2026-13-01T00:00:00Z", ""])
def test_a_bad_time_text_is_refused(memory: Memory, time: str) -> None:
    with pytest.raises(InvalidInputError):
        memory.put("it", event_time=time)


@pytest.mark.parametrize("time", [datetime.min, datetime.max])
def test_the_first_and_last_datetime_are_stored(memory: Memory, time: datetime) -> None:
    time = time.replace(tzinfo=UTC)
    assert stored(memory, event_time=time).event_time == time


def test_the_same_object_has_the_same_digest_and_hash(memory: Memory) -> None:
    memory.put("it", "text")
    one, other = memory.get("it"), memory.get("it")
    assert one == other and one is not other and hash(one) == hash(other)
    memory.put("it", "another text")
    assert memory.get("it") != one


def test_an_object_is_equal_only_to_objects(memory: Memory) -> None:
    assert stored(memory) != "text"


def test_an_object_cannot_be_changed(memory: Memory) -> None:
    found = stored(memory, attributes={"a": 1})
    with pytest.raises(AttributeError):
        found.content = "other"  # type: ignore[misc]
    found.attributes["a"] = 2
    assert found["a"] == 1


def test_attributes_are_read_by_name(memory: Memory) -> None:
    found = stored(memory, attributes={"a": 1})
    assert found["a"] == 1 and found.get("b") is None and found.get("b", 7) == 7
    with pytest.raises(KeyError):
        found["b"]


def test_to_dict_has_every_field(memory: Memory) -> None:
    fields = stored(memory, attributes={"a": 1}).to_dict()
    assert fields["content"] == "text" and fields["attributes"] == {"a": 1}
    assert set(fields) >= {"id", "kind", "scope", "origin", "digest", "event_time", "expires", "parent"}


def test_repr_shows_id_and_start(memory: Memory) -> None:
    assert repr(stored(memory)) == 'Object("it", kind="fact", scope="global", content="text")'


def test_the_canonical_bytes_are_those_of_the_store(memory: Memory) -> None:
    found = stored(memory)
    assert b"text" in bytes(found)


def test_derived_from_names_versions_and_lowers_trust(memory: Memory) -> None:
    memory.put("page", "from the web", writer=treering.Writer.tool("browser"))
    page = memory.get("page")
    assert page is not None and page.origin == "tool_external" and not page.trusted
    memory.put("summary", "short", derived_from=[page.digest])
    summary = memory.get("summary")
    assert summary is not None
    assert summary.derived_from == (page.digest,)
    assert summary.origin == "tool_external"


@pytest.mark.parametrize("digest", ["", "abc", "g" * 64])
def test_a_bad_digest_is_refused(memory: Memory, digest: str) -> None:
    with pytest.raises(InvalidInputError):
        memory.put("it", derived_from=[digest])
