"""A session of the OpenAI Agents SDK on Treering: the history of a conversation, with undo.

    from agents import Runner
    from treering.openai_agents import TreeringSession

    session = TreeringSession.open("conversation-1", "memory")
    await Runner.run(agent, "Hello", session=session)

Needs ``pip install treering[openai-agents]``.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ._adapters import TRIES, Chunks, change, label, remove_all, session_writer
from ._treering import Agent, Draft, Memory, Object, View, Writer
from .answers import Committed
from .errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from agents import SessionSettings, TResponseInputItem

__all__ = ["TreeringSession"]

T = TypeVar("T")

_SPEAKERS = ("user", "assistant")
_TEXT_MAX = 100_000
"""The characters of a message that are searched."""


class TreeringSession:
    """The items of a conversation, in their order. Each call is one commit in the lane of the session.

    The ids of the items are below ``openai-agents/SESSION/``. An item is stored exactly as the SDK gives it. ``recall`` finds
    the messages by their text, in the scope of the session: that of the agent, or of the project of the current folder.
    Outputs of tools are not searched.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory | Agent,
        *,
        session_settings: SessionSettings | None = None,
        writer: Writer | None = None,
        scope: str | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self.memory = memory.memory if isinstance(memory, Agent) else memory
        self._writer = session_writer(writer or self.memory.writer, session_id)
        self._scope = _usual_scope(memory) if scope is None else scope
        self._prefix = f"openai-agents/{label(session_id, 40)}/"
        self._chunks = Chunks(f"{self._prefix}chunk/", self._scope)

    @classmethod
    def open(cls, session_id: str, path: str | PathLike[str]) -> TreeringSession:
        """Opens the store in a folder, and creates it if there is none."""
        return cls(session_id, Memory.open(path, create=True))

    def __repr__(self) -> str:
        return f"TreeringSession({self.session_id!r}, {self.memory!r})"

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the newest items in their order: all of them, or at most ``limit``."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await asyncio.to_thread(self._get, limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items."""
        if isinstance(items, (str, bytes, Mapping)):
            raise TypeError("items must be a list of items, such as [{'role': 'user', 'content': 'Hello'}]")
        if items:
            await asyncio.to_thread(self._change, "add_items", lambda draft: self._add(draft, items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the newest item and returns it; ``None`` if there is none."""
        return await asyncio.to_thread(self._change, "pop_item", self._pop)

    async def clear_session(self) -> None:
        """Removes all items. ``undo`` brings them back."""
        await asyncio.to_thread(self._change, "clear_session", self._clear)

    async def undo(self) -> Committed:
        """Takes back the last turn: the newest item of the user and everything after it, in one commit.

        The SDK adds the input and the answer of a turn one after the other; both go. If the last change was ``pop_item`` or
        ``clear_session``, its items come back. Raises ``NotFoundError`` if there is no turn.
        """
        return await asyncio.to_thread(self._undo)

    # -- the work, in a thread

    def _change(self, op: str, stage: Callable[[Draft], T]) -> T:
        return change(self.memory, op, stage, writer=self._writer)

    def _item(self, number: int) -> str:
        return f"{self._prefix}item/{number:012}"

    def _next(self, found: Object | None) -> int:
        return 0 if found is None else int(found["next"])

    def _set_next(self, draft: Draft, number: int, op: str) -> None:
        # Two writers that add the same item at once would make the same change, which is no conflict. The random word makes
        # their changes different, so that one of them tries again.
        fields = {"next": number, "op": op, "change": uuid.uuid4().hex}
        draft.put(f"{self._prefix}head", kind="openai_session", scope=self._scope, attributes=fields)

    def _get(self, limit: int | None) -> list[TResponseInputItem]:
        view = self.memory.refresh()
        end = self._next(view.get(f"{self._prefix}head"))
        start = 0 if limit is None else max(0, end - max(0, limit))
        return self._read(view, [self._item(number) for number in range(start, end)])

    def _read(self, view: View, ids: list[str]) -> list[TResponseInputItem]:
        found = [one.attributes for one in view.get_all(ids) if one is not None]
        loaded = self._chunks.get_all(view, found)
        return [cast("TResponseInputItem", json.loads(frames[0][1])) for frames in loaded]

    def _add(self, draft: Draft, items: list[TResponseInputItem]) -> None:
        first = self._next(draft.get(f"{self._prefix}head"))
        for number, item in enumerate(items, first):
            data = json.dumps(item, ensure_ascii=False, default=_plain).encode("utf-8", "surrogatepass")
            fields = self._chunks.put(draft, [("json", data)])
            text = _text(json.loads(data.decode("utf-8", "replace")))
            draft.put(self._item(number), text, kind="openai_item", scope=self._scope, attributes=fields)
        self._set_next(draft, first + len(items), "add")

    def _pop(self, draft: Draft) -> TResponseInputItem | None:
        end = self._next(draft.get(f"{self._prefix}head"))
        if end == 0:
            return None
        found = self._read(draft.base, [self._item(end - 1)])
        self._cut(draft, end - 1, end, "pop")
        return found[0] if found else None

    def _cut(self, draft: Draft, first: int, end: int, op: str) -> None:
        """Removes the items from ``first`` on, with the chunks that no other item has."""
        gone = [self._item(number) for number in range(first, end)]
        view = draft.base
        lost = self._chunks.ids_of(view, [one.attributes for one in view.get_all(gone) if one is not None])
        if lost:
            kept = [self._item(number) for number in range(first)]
            lost -= self._chunks.ids_of(view, [one.attributes for one in view.get_all(kept) if one is not None])
        remove_all(draft, [*gone, *sorted(lost)])
        self._set_next(draft, first, op)

    def _clear(self, draft: Draft) -> None:
        remove_all(draft, [one.id for one in draft.base.query(prefix=self._prefix)])

    def _undo(self) -> Committed:
        for last in range(TRIES, 0, -1):
            removal = self._removal()
            if removal is None:
                break
            try:
                # An item that came since would vanish behind the head that comes back, so that is a conflict.
                back = self.memory.revert(commit=removal, conflicts="fail", writer=self._writer)
            except ConflictError:
                # Another writer was faster, so the last change may be another one now.
                if last == 1:
                    raise
                continue
            return Committed(back.commit, back.changed)
        staged: list[Draft] = []

        def stage(draft: Draft) -> None:
            staged.append(draft)
            self._cut_turn(draft)

        self._change("undo_turn", stage)
        committed = staged[-1].committed
        assert committed is not None, "a turn has at least one item"
        return committed

    def _removal(self) -> str | None:
        """Returns the digest of the commit that made the last change, if it removed items. Others may share the lane of the
        session, so undo takes back this commit and no other."""
        head = self.memory.refresh().get(f"{self._prefix}head")
        if head is not None and head.get("op") != "pop":
            return None
        present = None if head is None else head.digest
        for change_of_head in self.memory.history(f"{self._prefix}head"):
            removed = change_of_head.commit.op in ("pop_item", "clear_session")
            if removed and change_of_head.digest == present:
                return change_of_head.commit.digest
        return None

    def _cut_turn(self, draft: Draft) -> None:
        end = self._next(draft.get(f"{self._prefix}head"))
        # Items without one of the user are one turn, such as those of a host that adds only answers.
        first = 0
        for number in range(end - 1, -1, -1):
            found = self._read(draft.base, [self._item(number)])
            if found and cast("dict[str, Any]", found[0]).get("role") == "user":
                first = number
                break
        if first == end:
            raise NotFoundError("the session has no turn to take back", "nothing_to_undo")
        self._cut(draft, first, end, "undo")


def _usual_scope(memory: Memory | Agent) -> str:
    """Returns the scope of a new item, as ``remember`` and ``put_item`` choose it."""
    if isinstance(memory, Agent):
        return memory.scope
    draft = memory.draft("scope")
    draft.put_item("text", id="openai-agents/scope")
    found = draft.get("openai-agents/scope")
    draft.discard()
    assert found is not None
    return found.scope


def _text(item: Any) -> str | None:
    """Returns the text of a message, by which ``recall`` finds it. Other items, such as outputs of tools, have none."""
    if not isinstance(item, dict) or cast("dict[str, Any]", item).get("role") not in _SPEAKERS:
        return None
    content: object = cast("dict[str, Any]", item).get("content")
    parts = cast("Any", content) if isinstance(content, list) else [{"text": content}]
    texts = [cast("dict[str, Any]", part).get("text") for part in parts if isinstance(part, dict)]
    text = "\n".join(one for one in texts if isinstance(one, str))
    return text[:_TEXT_MAX] or None


def _plain(value: Any) -> Any:
    """Returns a model of the SDK as a plain dict."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", exclude_unset=True)
    raise TypeError(f"a {type(value).__name__} cannot be stored")
