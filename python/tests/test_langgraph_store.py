"""The LangGraph store, compared with LangGraph's own store in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base")

from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

import treering
from treering.langgraph import TreeringStore


@pytest.fixture
def store() -> Iterator[TreeringStore]:
    with TreeringStore(treering.in_memory()) as store:
        yield store


def test_put_get_and_delete(store: TreeringStore) -> None:
    store.put(("users", "1"), "prefs", {"theme": "dark", "sizes": [1, 2.5, None]})
    item = store.get(("users", "1"), "prefs")
    assert item is not None and item.value == {"theme": "dark", "sizes": [1, 2.5, None]}
    assert (item.namespace, item.key) == (("users", "1"), "prefs")
    assert item.created_at == item.updated_at and item.created_at.tzinfo is not None
    store.put(("users", "1"), "prefs", {"theme": "light"})
    again = store.get(("users", "1"), "prefs")
    assert again is not None and again.value == {"theme": "light"}
    assert again.created_at == item.created_at and again.updated_at > item.updated_at
    store.delete(("users", "1"), "prefs")
    store.delete(("users", "1"), "prefs")
    assert store.get(("users", "1"), "prefs") is None


def test_items_are_found_by_their_words(store: TreeringStore) -> None:
    store.put(("docs",), "1", {"text": "Python tutorial"})
    store.put(("docs",), "2", {"text": "TypeScript guide"})
    store.put(("other",), "3", {"text": "Python snake"})
    found = store.search(("docs",), query="python")
    assert [(one.key, one.value["text"]) for one in found] == [("1", "Python tutorial")]
    assert found[0].score is not None and found[0].score > 0
    assert [one.key for one in store.search((), query="python")] in (["1", "3"], ["3", "1"])


def test_an_item_without_index_is_not_found(store: TreeringStore) -> None:
    store.put(("docs",), "1", {"text": "Python"}, index=False)
    store.put(("docs",), "2", {"title": "Python", "text": "secret"}, index=["title"])
    assert [one.key for one in store.search(("docs",), query="python")] == ["2"]
    assert store.search(("docs",), query="secret") == []
    assert len(store.search(("docs",))) == 2


FILTERS: list[dict[str, Any]] = [
    {"kind": "a"},
    {"size": {"$gt": 2}},
    {"size": {"$gte": 2, "$lt": 4}},
    {"size": {"$lte": 1}},
    {"kind": {"$ne": "a"}},
    {"kind": {"$eq": "b"}},
    {"deep": {"x": 1}},
    {"list": [1, 2]},
    {"missing": None},
    {"kind": "a", "size": 0},
]


@pytest.mark.parametrize("filter", FILTERS)
def test_filters_agree_with_langgraph(store: TreeringStore, filter: dict[str, Any]) -> None:
    other = InMemoryStore()
    for number in range(6):
        value = {"kind": "ab"[number % 2], "size": number, "deep": {"x": number % 3}, "list": [1, number]}
        for one in (store, other):
            one.put(("n",), str(number), value)
    keys = sorted(one.key for one in store.search(("n",), filter=filter))
    assert keys == sorted(one.key for one in other.search(("n",), filter=filter))


def test_an_unknown_operator_is_refused(store: TreeringStore) -> None:
    store.put(("n",), "1", {"a": 1})
    with pytest.raises(ValueError):
        store.search(("n",), filter={"a": {"$like": 1}})


NAMESPACES = [
    ("a", "b", "c"),
    ("a", "b", "d"),
    ("a", "x", "c"),
    ("b", "b", "c"),
    ("a",),
    ("users", "grün ⚙", "x" * 80),
    ("1", "2", "3", "4", "5", "6", "7", "8", "9"),
    ("1", "2", "3", "4", "5", "6", "7", "8", "10"),
]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"prefix": ("a",)},
        {"prefix": ("a", "*", "c")},
        {"suffix": ("c",)},
        {"prefix": ("a",), "suffix": ("c",)},
        {"max_depth": 2},
        {"max_depth": 1, "prefix": ("a",)},
        {"limit": 2},
        {"limit": 2, "offset": 1},
        {"prefix": ("nothing",)},
    ],
)
def test_namespaces_agree_with_langgraph(store: TreeringStore, arguments: dict[str, Any]) -> None:
    other = InMemoryStore()
    for namespace in NAMESPACES:
        for one in (store, other):
            one.put(namespace, "k", {"n": 1})
    assert store.list_namespaces(**arguments) == other.list_namespaces(**arguments)


@pytest.mark.parametrize("prefix", [(), *NAMESPACES, ("a", "b"), ("1", "2", "3", "4", "5", "6", "7")])
def test_a_search_by_prefix_agrees_with_langgraph(store: TreeringStore, prefix: tuple[str, ...]) -> None:
    other = InMemoryStore()
    for namespace in NAMESPACES:
        for one in (store, other):
            one.put(namespace, "k", {"text": "tea"})
    wanted = sorted(one.namespace for one in other.search(prefix))
    assert sorted(one.namespace for one in store.search(prefix)) == wanted
    assert sorted(one.namespace for one in store.search(prefix, query="tea")) == wanted


def test_pages(store: TreeringStore) -> None:
    for number in range(25):
        store.put(("n",), f"{number:02}", {"text": f"tea {number}"})
    pages = [store.search(("n",), limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({one.key for page in pages for one in page}) == 25
    assert pages[0][0].key == "24", "the newest is first"


def test_a_batch_is_one_commit(store: TreeringStore) -> None:
    before = len(store.agent.commits())
    results = store.batch(
        [
            PutOp(("n",), "a", {"x": 1}),
            GetOp(("n",), "a"),
            PutOp(("n",), "a", {"x": 2}),
            PutOp(("n",), "b", {"x": 3}),
            SearchOp(("n",)),
        ]
    )
    assert results == [None, None, None, None, []], "reads see the state before the writes"
    assert len(store.agent.commits()) == before + 1
    item = store.get(("n",), "a")
    assert item is not None and item.value == {"x": 2}
    store.agent.undo()
    assert store.search(("n",)) == []


async def test_the_asynchronous_methods(store: TreeringStore) -> None:
    await asyncio.gather(*(store.aput(("n",), str(number), {"x": number}) for number in range(20)))
    assert len(await store.asearch(("n",), limit=50)) == 20
    item = await store.aget(("n",), "3")
    assert item is not None and item.value == {"x": 3}
    assert await store.alist_namespaces() == [("n",)]
    await store.adelete(("n",), "3")
    assert await store.aget(("n",), "3") is None


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",), ("langgraph",)])
def test_a_bad_namespace_is_refused(store: TreeringStore, namespace: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {"a": 1})


@pytest.mark.parametrize("key", ["a", "", "grün ⚙", "x" * 500, "a/b", ".."])
def test_any_text_is_a_key(store: TreeringStore, key: str) -> None:
    store.put(("n",), key, {"k": key})
    item = store.get(("n",), key)
    assert item is not None and item.key == key and item.value == {"k": key}


def test_an_item_expires(store: TreeringStore) -> None:
    store.put(("n",), "short", {"text": "tea"}, ttl=0.05)
    store.put(("n",), "long", {"text": "tea"}, ttl=60)
    store.put(("n",), "always", {"text": "tea"})
    created = store.get(("n",), "short", refresh_ttl=False)
    assert created is not None and len(store.search(("n",), query="tea", refresh_ttl=False)) == 3
    time.sleep(3.1)
    assert store.get(("n",), "short") is None
    assert sorted(one.key for one in store.search(("n",), query="tea")) == ["always", "long"]
    assert sorted(one.key for one in store.search(("n",))) == ["always", "long"]
    store.put(("n",), "short", {"text": "tea"})
    again = store.get(("n",), "short")
    assert again is not None and again.created_at > created.created_at, "it is a new item"


def test_expired_items_are_swept(store: TreeringStore) -> None:
    store.put(("gone",), "a", {"text": "tea"}, ttl=0.0001)
    store.put(("kept",), "b", {"text": "tea"}, ttl=60)
    time.sleep(0.05)
    assert store.list_namespaces() == [("kept",)]
    assert len(store.agent.view()) == 2 and store.sweep_ttl() == 1 and len(store.agent.view()) == 1
    commits = len(store.agent.commits())
    assert store.sweep_ttl() == 0 and len(store.agent.commits()) == commits


@pytest.mark.parametrize("read", ["get", "search", "query"])
def test_a_read_begins_the_time_to_live_anew(
    store: TreeringStore, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    store.put(("n",), "a", {"text": "tea"}, ttl=60)

    def expires() -> Any:
        found = [one.expires for one in store.agent.view().values()]
        assert len(found) == 1
        return found[0]

    def call(refresh: bool) -> None:
        if read == "get":
            assert store.get(("n",), "a", refresh_ttl=refresh) is not None
        else:
            query = "tea" if read == "query" else None
            assert len(store.search(("n",), query=query, refresh_ttl=refresh)) == 1

    before, commits = expires(), len(store.agent.commits())
    call(True)
    assert len(store.agent.commits()) == commits, "the time to live has just begun"
    monkeypatch.setattr("treering._langgraph_store._REFRESHED_AFTER", 0.0)
    call(False)
    assert expires() == before
    call(True)
    assert expires() > before
    item = store.get(("n",), "a", refresh_ttl=False)
    assert item is not None and item.value == {"text": "tea"} and item.updated_at == item.created_at


def test_the_usual_time_to_live() -> None:
    with TreeringStore(treering.in_memory(), ttl={"default_ttl": 5, "refresh_on_read": False}) as store:
        store.put(("n",), "usual", {"a": 1})
        store.put(("n",), "never", {"a": 1}, ttl=None)
        expires = {str(one["key"]): one.expires for one in store.agent.view().values()}
        assert expires["never"] is None and expires["usual"] is not None


def test_a_read_of_a_handle_that_may_not_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treering._langgraph_store._REFRESHED_AFTER", 0.0)
    with TreeringStore.open(folder) as store:
        store.put(("n",), "k", {"text": "tea"}, ttl=60)
    with TreeringStore(treering.open(folder, read_only=True)) as store:
        assert store.get(("n",), "k") is not None


def test_items_survive_a_restart(folder: Path) -> None:
    with TreeringStore.open(folder) as store:
        store.put(("n",), "k", {"text": "tea"})
    with TreeringStore.open(folder) as store:
        assert store.search(("n",), query="tea")[0].key == "k"


def test_what_is_untrusted_is_not_found() -> None:
    agent = treering.in_memory(trust="tool_external")
    TreeringStore(agent).put(("n",), "k", {"text": "tea"})
    assert TreeringStore(agent).search(("n",), query="tea") == []
    assert len(TreeringStore(agent, with_untrusted=True).search(("n",), query="tea")) == 1


def test_a_text_is_no_namespace(store: TreeringStore) -> None:
    wrong: Any = "users"
    for call in (
        lambda: store.put(wrong, "k", {"a": "b"}),
        lambda: store.get(wrong, "k"),
        lambda: store.search(wrong),
    ):
        with pytest.raises(TypeError, match="tuple"):
            call()


def test_one_path_of_a_field_needs_no_list() -> None:
    with TreeringStore(treering.in_memory(), fields="text") as store:
        store.put(("notes",), "one", {"text": "green tea", "other": "marmalade"})
        store.put(("notes",), "two", {"text": "nothing", "other": "marmalade"}, index="other")  # type: ignore[arg-type]
        assert [one.key for one in store.search(("notes",), query="tea")] == ["one"]
        assert [one.key for one in store.search(("notes",), query="marmalade")] == ["two"]
