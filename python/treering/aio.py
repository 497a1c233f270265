"""Handles for asyncio: every call runs in a thread, so none blocks the event loop.

A call that is cancelled still finishes in its thread: a change that was asked for may be committed although the task that
asked got ``CancelledError``. Look at the memory, or use ``undo``, before you repeat it. The threads are those of
``asyncio.to_thread``.

    async with await treering.aio.open("memory") as agent:
        await agent.remember("The office is in Oslo")
        hits = await agent.recall("office")
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from os import PathLike
from types import TracebackType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, cast

from ._treering import Agent, Draft, Memory, Remote, Store, Watch, Writer
from ._treering import clone as _clone
from .answers import Cloned, Fetched, HeadMoved, Merged, Origin, Pulled, Pushed, Synced
from .errors import HandleError

__all__ = ["AsyncAgent", "AsyncMemory", "AsyncRemote", "Moves", "clone", "in_memory", "open"]

_POLL_SECONDS = 0.5

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Store)
S_co = TypeVar("S_co", bound=Store, covariant=True)
Self = TypeVar("Self", bound="_AsyncStore[Any]")


def _threaded(
    method: Callable[Concatenate[S, P], R],
) -> Callable[Concatenate[_AsyncStore[S], P], Coroutine[Any, Any, R]]:
    """Returns the method as a coroutine that runs in a thread."""

    @functools.wraps(method)
    async def call(self: _AsyncStore[S], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.sync, *args, **kwargs)

    return cast("Callable[Concatenate[_AsyncStore[S], P], Coroutine[Any, Any, R]]", call)


def _forking(
    method: Callable[Concatenate[S, P], S],
) -> Callable[Concatenate[Self, P], Coroutine[Any, Any, Self]]:
    """Returns the method as a coroutine that runs in a thread, and whose handle is one for asyncio."""

    @functools.wraps(method)
    async def call(self: Self, *args: P.args, **kwargs: P.kwargs) -> Self:
        return type(self)(await asyncio.to_thread(method, self.sync, *args, **kwargs))

    return cast("Callable[Concatenate[Self, P], Coroutine[Any, Any, Self]]", call)


class AsyncRemote:
    """A ``Remote`` for asyncio."""

    def __init__(self, sync_remote: Remote) -> None:
        self._remote = sync_remote

    @property
    def name(self) -> str:
        return self._remote.name

    async def push(self, *, writer: Writer | None = None) -> Pushed:
        return await asyncio.to_thread(self._remote.push, writer=writer)

    async def fetch(self, *, writer: Writer | None = None) -> Fetched:
        return await asyncio.to_thread(self._remote.fetch, writer=writer)

    async def pull(
        self,
        *,
        strategy: Literal["ours", "theirs", "newer", "trusted"] | None = None,
        writer: Writer | None = None,
    ) -> Pulled:
        return await asyncio.to_thread(self._remote.pull, strategy=strategy, writer=writer)

    async def sync(self, *, writer: Writer | None = None) -> Synced:
        return await asyncio.to_thread(self._remote.sync, writer=writer)


class _AsyncStore(Generic[S_co]):
    """The base of ``AsyncAgent`` and ``AsyncMemory``."""

    def __init__(self, sync: S_co) -> None:
        self._sync = sync

    @property
    def sync(self) -> S_co:
        """The handle whose calls block. It also has what is rare: ``sync``, ``warnings``, ``path`` and ``hash``."""
        return self._sync

    @property
    def closed(self) -> bool:
        return self.sync.closed

    @property
    def writer(self) -> Writer:
        return self.sync.writer

    view = _threaded(Store.view)
    refresh = _threaded(Store.refresh)
    at = _threaded(Store.at)
    snapshot = _threaded(Store.snapshot)
    snapshots = _threaded(Store.snapshots)
    delete_snapshot = _threaded(Store.delete_snapshot)
    undo = _threaded(Store.undo)
    redo = _threaded(Store.redo)
    rollback = _threaded(Store.rollback)
    rollback_preview = _threaded(Store.rollback_preview)
    revert = _threaded(Store.revert)
    diff = _threaded(Store.diff)
    history = _threaded(Store.history)
    commits = _threaded(Store.commits)
    blame = _threaded(Store.blame)
    bisect_states = _threaded(Store.bisect_states)
    forks = _threaded(Store.forks)
    drop_fork = _threaded(Store.drop_fork)
    merge = _threaded(Store.merge)
    conflicts = _threaded(Store.conflicts)
    resolve = _threaded(Store.resolve)
    backup = _threaded(Store.backup)
    text = _threaded(Store.text)
    verify = _threaded(Store.verify)
    stats = _threaded(Store.stats)
    close = _threaded(Store.close)

    async def remote(
        self,
        url: str,
        *,
        name: str = "origin",
        trust_cap: Origin | Literal["untrusted"] = "import",
        create: bool = False,
        writer: Writer | None = None,
    ) -> AsyncRemote:
        """Returns a remote of the store. With ``create``, makes a missing folder."""
        found = await asyncio.to_thread(
            self.sync.remote, url, name=name, trust_cap=trust_cap, create=create, writer=writer
        )
        return AsyncRemote(found)

    @property
    def fork_name(self) -> str | None:
        return self.sync.fork_name

    @property
    def merged(self) -> Merged | None:
        return self.sync.merged

    def watch(self) -> Moves:
        """Iterates the moves of the head from now on, until the store is closed. The wait uses a thread."""
        return Moves(self.sync.watch())

    async def __aenter__(self: Self) -> Self:
        self.sync.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The end of a fork needs the exception: it decides whether the fork is merged.
        await asyncio.shield(asyncio.to_thread(self.sync.__exit__, kind, error, traceback))


class AsyncMemory(_AsyncStore[Memory]):
    """A ``Memory`` for asyncio, for example ``await AsyncMemory.open("store", create=True)``."""

    @classmethod
    async def open(
        cls,
        path: str | PathLike[str],
        *,
        create: bool = False,
        writer: Writer | None = None,
        read_only: bool = False,
        sync_every: float | None = None,
    ) -> AsyncMemory:
        """Opens the store in a folder. For the other options, wrap a ``Memory``: ``AsyncMemory(memory)``."""
        memory = await asyncio.to_thread(
            Memory.open, path, create=create, writer=writer, read_only=read_only, sync_every=sync_every
        )
        return cls(memory)

    def with_writer(self, writer: Writer) -> AsyncMemory:
        """Returns a handle of the same store with another usual writer."""
        return AsyncMemory(self.sync.with_writer(writer))

    fork = _forking(Memory.fork)
    open_fork = _forking(Memory.open_fork)

    get = _threaded(Memory.get)
    put = _threaded(Memory.put)
    remove = _threaded(Memory.remove)
    gc = _threaded(Memory.gc)
    erase = _threaded(Memory.erase)
    delete_draft = _threaded(Memory.delete_draft)

    @asynccontextmanager
    async def draft(self, op: str = "put", *, writer: Writer | None = None) -> AsyncGenerator[Draft, None]:
        """Begins a draft, commits it at the end, and discards it after an exception. Staging does not block for long."""
        draft = await asyncio.to_thread(self.sync.draft, op, writer=writer)
        async with _finished(draft):
            yield draft

    @asynccontextmanager
    async def open_draft(
        self, name: str, *, op: str = "put", writer: Writer | None = None
    ) -> AsyncGenerator[Draft, None]:
        """Opens a saved draft, commits it at the end, and discards it after an exception."""
        draft = await asyncio.to_thread(self.sync.open_draft, name, op=op, writer=writer)
        async with _finished(draft):
            yield draft

    @asynccontextmanager
    async def attempt(
        self, *checks: Callable[[Draft], object], op: str = "attempt", writer: Writer | None = None
    ) -> AsyncGenerator[Draft, None]:
        """Begins a draft whose checks run, in a thread, before the commit."""
        draft = await asyncio.to_thread(self.sync.attempt, *checks, op=op, writer=writer)
        async with _finished(draft):
            yield draft


class AsyncAgent(_AsyncStore[Agent]):
    """An ``Agent`` for asyncio."""

    @property
    def memory(self) -> AsyncMemory:
        """The engine below the agent."""
        return AsyncMemory(self.sync.memory)

    def with_writer(self, writer: Writer) -> AsyncAgent:
        """Returns a handle of the same memory with another usual writer."""
        return AsyncAgent(self.sync.with_writer(writer))

    fork = _forking(Agent.fork)
    open_fork = _forking(Agent.open_fork)

    def with_session(self, session: str) -> AsyncAgent:
        """Returns a handle of the same memory whose writer acts in this session."""
        return AsyncAgent(self.sync.with_session(session))

    remember = _threaded(Agent.remember)
    remember_many = _threaded(Agent.remember_many)
    embed = _threaded(Agent.embed)
    recall = _threaded(Agent.recall)
    forget = _threaded(Agent.forget)
    unforget = _threaded(Agent.unforget)
    forgotten = _threaded(Agent.forgotten)
    expire = _threaded(Agent.expire)
    decay = _threaded(Agent.decay)
    write_note = _threaded(Agent.write_note)
    read_note = _threaded(Agent.read_note)
    notes = _threaded(Agent.notes)
    search_notes = _threaded(Agent.search_notes)
    delete_note = _threaded(Agent.delete_note)
    append = _threaded(Agent.append)
    entries = _threaded(Agent.entries)
    envelope = _threaded(Agent.envelope)
    check = _threaded(Agent.check)
    quarantined = _threaded(Agent.quarantined)
    release = _threaded(Agent.release)
    discard = _threaded(Agent.discard)
    review = _threaded(Agent.review)
    promote = _threaded(Agent.promote)
    bisect = _threaded(Agent.bisect)

    @asynccontextmanager
    async def attempt(
        self, *checks: Callable[[Draft], object], policy: str | None = None, writer: Writer | None = None
    ) -> AsyncGenerator[Draft, None]:
        """Begins a guarded turn. The policy and the checks run, in a thread, before the commit."""
        draft = await asyncio.to_thread(self.sync.attempt, *checks, policy=policy, writer=writer)
        async with _finished(draft):
            yield draft


async def clone(
    url: str, path: str | PathLike[str], *, trust_cap: Origin | Literal["untrusted"] = "import"
) -> Cloned:
    """Makes a store in a new folder of a backup or a remote."""
    return await asyncio.to_thread(_clone, url, path, trust_cap=trust_cap)


class Moves(AsyncIterator[HeadMoved]):
    """The moves of the head. A wait that is cancelled, for example by ``asyncio.wait_for``, loses none of them."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._turn = asyncio.Lock()
        self._closed = False
        # The poll that runs in a thread. A cancelled wait leaves it here for the next wait, with the move that it finds.
        self._polling: asyncio.Future[HeadMoved | HandleError | None] | None = None

    def __aiter__(self) -> Moves:
        return self

    async def __anext__(self) -> HeadMoved:
        # Without turns, two tasks would get the same move.
        async with self._turn:
            while not self._closed:
                if self._polling is None:
                    self._polling = asyncio.get_running_loop().run_in_executor(None, self._poll)
                found = await asyncio.shield(self._polling)
                self._polling = None
                if isinstance(found, HandleError):
                    if found.code != "closed":
                        raise found
                    self._closed = True
                elif found is not None:
                    return found
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Ends the iteration. A poll that runs in a thread ends within half a second."""
        self._closed = True

    def _poll(self) -> HeadMoved | HandleError | None:
        # An exception that no wait retrieves would be reported, so it is returned.
        try:
            return self._watch.poll(_POLL_SECONDS)
        except HandleError as error:
            return error


@asynccontextmanager
async def _finished(draft: Draft) -> AsyncGenerator[None, None]:
    try:
        yield
    except BaseException:
        draft.discard()
        raise
    if not draft.finished:
        await asyncio.to_thread(draft.commit)


def _opened(
    function: Callable[P, Agent],
) -> Callable[P, Coroutine[Any, Any, AsyncAgent]]:
    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> AsyncAgent:
        return AsyncAgent(await asyncio.to_thread(function, *args, **kwargs))

    return call


open = _opened(Agent.open)
"""Opens the memory of an agent in a folder, and creates it if there is none."""
in_memory = _opened(Agent.in_memory)
"""Creates the memory of an agent that ends with the process, for tests."""
