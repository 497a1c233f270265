"""A memory service for Google's Agent Development Kit.

    from google.adk.runners import Runner
    from treering.google_adk import TreeringMemoryService

    runner = Runner(..., memory_service=TreeringMemoryService.open("memory"))

Needs ``pip install treering[google-adk]``, and Python 3.11.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from os import PathLike
from typing import TYPE_CHECKING, Any

from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from ._adapters import label, session_writer
from ._treering import Agent, Object

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.adk.sessions import Session

__all__ = ["TreeringMemoryService"]

_KIND = "adk_memory"


class TreeringMemoryService(BaseMemoryService):
    """A memory of each user of each app. The texts are scanned, and ``search_memory`` finds words and meaning.

    An event is stored once, however often its session is added. One that was deleted stays away. The session is the session of
    the writer, so ``agent.revert(session=…)`` takes back what one conversation left. A user's items have a scope of their own.
    """

    def __init__(self, agent: Agent, *, limit: int = 10, with_untrusted: bool = False) -> None:
        self.agent = agent
        self._limit = limit
        self._with_untrusted = with_untrusted

    @classmethod
    def open(cls, path: str | PathLike[str]) -> TreeringMemoryService:
        """Opens the memory in a folder, and creates it if there is none."""
        return cls(Agent.open(path))

    async def add_session_to_memory(self, session: Session) -> None:
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        entries = [_entry_of(event, custom_metadata) for event in events if event.content is not None]
        await asyncio.to_thread(self._store, _scope(app_name, user_id), session_id, entries)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        shared = dict(custom_metadata or {})
        entries = [one.model_copy(update={"custom_metadata": shared | one.custom_metadata}) for one in memories]
        await asyncio.to_thread(self._store, _scope(app_name, user_id), None, entries)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        memories = await asyncio.to_thread(self._search, _scope(app_name, user_id), query)
        return SearchMemoryResponse(memories=memories)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        if memory_id:
            await asyncio.to_thread(self._delete, _scope(app_name, user_id), memory_id)

    # -- the work, in a thread

    def _store(self, scope: str, session: str | None, entries: Iterable[MemoryEntry]) -> None:
        view = self.agent.refresh()
        items: list[dict[str, Any]] = []
        for one in entries:
            text = "\n".join(part.text for part in one.content.parts or () if part.text and not part.thought)
            name = one.id and _id(scope, one.id)
            if not text or (name and (name in view or self._is_deleted(name))):
                continue
            fields = one.model_dump(mode="json", exclude={"content"}) | {"role": one.content.role}
            item = {"id": name, "text": text, "time": one.timestamp, "attributes": {"adk": json.dumps(fields)}}
            items.append({key: value for key, value in item.items() if value})
        if items:
            writer = self.agent.writer if session is None else session_writer(self.agent.writer, session)
            self.agent.remember_many(items, scope=scope, kind=_KIND, writer=writer)

    def _is_deleted(self, name: str) -> bool:
        # Erased, forgotten, or removed on another machine. A session that was taken back may come again.
        history = self.agent.history(name)
        return bool(history) and history[0].commit.op not in ("undo", "rollback", "restore", "revert")

    def _delete(self, scope: str, memory: str) -> None:
        view = self.agent.refresh()
        for name in (_id(scope, memory), memory):
            if name in view and view[name].scope == scope:
                self.agent.forget(name, scopes=[scope])

    def _search(self, scope: str, query: str) -> list[MemoryEntry]:
        if not query.strip():
            return []
        hits = self.agent.recall(
            query, limit=self._limit, scopes=[scope], kinds=[_KIND], with_untrusted=self._with_untrusted, full=True
        )
        view = self.agent.at(hits.root)
        return [_memory(view[hit.id], hit.text or hit.snippet) for hit in hits]


def _scope(app_name: str, user_id: str) -> str:
    return f"google-adk/{label(app_name)}/{label(user_id)}"


def _id(scope: str, memory: str) -> str:
    return f"{scope}/{label(memory, 40)}"


def _entry_of(event: Event, metadata: Mapping[str, object] | None) -> MemoryEntry:
    assert event.content is not None
    time = datetime.fromtimestamp(event.timestamp, timezone.utc).isoformat()
    fields = dict(metadata or {})
    return MemoryEntry(content=event.content, id=event.id, author=event.author, timestamp=time, custom_metadata=fields)


def _memory(found: Object, text: str) -> MemoryEntry:
    fields = json.loads(found["adk"])
    content = types.Content(role=fields.pop("role"), parts=[types.Part(text=text)])
    # An entry without an id is named by that of its item, so that it can be deleted.
    return MemoryEntry(content=content, **(fields | {"id": fields["id"] or found.id}))
