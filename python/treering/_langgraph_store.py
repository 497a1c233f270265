"""A LangGraph store on Treering: items by namespace and key, found by their words.

An item is an object of the kind ``langgraph_item`` below ``langgraph-store/``, with the namespace, the key and the value as
attributes. Its text is what ``search`` finds. A batch is one commit.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from datetime import datetime, timezone
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
    get_text_at_path,
)

from ._adapters import change, label
from ._treering import Agent, Draft, Object, View

_KIND = "langgraph_item"
_LABELS_MAX = 6
_HITS_MAX = 10_000


class TreeringStore(BaseStore):
    """A store whose items are objects of an agent's memory.

    ``search`` with a query finds items by their words, and by their meaning if the agent has an embedder. It finds only items
    of trusted writers, unless ``with_untrusted`` is set. ``fields`` are the paths of the texts that a search looks at.
    """

    supports_ttl = False

    def __init__(
        self,
        agent: Agent,
        *,
        scope: str = "langgraph",
        fields: Iterable[str] = ("$",),
        with_untrusted: bool = False,
    ) -> None:
        self.agent = agent
        self._scope = scope
        self._fields = list(fields)
        self._with_untrusted = with_untrusted

    @classmethod
    def open(cls, path: str | PathLike[str], *, fields: Iterable[str] = ("$",)) -> TreeringStore:
        """Opens the memory in a folder, and creates it if there is none."""
        return cls(Agent.open(path), fields=fields)

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
        results: list[Result] = [self._read(view, op) for op in all_ops]
        puts = {(op.namespace, op.key): op for op in all_ops if isinstance(op, PutOp)}
        if puts:
            now = datetime.now(timezone.utc).isoformat()

            def stage(draft: Draft) -> None:
                for op in puts.values():
                    self._write(draft, op, now)

            change(self.agent.memory, "store", stage)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, view: View, op: Op) -> Result:
        if isinstance(op, GetOp):
            found = view.get(_id(op.namespace, op.key))
            return None if found is None else Item(**_fields(found))
        if isinstance(op, SearchOp):
            return cast("Result", self._search(view, op))
        if isinstance(op, ListNamespacesOp):
            return cast("Result", _namespaces(view, op))
        return None

    def _write(self, draft: Draft, op: PutOp, now: str) -> None:
        name = _id(op.namespace, op.key)
        if op.value is None:
            draft.remove(name)
            return
        old = draft.get(name)
        fields: dict[str, Any] = {
            "namespace": list(op.namespace),
            "key": op.key,
            "value": json.dumps(op.value, ensure_ascii=False),
            "created": now if old is None else old["created"],
            "updated": now,
            **{f"namespace_{place}": part for place, part in enumerate(op.namespace)},
        }
        text = self._text(op)
        draft.put(name, text, kind=_KIND, scope=self._scope, attributes=fields)

    def _text(self, op: PutOp) -> str | None:
        """Returns the text that a search looks at, or nothing if the item must not be found."""
        if op.index is False:
            return None
        paths = self._fields if op.index is None else op.index
        texts = [text for path in paths for text in get_text_at_path(dict(op.value or {}), path)]
        return "\n".join(texts)

    def _search(self, view: View, op: SearchOp) -> list[SearchItem]:
        end = op.offset + op.limit
        if op.query:
            found = self._recalled(view, op, _HITS_MAX if op.filter else end)
        else:
            prefix = _folder(op.namespace_prefix)
            all_items = [(None, one) for one in view.query(kind=_KIND, prefix=prefix)]
            found = sorted(all_items, key=lambda pair: str(pair[1]["updated"]), reverse=True)
        items: list[SearchItem] = []
        for score, one in found:
            fields = _fields(one)
            is_inside = fields["namespace"][: len(op.namespace_prefix)] == op.namespace_prefix
            if is_inside and _accepts(fields["value"], op.filter or {}):
                items.append(SearchItem(**fields, score=score))
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


def _folder(namespace: tuple[str, ...]) -> str:
    """Returns the prefix of the ids below a namespace. Deep namespaces share one prefix."""
    return "langgraph-store/" + "".join(f"{label(part)}/" for part in namespace[:_LABELS_MAX])


def _id(namespace: tuple[str, ...], key: str) -> str:
    rest = namespace[_LABELS_MAX:]
    deeper = label(json.dumps(rest)) + "/" if rest else ""
    return f"{_folder(namespace)}{deeper}:{label(key, 40)}"


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
    if len(path) > len(namespace):
        return False
    if condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    elif condition.match_type == "prefix":
        part = namespace[: len(path)]
    else:
        raise ValueError(f"the match type {condition.match_type} is not supported")
    return all(wanted in ("*", one) for one, wanted in zip(part, path))
