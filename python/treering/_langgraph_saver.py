"""A LangGraph checkpointer on Treering.

Every object of a thread has an id below ``langgraph/THREAD/``:

- ``cp/NS/ID`` is a checkpoint without its values, and ``head/NS`` names the newest one;
- ``blob/NS/CHANNEL/VERSION`` is a value of a channel, which checkpoints share;
- ``write/NS/ID/TASK/INDEX`` is a pending write;
- ``chunk/DIGEST`` is a part of a large value, which values share;
- ``shared`` changes when a checkpoint or a pending write shares a stored chunk, so that a prune that would remove the chunk is made anew.

Each call of the saver is one commit in the lane of its thread.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ._adapters import Chunks, change, label, remove_all, session_writer
from ._treering import Agent, Draft, Memory, Object, View, Writer

_KIND = "langgraph_checkpoint"
# The class has a method `list`, so its annotations use these names.
_Frames = list[tuple[str, bytes]]
_Objects = list[Object]
_Fields = list[dict[str, Any]]


class TreeringSaver(BaseCheckpointSaver[str]):
    """A checkpointer that keeps every checkpoint in a ``Memory``.

    ``prune`` and ``delete_thread`` remove from the newest state; history keeps the old versions until ``Memory.gc``, so
    that both can be undone.
    """

    def __init__(
        self,
        memory: Memory | Agent,
        *,
        serde: SerializerProtocol | None = None,
        writer: Writer | None = None,
        scope: str = "langgraph",
    ) -> None:
        super().__init__(serde=serde)
        self.memory = memory.memory if isinstance(memory, Agent) else memory
        self._writer = writer or self.memory.writer
        self._scope = scope

    @classmethod
    def open(cls, path: str | PathLike[str], *, serde: SerializerProtocol | None = None) -> TreeringSaver:
        """Opens the store in a folder, and creates it if there is none."""
        return cls(Memory.open(path, create=True), serde=serde)

    def __enter__(self) -> TreeringSaver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.memory.close()

    # -- values

    def _frames(self, value: Any) -> _Frames:
        return [self.serde.dumps_typed(value)]

    def _value(self, frames: _Frames) -> Any:
        return self.serde.loads_typed(frames[0])

    def _put_value(self, draft: Draft, chunks: Chunks, value: Any) -> dict[str, Any]:
        """Stages a value. The elements of a list are stored one by one, so that lists share their beginnings."""
        if type(value) is list:
            elements = [self.serde.dumps_typed(one) for one in cast("Sequence[Any]", value)]
            return {"list": True, **chunks.put(draft, elements)}
        return {"list": False, **chunks.put(draft, self._frames(value))}

    def _load_value(self, attributes: dict[str, Any], frames: _Frames) -> Any:
        if attributes["list"]:
            return [self.serde.loads_typed(frame) for frame in frames]
        return self._value(frames)

    # -- reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        view = self.memory.refresh()
        thread, ns = _place(config)
        checkpoint_id = get_checkpoint_id(config)
        if not checkpoint_id:
            head = view.get(_Thread(thread).head(ns))
            if head is None:
                return None
            checkpoint_id = str(head["checkpoint"])
        found = view.get(_Thread(thread).checkpoint(ns, checkpoint_id))
        return None if found is None else self._tuple(view, found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        view = self.memory.refresh()
        prefix, ns, wanted = "langgraph/", None, None
        if config is not None:
            configurable = config.get("configurable", {})
            prefix = _Thread(str(configurable["thread_id"])).prefix + "cp/"
            ns, wanted = configurable.get("checkpoint_ns"), get_checkpoint_id(config)
        limit_id = get_checkpoint_id(before) if before else None
        found = [
            (str(one["checkpoint"]), one)
            for one in view.query(kind=_KIND, prefix=prefix)
            if (ns is None or one["ns"] == ns)
            and (not wanted or one["checkpoint"] == wanted)
            and (not limit_id or str(one["checkpoint"]) < limit_id)
        ]
        found.sort(key=lambda pair: pair[0], reverse=True)
        left = len(found) if limit is None else limit
        for _, one in found:
            if left <= 0:
                return
            if filter:
                metadata = self._metadata(view, one)
                if any(metadata.get(name) != value for name, value in filter.items()):
                    continue
            left -= 1
            yield self._tuple(view, one)

    def _chunks(self, thread: _Thread) -> Chunks:
        return Chunks(thread.prefix + "chunk/", self._scope)

    def _metadata(self, view: View, found: Object) -> dict[str, Any]:
        chunks = self._chunks(_Thread(str(found["thread"])))
        return cast("dict[str, Any]", self._value(chunks.get_all(view, [found["metadata"]])[0]))

    def _tuple(self, view: View, found: Object) -> CheckpointTuple:
        fields = found.attributes
        thread, ns, checkpoint_id = str(fields["thread"]), str(fields["ns"]), str(fields["checkpoint"])
        names, chunks = _Thread(thread), self._chunks(_Thread(thread))
        body, metadata = (
            self._value(frames) for frames in chunks.get_all(view, [fields["body"], fields["metadata"]])
        )
        versions: ChannelVersions = body["channel_versions"]
        blobs = view.get_all([names.blob(ns, channel, version) for channel, version in versions.items()])
        stored = [(channel, blob.attributes) for channel, blob in zip(versions, blobs) if blob is not None]
        writes = self._writes(view, names, ns, checkpoint_id)
        loaded = chunks.get_all(
            view, [one["value"] for _, one in stored] + [one["value"] for one in writes]
        )
        values = {
            channel: self._load_value(one["value"], frames) for (channel, one), frames in zip(stored, loaded)
        }
        pending = [
            (str(one["task"]), str(one["channel"]), self._load_value(one["value"], frames))
            for one, frames in zip(writes, loaded[len(stored) :])
        ]
        parent = fields.get("parent")
        return CheckpointTuple(
            config=_config(thread, ns, checkpoint_id),
            checkpoint=cast("Checkpoint", {**body, "channel_values": values}),
            metadata=cast("CheckpointMetadata", metadata),
            parent_config=_config(thread, ns, str(parent)) if parent else None,
            pending_writes=pending,
        )

    def _writes(self, view: View, names: _Thread, ns: str, checkpoint_id: str) -> _Fields:
        """Returns the pending writes of a checkpoint, in the order in which the tasks write."""
        found = view.query(prefix=names.writes(ns, checkpoint_id))
        writes = [one.attributes for one in found]
        return sorted(
            writes, key=lambda one: writes_sort_key(str(one["path"]), str(one["task"]), int(one["index"]))
        )

    # -- writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread, ns = _place(config)
        names, chunks = _Thread(thread), self._chunks(_Thread(thread))
        body = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        kept = get_checkpoint_metadata(config, metadata)
        values, new = checkpoint["channel_values"], checkpoint["id"]
        parent = config.get("configurable", {}).get("checkpoint_id")

        def stage(draft: Draft) -> None:
            for channel, version in new_versions.items():
                if channel in values:
                    value = self._put_value(draft, chunks, values[channel])
                    stored = {"channel": channel, "version": version, "value": value}
                    self._put(draft, names.blob(ns, channel, version), "langgraph_value", stored)
            fields: dict[str, Any] = {
                "thread": thread,
                "ns": ns,
                "checkpoint": new,
                "parent": parent,
                "run": kept.get("run_id"),
                "body": chunks.put(draft, self._frames(body)),
                "metadata": chunks.put(draft, self._frames(kept)),
            }
            self._put(draft, names.checkpoint(ns, new), _KIND, fields)
            head = draft.get(names.head(ns))
            if head is None or str(head["checkpoint"]) <= new:
                self._put_head(draft, names, ns, new)
            if chunks.shared:
                self._put(draft, names.shared, "langgraph_shared", {"change": uuid.uuid4().hex})

        self._change("checkpoint", thread, stage)
        return _config(thread, ns, new)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        thread, ns = _place(config)
        names, chunks = _Thread(thread), self._chunks(_Thread(thread))
        checkpoint_id = str(config.get("configurable", {})["checkpoint_id"])

        def stage(draft: Draft) -> None:
            for place, (channel, value) in enumerate(writes):
                index = WRITES_IDX_MAP.get(channel, place)
                name = names.write(ns, checkpoint_id, task_id, index)
                # The first write of a task counts; errors and interrupts, which have negative numbers, are replaced.
                if index >= 0 and name in draft:
                    continue
                stored = self._put_value(draft, chunks, value)
                fields = {
                    "task": task_id,
                    "index": index,
                    "channel": channel,
                    "path": task_path,
                    "value": stored,
                }
                self._put(draft, name, "langgraph_write", fields)
            if chunks.shared:
                self._put(draft, names.shared, "langgraph_shared", {"change": uuid.uuid4().hex})

        self._change("checkpoint_write", thread, stage)

    def _put(self, draft: Draft, name: str, kind: str, fields: dict[str, Any]) -> None:
        draft.put(name, kind=kind, scope=self._scope, attributes=fields)

    def _put_head(self, draft: Draft, names: _Thread, ns: str, checkpoint_id: str) -> None:
        self._put(draft, names.head(ns), "langgraph_head", {"checkpoint": checkpoint_id})

    def _change(self, op: str, thread: str, stage: Callable[[Draft], None]) -> None:
        change(self.memory, op, stage, writer=session_writer(self._writer, thread))

    # -- removing

    def delete_thread(self, thread_id: str) -> None:
        names = _Thread(str(thread_id))

        def stage(draft: Draft) -> None:
            remove_all(draft, [one.id for one in draft.base.query(prefix=names.prefix)])

        self._change("delete_thread", names.thread, stage)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        wanted = {run_ids} if isinstance(run_ids, str) else set(run_ids)
        view = self.memory.refresh()
        found = view.query(kind=_KIND, prefix="langgraph/")
        threads = {str(one["thread"]) for one in found if one.get("run") in wanted}

        def others(view: View, all: _Objects) -> _Objects:
            return [one for one in all if one.get("run") not in wanted]

        for thread in sorted(threads):
            self._keep(thread, others)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        if strategy not in ("keep_latest", "delete"):
            raise ValueError("the strategy must be keep_latest or delete")
        for thread in [thread_ids] if isinstance(thread_ids, str) else thread_ids:
            if strategy == "delete":
                self.delete_thread(thread)
            else:
                self._keep(str(thread), self._needed)

    def _needed(self, view: View, all: _Objects) -> _Objects:
        """Returns the newest checkpoint, and the ancestors from which its delta channels are rebuilt."""
        newest = max(all, key=lambda one: str(one["checkpoint"]))
        by_id = {str(one["checkpoint"]): one for one in all}
        open_channels = set(self._metadata(view, newest).get("counters_since_delta_snapshot") or ())
        needed, current = [newest], newest
        while open_channels and current.get("parent") in by_id:
            current = by_id[str(current["parent"])]
            needed.append(current)
            # A channel is rebuilt from the nearest ancestor that has its value.
            stored = self._tuple(view, current).checkpoint["channel_values"]
            open_channels -= set(stored)
        return needed

    def _keep(self, thread: str, choose: Callable[[View, _Objects], _Objects]) -> None:
        """Keeps the chosen checkpoints of each namespace, and what they refer to. Removes the rest in one commit."""
        names = _Thread(thread)

        def stage(draft: Draft) -> None:
            view = draft.base
            by_ns: dict[str, _Objects] = {}
            for one in view.query(kind=_KIND, prefix=names.prefix + "cp/"):
                by_ns.setdefault(str(one["ns"]), []).append(one)
            shared = view.get(names.shared)
            draft.expect(names.shared, None if shared is None else shared.digest)
            referred = {names.shared}
            for ns, all in by_ns.items():
                kept = choose(view, all)
                for one in kept:
                    referred |= self._referred(view, names, ns, one)
                head = view.get(names.head(ns))
                if head is not None:
                    # A checkpoint that is put meanwhile may refer to what this change removes, so the change is made anew.
                    draft.expect(head.id, head.digest)
                if kept:
                    self._put_head(draft, names, ns, max(str(one["checkpoint"]) for one in kept))
                    referred.add(names.head(ns))
            everything = (one.id for one in view.query(prefix=names.prefix))
            remove_all(draft, [one for one in everything if one not in referred])

        self._change("prune", thread, stage)

    def _referred(self, view: View, names: _Thread, ns: str, one: Object) -> set[str]:
        """Returns the ids of a checkpoint and of everything that it refers to."""
        chunks, fields = self._chunks(names), one.attributes
        checkpoint_id = str(fields["checkpoint"])
        body = self._value(chunks.get_all(view, [fields["body"]])[0])
        blobs = [names.blob(ns, channel, version) for channel, version in body["channel_versions"].items()]
        writes = list(view.query(prefix=names.writes(ns, checkpoint_id)))
        values = [blob["value"] for blob in view.get_all(blobs) if blob is not None]
        values += [write["value"] for write in writes] + [fields["body"], fields["metadata"]]
        ids = {one.id, *blobs, *(write.id for write in writes)}
        return ids | chunks.ids_of(view, values)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        source, target = _Thread(str(source_thread_id)), _Thread(str(target_thread_id))

        def stage(draft: Draft) -> None:
            for one in draft.base.query(prefix=source.prefix):
                fields = one.attributes
                if "thread" in fields:
                    fields["thread"] = target.thread
                self._put(draft, target.prefix + one.id[len(source.prefix) :], one.kind, fields)

        self._change("copy_thread", target.thread, stage)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Returns a version that sorts after the current one."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}"

    # -- asyncio: every call runs in a thread

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)


class _Thread:
    """The ids of a thread."""

    def __init__(self, thread: str) -> None:
        self.thread = thread
        self.prefix = f"langgraph/{label(thread, 40)}/"

    @property
    def shared(self) -> str:
        return f"{self.prefix}shared"

    def head(self, ns: str) -> str:
        return f"{self.prefix}head/{label(ns)}"

    def checkpoint(self, ns: str, checkpoint_id: str) -> str:
        return f"{self.prefix}cp/{label(ns)}/{label(checkpoint_id, 40)}"

    def blob(self, ns: str, channel: str, version: str | int | float) -> str:
        named = f"{type(version).__name__}-{version}"
        return f"{self.prefix}blob/{label(ns)}/{label(channel)}/{label(named, 40)}"

    def writes(self, ns: str, checkpoint_id: str) -> str:
        return f"{self.prefix}write/{label(ns)}/{label(checkpoint_id, 40)}/"

    def write(self, ns: str, checkpoint_id: str, task: str, index: int) -> str:
        return f"{self.writes(ns, checkpoint_id)}{label(task, 40)}/{index}"


def _place(config: RunnableConfig) -> tuple[str, str]:
    configurable = config.get("configurable", {})
    return str(configurable["thread_id"]), str(configurable.get("checkpoint_ns", ""))


def _config(thread: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}
