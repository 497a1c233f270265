"""Tables in notebooks."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
from html.parser import HTMLParser

import pytest

import treering
from treering import Agent, Memory, Table


class Rows(HTMLParser):
    """Counts the rows and collects the cells of a table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows, self.open = 0, 0
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        self.rows += tag == "tr"
        self.open += 1

    def handle_endtag(self, tag: str) -> None:
        self.open -= 1

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def test_a_table_of_hits(agent: Agent) -> None:
    agent.remember("The office is in Oslo", id="office")
    agent.remember("An office has desks", id="desks")
    rows = Rows(agent.recall("office")._repr_html_())
    assert rows.rows == 3 and rows.open == 0
    assert {"office", "The office is in Oslo", "score", "model"} <= set(rows.cells)


def test_one_hit_and_one_object(agent: Agent) -> None:
    agent.remember("The office is in Oslo", id="office")
    for one in (agent.recall("office")[0], agent.view()["office"], agent.remember("Another fact, about tea")):
        rows = Rows(one._repr_html_())
        assert rows.open == 0 and "table" in rows.tags and "id" in rows.cells


def test_a_view_shows_its_objects(memory: Memory) -> None:
    with memory.draft() as draft:
        for number in range(150):
            draft.put(f"{number}")
    html = memory.view()._repr_html_()
    assert Rows(html).rows == 101 and "100 shown" in html


def test_text_cannot_break_out_of_a_cell(memory: Memory) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror='alert(1)'>\"&"
    memory.put("a", hostile, attributes={"<b>": "<i>"})
    for html in (memory.view()._repr_html_(), memory.view()["a"]._repr_html_()):
        assert Rows(html).tags <= {"table", "thead", "tbody", "tr", "th", "td", "caption"}


def test_lists_of_answers_are_tables(memory: Memory) -> None:
    memory.put("a")
    memory.snapshot("s")
    before = memory.at("@-1")
    for table in (memory.commits(), memory.history("a"), memory.snapshots(), memory.diff(before), memory.blame("a")):
        assert isinstance(table, Table) and isinstance(table, tuple)
        assert Rows(table._repr_html_()).rows == len(table) + 1
        assert len(table.to_dicts()) == len(table)


def test_an_empty_table_is_a_table() -> None:
    assert Rows(treering.Table()._repr_html_()).open == 0


def test_answers_become_plain_values(agent: Agent) -> None:
    done = agent.remember("The office is in Oslo").to_dict()
    assert done["commit"]["seq"] == 1 and done["status"] == "created"
    forgot = agent.forget(done["id"]).to_dict()
    assert forgot["items"][0]["content"] == "The office is in Oslo"


def test_every_answer_becomes_json(agent: Agent) -> None:
    agent.remember("Vera bought an automobile", id="car", expires="2999-01-01T00:00:00Z")
    hit = agent.recall("automobile")[0]
    item = agent.view()["car"]
    answers = [agent.remember("tea", id="tea"), agent.snapshot(), agent.memory.put("x"), agent.stats(), hit, item]
    answers += [*agent.history("car"), *agent.blame("car"), *agent.commits(), *agent.diff("seq:0"), agent.forget("tea")]
    answers += [agent.unforget("tea"), agent.write_note("a note", session="s"), *agent.notes(), agent.envelope(), agent.verify()]
    for answer in answers:
        assert json.loads(json.dumps(answer.to_dict())).keys() == answer.to_dict().keys()
    assert item.to_dict()["expires"] == "2999-01-01T00:00:00.000000Z"
    commit = agent.commits()[0]
    assert commit.to_dict()["time"] == commit.time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert agent.at(commit.to_dict()["time"]).commit == commit, "a call accepts the text again"


def test_a_hit_becomes_a_dict_with_all_its_fields(agent: Agent) -> None:
    agent.remember("Vera bought an automobile", id="car")
    hit = agent.recall("automobile", explain=True)[0]
    assert [*hit.to_dict()] == [one.name for one in dataclasses.fields(hit)]
    assert {"tokens", "why", "reasons"} <= hit.to_dict().keys() and hit.why and hit.reasons
    name, meaning, value, weight = hit.reasons[0]
    assert hit.to_dict()["reasons"][0] == {"name": name, "meaning": meaning, "value": value, "weight": weight}


def test_the_repr_of_an_answer_is_short(agent: Agent) -> None:
    agent.remember("Vera bought an automobile. " * 50, id="car/" + "x" * 200)
    done = agent.remember("tea", id="tea")
    answers = [done, agent.snapshot(), agent.memory.put("x"), agent.stats(), agent.recall("automobile")[0], agent.memory.get("tea")]
    answers += [*agent.history("tea"), *agent.blame("tea"), *agent.commits(), *agent.diff("seq:0"), *agent.view().values()]
    for answer in answers:
        assert len(repr(answer)) <= 125 and "None" not in repr(answer), repr(answer)
    assert repr(done.commit).startswith(f"Commit(digest={done.commit.digest[:8]}…, root=")
    assert repr(agent.diff("@-1")[0]).startswith("Change(id='x', kind='added', new=")


def test_the_repr_of_a_long_list_has_its_first_rows(memory: Memory) -> None:
    with memory.draft() as draft:
        for number in range(300):
            draft.put(f"{number:03}")
    changes = memory.diff("seq:0")
    text = repr(changes)
    assert text.count("Change(") == 10 and text.startswith("(Change(id='000'") and text.endswith(", … 290 more)")
    assert repr(Table(changes[:10])) == repr(tuple(changes[:10])) and repr(Table()) == "()"


def test_a_change_is_a_plain_dataclass(memory: Memory) -> None:
    before = memory.view()
    memory.put("a", "one")
    (change,) = memory.diff(before)
    assert dataclasses.asdict(change) == change.to_dict() and "_states" not in change.to_dict()
    assert [one.name for one in dataclasses.fields(change)] == ["id", "kind", "old", "new", "erased"]
    assert change.new_text == "one"


def test_a_dict_has_no_float_that_json_cannot_express(memory: Memory) -> None:
    values = {
        "nan": math.nan,
        "list": [math.inf, {"deep": -math.inf, "one": 1.5}],
        "map": {"$float": "nan"},
        "marked": {"$x": math.inf},
        "$name": {},
    }
    memory.put("a", attributes=values)
    found = memory.get("a")
    assert found is not None
    plain = {
        "nan": {"$float": "nan"},
        "list": [{"$float": "inf"}, {"deep": {"$float": "-inf"}, "one": 1.5}],
        "map": {"$map": {"$float": "nan"}},
        "marked": {"$map": {"$x": {"$float": "inf"}}},
        "$name": {},
    }
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["attributes"] == plain
    blamed = {one.part: one.to_dict()["value"] for one in memory.blame("a")}
    assert {name: blamed[f"attr:{name}"] for name in plain} == plain
    assert math.isnan(found["nan"]) and found["map"] == {"$float": "nan"}, "the attributes themselves are unchanged"


def test_a_change_has_its_texts(memory: Memory) -> None:
    memory.put("a", "one")
    before = memory.view()
    memory.put("a", "two")
    memory.put("b", "new")
    texts = [(one.id, one.old_text, one.new_text) for one in memory.diff(before)]
    assert texts == [("a", "one", "two"), ("b", None, "new")]
    assert [(one.old_text, one.new_text) for one in memory.diff("@", before)] == [("two", "one"), ("new", None)]
    change = memory.diff(before)[0]
    for twin in (copy.copy(change), copy.deepcopy(change)):
        assert twin == change and twin.new_text == "two"
    with pytest.raises(treering.HandleError):
        pickle.loads(pickle.dumps(change)).old_text
    draft = memory.draft()
    draft.put("a", "three")
    assert [(one.old_text, one.new_text) for one in draft.changes()] == [("two", "three")]


def test_values_are_copied_to_themselves(agent: Agent) -> None:
    agent.remember("tea", id="tea")
    writer = treering.Writer("model", actor="a", session="s", source="https://example.org/", reason="because")
    recalled = agent.recall("tea")
    values = (
        agent.view()["tea"],
        recalled,
        recalled[0],
        writer,
        agent.memory.put("a"),
        agent.view().prove("tea"),
    )
    for value in values:
        assert copy.copy(value) is value and copy.deepcopy(value) is value and copy.deepcopy([value])[0] is value
    assert pickle.loads(pickle.dumps(writer)) == writer
    assert pickle.loads(pickle.dumps(treering.Writer.tool())) == treering.Writer.tool()
    for value in (agent.view()["tea"], recalled[0]):
        with pytest.raises(TypeError, match="cannot be pickled: pickle its to_dict"):
            pickle.dumps(value)


def test_a_copy_of_an_answer_is_equal_and_has_its_type(agent: Agent) -> None:
    memory = agent.memory
    agent.remember("tea", id="tea")
    memory.snapshot("named")
    answers = (
        memory.commits(),
        memory.history("tea"),
        memory.snapshots(),
        memory.diff("seq:0"),
        memory.blame("tea"),
        memory.stats(),
        memory.verify(),
        memory.revert(commit="@"),
        agent.recall("tea").hits,
        memory.view().query().table(),
    )
    for answer in answers:
        for twin in (copy.copy(answer), copy.deepcopy(answer)):
            assert type(twin) is type(answer) and twin == answer


def test_answers_match_and_compare(memory: Memory) -> None:
    match memory.put("a"):
        case treering.Committed(commit=treering.Commit(op="put", seq=1), changed=True):
            pass
        case other:
            raise AssertionError(other)
    assert memory.commits()[0] == memory.commits()[0] and len({*memory.commits()}) == 2


def test_the_answer_of_a_write_is_a_value(memory: Memory) -> None:
    done = memory.put("a")
    for twin in (
        treering.Committed(done.commit, True),
        treering.Committed(commit=done.commit, changed=True),
        copy.deepcopy(done),
        pickle.loads(pickle.dumps(done)),
    ):
        assert twin == done and hash(twin) == hash(done) and repr(twin) == repr(done)
        assert twin.to_dict() == done.to_dict() == {"commit": done.commit.to_dict(), "changed": True}
    assert done.commit is done.commit
    assert done != treering.Committed(done.commit, False)
    assert done != memory.put("b") and done != ("commit", True)
    with pytest.raises(AttributeError):
        done.changed = False  # type: ignore[misc]
    with pytest.raises(TypeError, match="commit must be a Commit, not str"):
        treering.Committed("a", True)  # type: ignore[arg-type]
