"""A LangGraph store on Treering: items by namespace and key, found by their words.

An item is an object of the kind ``langgraph_item`` below ``langgraph-store/``, with the namespace, the key and the value as
attributes. Its text is what ``search`` finds. A batch is one commit. An item with a time to live expires, and nothing returns
it afterwards; reading it begins the time anew.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from os import PathLike
from types import TracebackType
from typing import Any, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
)

from ._adapters import change, label, remove_all
from ._treering import Agent, Draft, Object, View
from .errors import TreeringError

_KIND = "langgraph_item"
_LABELS_MAX = 6
_HITS_MAX = 10_000
_PREFIX = "langgraph-store/"
# A read begins the time to live anew only after this part of it, so that not every read is a commit.
_REFRESHED_AFTER = 0.1


class TreeringStore(BaseStore):
    """A store whose items are objects of an agent's memory.

    ``search`` with a query finds items by their words, and by their meaning if the agent has an embedder. It finds only items
    of trusted writers, unless ``with_untrusted`` is set. ``fields`` are the paths of the texts that a search looks at. ``ttl``
    has the usual time to live. ``sweep_ttl`` removes the expired items, which nothing returns in any case.
    """

    supports_ttl = True

    def __init__(
        self,
        agent: Agent,
        *,
        scope: str = "langgraph",
        fields: Iterable[str] = ("$",),
        with_untrusted: bool = False,
        ttl: TTLConfig | None = None,
    ) -> None:
        self.ttl_config = ttl
        self.agent = agent
        self._scope = scope
        self._fields = _paths(fields)
        self._with_untrusted = with_untrusted

    @classmethod
    def open(
        cls, path: str | PathLike[str], *, fields: Iterable[str] = ("$",), ttl: TTLConfig | None = None
    ) -> TreeringStore:
        """Opens the memory in a folder, and creates it if there is none."""
        return cls(Agent.open(path), fields=fields, ttl=ttl)

    def __enter__(self) -> TreeringStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.agent.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs operations. All reads see the state before the writes, and all writes are one commit."""
        all_ops = list(ops)
        view = self.agent.refresh()
        read: list[Object] = []
        results: list[Result] = [self._read(view, op, read) for op in all_ops]
        self._refresh(read)
        puts = {(op.namespace, op.key): op for op in all_ops if isinstance(op, PutOp)}
        if puts:
            now = datetime.now(timezone.utc)

            def stage(draft: Draft) -> None:
                for op in puts.values():
                    self._write(draft, op, now)

            change(self.agent.memory, "store", stage)
        return results

    def sweep_ttl(self) -> int:
        """Removes the expired items from the newest state, and returns their number. ``Memory.gc`` frees the disk."""

        def stage(draft: Draft) -> int:
            view = draft.base
            items = view.query(kind=_KIND, prefix=_PREFIX, expired=True)
            expired = [one.id for one in items if not _is_alive(one, view)]
            remove_all(draft, expired)
            return len(expired)

        return change(self.agent.memory, "sweep_ttl", stage)

    def _refresh(self, read: list[Object]) -> None:
        """Begins the time to live of items anew."""
        now = datetime.now(timezone.utc)
        due = [one.id for one in read if _is_due(one, now)]
        if not due:
            return

        def stage(draft: Draft) -> None:
            for name in due:
                one = draft.get(name)
                if one is not None and _is_due(one, now):
                    expires = now + timedelta(minutes=float(one["ttl"]))
                    draft.put(
                        name, one.content, kind=_KIND, scope=one.scope, attributes=one.attributes, expires=expires
                    )

        try:
            change(self.agent.memory, "refresh_ttl", stage)
        except TreeringError:
            # A read does not fail because its handle may not write, or because the item has a more trusted writer.
            return

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, view: View, op: Op, read: list[Object]) -> Result:
        """Returns the result of an operation that reads. Adds the items whose time to live begins anew to ``read``."""
        if isinstance(op, GetOp):
            found = view.get(_id(op.namespace, op.key))
            if found is None or not _is_alive(found, view):
                return None
            read += [found] if op.refresh_ttl else []
            return Item(**_fields(found))
        if isinstance(op, SearchOp):
            found_items = self._search(view, op)
            read += [one for _, one in found_items] if op.refresh_ttl else []
            return cast("Result", [item for item, _ in found_items])
        if isinstance(op, ListNamespacesOp):
            return cast("Result", _namespaces(view, op))
        return None

    def _write(self, draft: Draft, op: PutOp, now: datetime) -> None:
        name = _id(op.namespace, op.key)
        if op.value is None:
            draft.remove(name)
            return
        old, written = draft.get(name), now.isoformat()
        is_known = old is not None and _is_alive(old, draft.base)
        fields: dict[str, Any] = {
            "namespace": list(op.namespace),
            "key": op.key,
            "value": json.dumps(op.value, ensure_ascii=False),
            "created": old["created"] if old is not None and is_known else written,
            "updated": written,
            "ttl": op.ttl,
            **{f"namespace_{place}": part for place, part in enumerate(op.namespace)},
        }
        expires = None if op.ttl is None else now + timedelta(minutes=op.ttl)
        draft.put(name, self._text(op), kind=_KIND, scope=self._scope, attributes=fields, expires=expires)

    def _text(self, op: PutOp) -> str | None:
        """Returns the text that a search looks at, or nothing if the item must not be found."""
        if op.index is False:
            return None
        paths = self._fields if op.index is None else _paths(op.index)
        texts = [text for path in paths for text in get_text_at_path(dict(op.value or {}), path)]
        return "\n".join(texts)

    def _search(self, view: View, op: SearchOp) -> list[tuple[SearchItem, Object]]:
        end = op.offset + op.limit
        if op.query:
            found = self._recalled(view, op, _HITS_MAX if op.filter else end)
        else:
            prefix = _folder(op.namespace_prefix)
            all_items = [(None, one) for one in view.query(kind=_KIND, prefix=prefix)]
            found = sorted(all_items, key=lambda pair: str(pair[1]["updated"]), reverse=True)
        items: list[tuple[SearchItem, Object]] = []
        for score, one in found:
            fields = _fields(one)
            is_inside = fields["namespace"][: len(op.namespace_prefix)] == op.namespace_prefix
            if is_inside and _accepts(fields["value"], op.filter or {}):
                items.append((SearchItem(**fields, score=score), one))
            if len(items) >= end:
                break
        return items[op.offset : end]

    def _recalled(self, view: View, op: SearchOp, limit: int) -> list[tuple[float | None, Object]]:
        labels = {f"namespace_{place}": part for place, part in enumerate(op.namespace_prefix)}
        hits = self.agent.recall(
            op.query or "",
            scopes=[self._scope],
            kinds=[_KIND],
            attributes=labels,
            limit=limit,
            with_untrusted=self._with_untrusted,
            touch=False,
            at=view,
        )
        objects = view.get_all([hit.id for hit in hits])
        return [(hit.score, one) for hit, one in zip(hits, objects) if one is not None]


def _paths(given: Iterable[str]) -> list[str]:
    """Returns the paths of fields. One text is one path."""
    return [given] if isinstance(given, str) else list(given)


def _check_namespace(namespace: Iterable[str]) -> None:
    if isinstance(namespace, str):
        raise TypeError(f"a namespace is a tuple of str: write ({namespace!r},)")


def _folder(namespace: tuple[str, ...]) -> str:
    """Returns the prefix of the ids below a namespace. Deep namespaces share one prefix."""
    _check_namespace(namespace)
    return _PREFIX + "".join(f"{label(part)}/" for part in namespace[:_LABELS_MAX])


def _id(namespace: tuple[str, ...], key: str) -> str:
    rest = namespace[_LABELS_MAX:]
    deeper = label(json.dumps(rest)) + "/" if rest else ""
    return f"{_folder(namespace)}{deeper}:{label(key, 40)}"


def _is_alive(found: Object, view: View) -> bool:
    return found.expires is None or view.now < found.expires


def _is_due(found: Object, now: datetime) -> bool:
    """Returns whether a read begins the time to live of an item anew."""
    minutes = found.get("ttl")
    if minutes is None or found.expires is None:
        return False
    ttl = timedelta(minutes=float(minutes))
    return now + ttl - found.expires >= _REFRESHED_AFTER * ttl


def _fields(found: Object) -> dict[str, Any]:
    """Returns the fields of an item."""
    return {
        "namespace": tuple(found["namespace"]),
        "key": found["key"],
        "value": json.loads(found["value"]),
        "created_at": datetime.fromisoformat(found["created"]),
        "updated_at": datetime.fromisoformat(found["updated"]),
    }


def _accepts(value: Any, wanted: dict[str, Any]) -> bool:
    return all(_equals(value.get(name), one) for name, one in wanted.items())


def _equals(found: Any, wanted: Any) -> bool:
    """Compares as LangGraph defines: plain values, operators such as ``$gt``, and nested values."""
    if isinstance(wanted, dict):
        conditions = cast("dict[str, Any]", wanted)
        if any(name.startswith("$") for name in conditions):
            return all(_compares(found, name, one) for name, one in conditions.items())
        if not isinstance(found, dict):
            return False
        fields = cast("dict[str, Any]", found)
        return all(_equals(fields.get(name), one) for name, one in conditions.items())
    if isinstance(wanted, (list, tuple)):
        parts = list(cast("Iterable[Any]", wanted))
        if not isinstance(found, (list, tuple)):
            return False
        others = list(cast("Iterable[Any]", found))
        return len(parts) == len(others) and all(map(_equals, others, parts))
    return bool(found == wanted)


def _compares(found: Any, operator: str, wanted: Any) -> bool:
    if operator == "$eq":
        return bool(found == wanted)
    if operator == "$ne":
        return bool(found != wanted)
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"the operator {operator} is not supported")
    if found is None:
        return False
    one, other = float(found), float(wanted)
    return {"$gt": one > other, "$gte": one >= other, "$lt": one < other, "$lte": one <= other}[operator]


def _namespaces(view: View, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for one in view.query(kind=_KIND):
        namespace = tuple(str(part) for part in one["namespace"])
        if all(_matches(namespace, condition) for condition in op.match_conditions or ()):
            found.add(namespace if op.max_depth is None else namespace[: op.max_depth])
    return sorted(found)[op.offset : op.offset + op.limit]


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    _check_namespace(path)
    if len(path) > len(namespace):
        return False
    if condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    elif condition.match_type == "prefix":
        part = namespace[: len(path)]
    else:
        raise ValueError(f"the match type {condition.match_type} is not supported")
    return all(wanted in ("*", one) for one, wanted in zip(part, path))
