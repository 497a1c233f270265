"""Exceptions, writers, and closed handles."""

from __future__ import annotations

import copy
import datetime
import pickle
from pathlib import Path
from typing import Any, Callable

import pytest

import treering
from treering import Memory, TreeringError, Writer

KINDS = [
    treering.BusyError,
    treering.ConflictError,
    treering.CorruptError,
    treering.DeniedError,
    treering.HandleError,
    treering.InternalError,
    treering.InvalidInputError,
    treering.IoError,
    treering.NotFoundError,
    treering.PoisonedError,
    treering.UnsupportedFormatError,
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_a_treering_error_with_its_fields(kind: type[TreeringError]) -> None:
    error = kind("it failed", "some_code", "do that", ("a", "b"))
    assert isinstance(error, TreeringError)
    assert (error.message, error.code, error.hint, error.ids) == ("it failed", "some_code", "do that", ("a", "b"))
    assert str(error) == "it failed [some_code] (do that)"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) and again.ids == error.ids


def test_every_kind_of_the_library_has_a_class() -> None:
    from treering.errors import _KINDS  # pyright: ignore[reportPrivateUsage]

    assert set(_KINDS.values()) == set(KINDS)


def test_an_error_of_the_system_is_an_io_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(treering.IoError) as caught:
        Memory.create(blocked / "store")
    assert caught.value.code == "io"


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_a_store_of_a_newer_program(folder: Path) -> None:
    Memory.create(folder).close()
    path = folder / "format"
    data = path.read_bytes()[:-4]
    newer = data[:12] + (9).to_bytes(4, "little") + data[16:]
    path.write_bytes(newer + crc32c(newer).to_bytes(4, "little"))
    with pytest.raises(treering.UnsupportedFormatError) as caught:
        Memory.open(folder)
    assert "format 9" in caught.value.message


def test_a_writer_has_its_fields() -> None:
    writer = Writer.person("vera", session="monday", source="https://example.org/", reason="she said so")
    assert (writer.trust, writer.actor, writer.session) == ("direct_user", "vera", "monday")
    assert (writer.source, writer.reason) == ("https://example.org/", "she said so")
    assert writer.lane == "monday" and writer.trusted


@pytest.mark.parametrize(
    ("make", "trust", "trusted"),
    [
        (Writer.person, "direct_user", True),
        (Writer.host, "host", True),
        (Writer.model, "model", True),
        (Writer.internal_tool, "tool_internal", True),
        (Writer.tool, "tool_external", False),
    ],
)
def test_each_maker_names_a_class(make: Callable[[str], Writer], trust: str, trusted: bool) -> None:
    writer = make("x")
    assert (writer.trust, writer.trusted, writer.actor, writer.lane) == (trust, trusted, "x", "x")


@pytest.mark.parametrize("trust", ["document", "import", "untrusted", "tool_external"])
def test_untrusted_classes(trust: Any) -> None:
    assert not Writer(trust).trusted


def test_a_script_is_a_model_unless_it_says_otherwise(memory: Memory, agent: treering.Agent) -> None:
    assert Writer().trust == "model" and memory.writer.trust == "model" and agent.writer.trust == "model"
    assert Writer().lane == "default"


def test_an_unknown_class_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="direct_user, host, model.* import, untrusted"):
        Writer("admin")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [
        lambda agent: agent.remember("tea", trust="boss"),
        lambda agent: agent.remember("tea", sensitivity="x"),
        lambda agent: agent.remember("tea", on_duplicate="x"),
        lambda agent: agent.revert(session="s", conflicts="x"),
        lambda agent: agent.watch().poll(-1.0),
        lambda agent: agent.append([{"speaker": "a"}], session="s"),
        lambda agent: agent.memory.put("a", attributes={"a": 2**70}),
        lambda agent: agent.view().with_now(datetime.datetime(2026, 1, 1)),
        lambda agent: agent.remember_many([{"text": "a", "time": datetime.datetime(2026, 1, 1)}]),
        lambda agent: agent.recall("tea", limit=-1),
        lambda agent: agent.recall("tea", budget=-1),
        lambda agent: agent.recall("tea", limit=2**70),
        lambda agent: agent.envelope(budget=-1),
        lambda agent: agent.search_notes("tea", session="s", limit=-1),
        lambda agent: agent.commits(limit=-1),
        lambda agent: agent.forgotten(limit=-1),
        lambda agent: agent.view().query(limit=-1),
        lambda agent: agent.view().children("a", limit=-1),
        lambda agent: agent.remember_many(["tea"], batch=-1),
        lambda agent: agent.remember("tea", order=2**70),
        lambda agent: agent.remember("tea", citations=[{"file": "a", "line": -1}]),
        lambda agent: agent.append([{"text": "a", "order": 2**70}], session="s"),
        lambda agent: agent.memory.gc(newest=-1),
        lambda agent: agent.remember("\ud800"),
        lambda agent: agent.remember("tea", tags=["\ud800"]),
        lambda agent: agent.remember("tea", tags="\ud800"),
        lambda agent: agent.recall("\ud800"),
        lambda agent: agent.envelope("\ud800"),
        lambda agent: agent.write_note("\ud800", session="s"),
        lambda agent: agent.search_notes("\ud800", session="s"),
        lambda agent: agent.append(["\ud800"], session="s"),
        lambda agent: agent.append([("user", "\ud800")], session="s"),
        lambda agent: agent.append([{"text": "\ud800"}], session="s"),
        lambda agent: agent.memory.put("a", "\ud800"),
        lambda agent: agent.memory.put("a", attributes={"a": ["\ud800"]}),
        lambda agent: agent.memory.put("a", attributes={"\ud800": 1}),
        lambda agent: agent.memory.draft().put("a", "\ud800"),
        lambda agent: agent.memory.draft().put_item("\ud800", id="a"),
    ],
)
def test_a_wrong_value_is_an_invalid_input(agent: treering.Agent, call: Callable[[Any], object]) -> None:
    with pytest.raises(treering.InvalidInputError) as caught:
        call(agent)
    assert caught.value.code == "invalid_input" and isinstance(caught.value, ValueError)


def test_a_hint_names_calls_of_python(folder: Path) -> None:
    with pytest.raises(treering.NotFoundError) as caught:
        Memory.open(folder)
    assert caught.value.hint == "open with create=True to make a new store"
    memory = Memory.create(folder)
    memory.put("a")
    memory.put("b", parent="a")
    with pytest.raises(treering.TreeringError) as removed:
        memory.remove("a")
    assert removed.value.code == "has_children" and "recursive=True" in str(removed.value.hint)
    memory.put("c", writer=Writer(session="other"))
    with pytest.raises(treering.ConflictError) as lanes:
        memory.rollback("seq:1")
    assert lanes.value.code == "other_lanes" and str(lanes.value.hint).startswith("across_lanes=True")


@pytest.mark.parametrize("hint", ["`treering doctor` lists it", "see treering put --help", "pass --settings", "`log` shows it"])
def test_a_hint_for_the_command_line_is_left_out(hint: str) -> None:
    from treering.errors import make

    assert make("Io", "it failed", "io", hint, []).hint is None
    assert make("Io", "it failed", "io", "try again later", []).hint == "try again later"


def test_replace_keeps_the_other_fields() -> None:
    writer = Writer.person("vera", session="monday")
    other = writer.replace(session="tuesday", trust="model")
    assert (other.actor, other.session, other.trust) == ("vera", "tuesday", "model")
    assert writer.session == "monday"


def test_writers_are_values() -> None:
    one, other = Writer.model("a", session="s"), Writer.model("a", session="s")
    assert one == other and hash(one) == hash(other) and len({one, other}) == 1
    assert one != other.replace(session="t") and one != "a"
    assert repr(one) == 'Writer("model", actor="a", session="s")'


@pytest.mark.parametrize("fields", [{"actor": ""}, {"session": "a\nb"}, {"actor": "x" * 300}])
def test_a_bad_name_of_a_writer_is_refused_at_the_commit(memory: Memory, fields: dict[str, Any]) -> None:
    with pytest.raises(treering.InvalidInputError):
        memory.put("a", writer=Writer.model().replace(**fields))


def test_a_writer_of_another_type_is_a_type_error(memory: Memory) -> None:
    with pytest.raises(TypeError):
        memory.put("a", writer="vera")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Object", "Hit", "View", "Draft", "Proof", "Memory", "Agent", "Store", "Objects"])
def test_a_class_without_a_maker_cannot_be_made(name: str) -> None:
    with pytest.raises(TypeError):
        getattr(treering, name)()


def test_handles_cannot_be_pickled(memory: Memory) -> None:
    for handle in (memory, memory.view(), memory.draft()):
        with pytest.raises(TypeError):
            pickle.dumps(handle)
        with pytest.raises(TypeError):
            copy.deepcopy(handle)


def test_a_closed_handle_raises_everywhere(folder: Path) -> None:
    memory = Memory.create(folder)
    memory.put("a", "text")
    view, found, draft, watch = memory.view(), memory.view().query(), memory.draft(), memory.watch()
    kept = memory.get("a")
    memory.close()
    memory.close()
    calls: list[Callable[[], object]] = [
        lambda: memory.put("b"),
        lambda: memory.get("a"),
        lambda: "a" in memory,
        lambda: len(memory),
        lambda: memory.view(),
        lambda: memory.at("@"),
        lambda: memory.undo(),
        lambda: memory.snapshot(),
        lambda: memory.commits(),
        lambda: memory.verify(),
        lambda: memory.gc(),
        lambda: memory.draft(),
        lambda: memory.path,
        lambda: view["a"],
        lambda: view.root,
        lambda: len(view),
        lambda: list(view),
        lambda: next(found),
        lambda: draft.put("b"),
        lambda: draft.commit(),
        lambda: watch.poll(),
    ]
    for call in calls:
        with pytest.raises(treering.HandleError) as caught:
            call()
        assert caught.value.code == "closed"
    assert repr(memory) == "Memory(closed)" and repr(view) == "View(closed)"
    assert kept is not None and kept.content == "text", "an object outlives its store"


def test_a_store_can_be_opened_again_after_close(folder: Path) -> None:
    for number in range(3):
        with Memory.open(folder, create=True) as memory:
            memory.put(f"a{number}")
            assert len(memory) == number + 1


def test_closing_an_agent_closes_its_memory(agent: treering.Agent) -> None:
    memory = agent.memory
    agent.close()
    assert memory.closed and agent.closed and repr(agent) == "Agent(closed)"
    with pytest.raises(treering.HandleError):
        memory.put("a")
