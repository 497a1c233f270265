"""Types of the native module. Import the names from ``treering``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, TypeAlias, TypeVar, final, overload

from typing_extensions import Self, disjoint_base

from . import answers
from .table import Table

_T = TypeVar("_T")

_Path: TypeAlias = str | PathLike[str]
_Time: TypeAlias = datetime | str
_Texts: TypeAlias = str | Iterable[str]
_Revision: TypeAlias = str | datetime | View
_Trust: TypeAlias = answers.Origin | Literal["untrusted"]
_Sensitivity: TypeAlias = Literal["none", "pii", "internal", "credentials"]
_Hash: TypeAlias = Literal["blake3", "sha256"]
_Check: TypeAlias = Callable[[Draft], object]
_Judge: TypeAlias = Callable[[Object, str], Literal["contradiction", "same", "unrelated"] | None]
_Entry: TypeAlias = str | tuple[str, str] | Mapping[str, Any]

__all__ = [
    "Agent",
    "Committed",
    "Draft",
    "Ids",
    "Items",
    "Memory",
    "Object",
    "Objects",
    "Proof",
    "Remote",
    "Store",
    "View",
    "Watch",
    "Writer",
    "__VERSION__",
    "after_fork",
    "clone",
    "close_all",
    "run_program",
    "schemas",
]

__VERSION__: Final[str]

def after_fork() -> None: ...
def clone(url: str, path: _Path, *, trust_cap: _Trust = "import") -> answers.Cloned: ...
def close_all() -> None: ...
def run_program(command: _Path, arguments: Sequence[str]) -> NoReturn: ...
def schemas() -> str: ...
@final
class Writer:
    """The writer of a change: its class of trust, actor, session, source and reason."""

    def __new__(
        cls,
        trust: _Trust = "model",
        *,
        actor: str | None = None,
        session: str | None = None,
        source: str | None = None,
        reason: str | None = None,
    ) -> Self: ...
    @staticmethod
    def person(
        name: str | None = None,
        *,
        session: str | None = None,
        source: str | None = None,
        reason: str | None = None,
    ) -> Writer: ...
    @staticmethod
    def host(
        name: str | None = None,
        *,
        session: str | None = None,
        source: str | None = None,
        reason: str | None = None,
    ) -> Writer: ...
    @staticmethod
    def model(
        name: str | None = None,
        *,
        session: str | None = None,
        source: str | None = None,
        reason: str | None = None,
    ) -> Writer: ...
    @staticmethod
    def tool(
        name: str | None = None,
        *,
        session: str | None = None,
        source: str | None = None,
        reason: str | None = None,
    ) -> Writer: ...
    @staticmethod
    def internal_tool(
        name: str | None = None,
        *,
        session: str | None = None,
        source: str | None = None,
        reason: str | None = None,
    ) -> Writer: ...
    def replace(
        self,
        *,
        trust: _Trust | None = None,
        actor: str | None = None,
        session: str | None = None,
        source: str | None = None,
        reason: str | None = None,
    ) -> Writer: ...
    @property
    def trust(self) -> answers.Origin: ...
    @property
    def trusted(self) -> bool: ...
    @property
    def actor(self) -> str | None: ...
    @property
    def session(self) -> str | None: ...
    @property
    def source(self) -> str | None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def lane(self) -> str: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Object:
    """One version of an object: its id, kind, scope, attributes and text. It never changes."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def parent(self) -> str | None: ...
    @property
    def position(self) -> str | None: ...
    @property
    def content(self) -> str | None: ...
    @property
    def attributes(self) -> dict[str, Any]: ...
    @property
    def origin(self) -> answers.Origin: ...
    @property
    def trusted(self) -> bool: ...
    @property
    def derived_from(self) -> tuple[str, ...]: ...
    @property
    def event_time(self) -> datetime | None: ...
    @property
    def expires(self) -> datetime | None: ...
    @property
    def digest(self) -> str: ...
    @property
    def erased(self) -> bool: ...
    def get(self, name: str, default: Any = None) -> Any: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __getitem__(self, key: str, /) -> Any: ...
    def __bytes__(self) -> bytes: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class Committed:
    """The result of a call that writes."""

    __match_args__: Final = ("commit", "changed")

    def __new__(cls, commit: answers.Commit, changed: bool) -> Self: ...
    @property
    def commit(self) -> answers.Commit:
        """The new commit, or the head if nothing changed."""
    @property
    def changed(self) -> bool:
        """Whether the call made a new commit."""
    def to_dict(self) -> dict[str, Any]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...
    def _repr_html_(self) -> str: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Objects:
    """An iterator of objects."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Object: ...
    def table(self) -> Table[Object]: ...

@final
class Ids:
    """An iterator of ids."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> str: ...

@final
class Items:
    """An iterator of ids with their objects."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> tuple[str, Object]: ...

@final
class Proof:
    """A proof that a state has a certain version of an object, or has no object with an id."""

    def verify(self, root: str, id: str, *, hash: _Hash = "blake3") -> str | None: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...

@final
class View:
    """One state of a memory: a read-only mapping of ids to objects."""

    @property
    def root(self) -> str: ...
    @property
    def commit(self) -> answers.Commit: ...
    @property
    def now(self) -> datetime: ...
    def with_now(self, now: _Time) -> View: ...
    @overload
    def get(self, id: str) -> Object | None: ...
    @overload
    def get(self, id: str, default: _T) -> Object | _T: ...
    def get_all(self, ids: Iterable[str]) -> list[Object | None]: ...
    def keys(self) -> Ids: ...
    def values(self) -> Objects: ...
    def items(self) -> Items: ...
    def query(
        self,
        *,
        kind: str | None = None,
        scope: str | None = None,
        prefix: str | None = None,
        parent: str | None = None,
        attributes: dict[str, Any] | None = None,
        expired: bool = False,
        limit: int | None = None,
    ) -> Objects: ...
    def children(self, id: str, *, limit: int | None = None) -> tuple[str, ...]: ...
    def prove(self, id: str) -> Proof: ...
    def __getitem__(self, key: str, /) -> Object: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Ids: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class Draft:
    """Staged changes that become one commit, or none."""

    def put(
        self,
        id: str,
        content: str | None = None,
        *,
        kind: str = "fact",
        scope: str | None = None,
        parent: str | None = None,
        position: str | None = None,
        attributes: dict[str, Any] | None = None,
        event_time: _Time | None = None,
        expires: _Time | None = None,
        derived_from: _Texts | None = None,
    ) -> Literal["created", "updated", "unchanged"]: ...
    def put_item(
        self,
        text: str,
        *,
        id: str,
        kind: str = "fact",
        scope: str | None = None,
        tags: _Texts | None = None,
        source: str | None = None,
        pinned: bool = False,
    ) -> Literal["created", "updated", "unchanged"]: ...
    def remove(self, id: str, *, recursive: bool = False) -> int: ...
    def restore(self, id: str, view: View) -> bool: ...
    def expect(self, id: str, version: str | None) -> None: ...
    def get(self, id: str) -> Object | None: ...
    def changes(self) -> Table[answers.Change]: ...
    @property
    def base(self) -> View: ...
    @property
    def writer(self) -> Writer: ...
    @property
    def committed(self) -> Committed | None: ...
    @property
    def report(self) -> answers.Report | None: ...
    @property
    def finished(self) -> bool: ...
    def commit(self, op: str | None = None) -> Committed: ...
    def save(self, name: str) -> None: ...
    def discard(self) -> None: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[False]: ...

@final
class Watch:
    """A queue of the moves of the head, beginning when it was made."""

    def poll(self, timeout: float = 0.0) -> answers.HeadMoved | None: ...

@final
class Remote:
    """A remote of a store: a place to which several stores push, and from which they pull."""

    @property
    def name(self) -> str: ...
    def push(self, *, writer: Writer | None = None) -> answers.Pushed: ...
    def fetch(self, *, writer: Writer | None = None) -> answers.Fetched: ...
    def pull(
        self,
        *,
        strategy: Literal["ours", "theirs", "newer", "trusted"] | None = None,
        writer: Writer | None = None,
    ) -> answers.Pulled: ...
    def sync(self, *, writer: Writer | None = None) -> answers.Synced: ...

@disjoint_base
class Store:
    """An open store: the base of ``Memory`` and ``Agent``."""

    @property
    def path(self) -> Path | None: ...
    @property
    def writer(self) -> Writer: ...
    @property
    def hash(self) -> _Hash: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def closed(self) -> bool: ...
    def view(self) -> View: ...
    def refresh(self) -> View: ...
    def at(self, revision: _Revision) -> View: ...
    def snapshot(self, name: str | None = None, *, writer: Writer | None = None) -> answers.Snapshot: ...
    def snapshots(self) -> Table[answers.Snapshot]: ...
    def delete_snapshot(self, name: str, *, writer: Writer | None = None) -> answers.Snapshot: ...
    def undo(self, *, writer: Writer | None = None) -> Committed: ...
    def redo(self, *, writer: Writer | None = None) -> Committed: ...
    def rollback(
        self, revision: _Revision, *, across_lanes: bool = False, writer: Writer | None = None
    ) -> Committed: ...
    def rollback_preview(
        self, revision: _Revision, *, across_lanes: bool = False, writer: Writer | None = None
    ) -> answers.RollbackPreview: ...
    def revert(
        self,
        *,
        commit: _Texts | None = None,
        session: _Texts | None = None,
        actor: _Texts | None = None,
        source: _Texts | None = None,
        since: _Time | None = None,
        until: _Time | None = None,
        conflicts: Literal["keep", "revert", "fail"] = "keep",
        with_derived: bool = False,
        dry_run: bool = False,
        writer: Writer | None = None,
    ) -> answers.Reverted: ...
    @property
    def fork_name(self) -> str | None: ...
    @property
    def merged(self) -> answers.Merged | None: ...
    def forks(self) -> Table[answers.Fork]: ...
    def drop_fork(
        self, name: str, *, unmerged: bool = False, writer: Writer | None = None
    ) -> answers.Fork: ...
    def merge(
        self,
        name: str,
        *,
        strategy: Literal["ours", "theirs", "newer", "trusted"] | None = None,
        again: bool = False,
        dry_run: bool = False,
        writer: Writer | None = None,
    ) -> answers.Merged: ...
    def conflicts(self) -> Table[answers.Conflict]: ...
    def resolve(
        self,
        id: str,
        *,
        take: str | None = None,
        remove: bool = False,
        content: str | None = None,
        expected: str | None = None,
        writer: Writer | None = None,
    ) -> Committed: ...
    def remote(
        self,
        url: str,
        *,
        name: str = "origin",
        trust_cap: _Trust = "import",
        create: bool = False,
        writer: Writer | None = None,
    ) -> Remote: ...
    def backup(self, url: str) -> answers.BackedUp: ...
    def diff(self, older: _Revision, newer: _Revision | None = None) -> Table[answers.Change]: ...
    def history(self, id: str) -> Table[answers.HistoryEntry]: ...
    def commits(self, *, limit: int | None = None) -> Table[answers.Commit]: ...
    def blame(self, id: str, *, at: _Revision | None = None) -> Table[answers.BlamedPart]: ...
    def bisect_states(
        self, good: _Revision, bad: _Revision, is_bad: Callable[[View], object]
    ) -> answers.Bisected: ...
    def text(self, digest: str) -> str: ...
    def verify(self, *, files_only: bool = False) -> answers.VerifyReport: ...
    def stats(self) -> answers.Stats: ...
    def watch(self) -> Watch: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

@final
class Memory(Store):
    """The engine: objects by id, with every version of every object."""

    @staticmethod
    def open(
        path: _Path,
        *,
        create: bool = False,
        writer: Writer | None = None,
        read_only: bool = False,
        degraded: bool = False,
        wait: float = 30.0,
        exclusive: bool = False,
        mmap: bool = True,
        sync_every: float | None = None,
        automatic_gc: bool = True,
        hash: _Hash = "blake3",
    ) -> Memory: ...
    @staticmethod
    def create(
        path: _Path,
        *,
        writer: Writer | None = None,
        wait: float = 30.0,
        exclusive: bool = False,
        mmap: bool = True,
        sync_every: float | None = None,
        automatic_gc: bool = True,
        hash: _Hash = "blake3",
    ) -> Memory: ...
    @staticmethod
    def in_memory(*, writer: Writer | None = None) -> Memory: ...
    def with_writer(self, writer: Writer) -> Memory: ...
    def fork(
        self,
        name: str,
        *,
        at: _Revision | None = None,
        trust_cap: _Trust | None = None,
        writer: Writer | None = None,
    ) -> Memory: ...
    def open_fork(self, name: str, *, writer: Writer | None = None) -> Memory: ...
    @overload
    def get(self, id: str) -> Object | None: ...
    @overload
    def get(self, id: str, default: _T) -> Object | _T: ...
    def put(
        self,
        id: str,
        content: str | None = None,
        *,
        kind: str = "fact",
        scope: str | None = None,
        parent: str | None = None,
        position: str | None = None,
        attributes: dict[str, Any] | None = None,
        event_time: _Time | None = None,
        expires: _Time | None = None,
        derived_from: _Texts | None = None,
        writer: Writer | None = None,
    ) -> Committed: ...
    def remove(self, id: str, *, recursive: bool = False, writer: Writer | None = None) -> Committed: ...
    def draft(self, op: str = "put", *, writer: Writer | None = None) -> Draft: ...
    def attempt(self, *checks: _Check, op: str = "attempt", writer: Writer | None = None) -> Draft: ...
    def open_draft(self, name: str, *, op: str = "put", writer: Writer | None = None) -> Draft: ...
    def delete_draft(self, name: str, *, writer: Writer | None = None) -> None: ...
    def gc(
        self,
        *,
        keep_all: float | None = None,
        hourly: float | None = None,
        daily: float | None = None,
        weekly: float | None = None,
        forgotten: float | None = None,
        newest: int | None = None,
        now: _Time | None = None,
        dry_run: bool = False,
    ) -> answers.GcReport: ...
    def erase(
        self,
        *targets: str,
        everywhere: bool = False,
        derived: bool = False,
        dry_run: bool = False,
        writer: Writer | None = None,
    ) -> answers.ErasedReport: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...

@final
class Agent(Store):
    """The memory of an agent: remember, recall, forget, notes, sessions, prompts, guarded turns."""

    @staticmethod
    def open(
        path: _Path,
        *,
        create: bool = True,
        trust: _Trust = "model",
        actor: str | None = None,
        session: str | None = None,
        project: str | None = None,
        settings: str | None = None,
        embedder: Callable[[str], Sequence[float]] | None = None,
        embedder_name: str | None = None,
        judge: _Judge | None = None,
        read_only: bool = False,
        degraded: bool = False,
        wait: float = 30.0,
        exclusive: bool = False,
        mmap: bool = True,
        sync_every: float | None = None,
        automatic_gc: bool = True,
        hash: _Hash = "blake3",
    ) -> Agent: ...
    @staticmethod
    def in_memory(
        *,
        trust: _Trust = "model",
        actor: str | None = None,
        session: str | None = None,
        project: str | None = None,
        settings: str | None = None,
        embedder: Callable[[str], Sequence[float]] | None = None,
        embedder_name: str | None = None,
        judge: _Judge | None = None,
    ) -> Agent: ...
    @property
    def memory(self) -> Memory: ...
    @property
    def scope(self) -> str: ...
    @property
    def scopes(self) -> list[str]: ...
    def with_writer(self, writer: Writer) -> Agent: ...
    def fork(
        self,
        name: str,
        *,
        at: _Revision | None = None,
        trust_cap: _Trust | None = None,
        writer: Writer | None = None,
    ) -> Agent: ...
    def open_fork(self, name: str, *, writer: Writer | None = None) -> Agent: ...
    def with_session(self, session: str) -> Agent: ...
    def remember(
        self,
        text: str,
        *,
        id: str | None = None,
        kind: str = "fact",
        scope: str | None = None,
        tags: _Texts | None = None,
        speaker: str | None = None,
        subject: str | None = None,
        session: str | None = None,
        order: int | None = None,
        time: _Time | None = None,
        expires: _Time | None = None,
        citations: str | dict[str, Any] | Iterable[str | dict[str, Any]] | None = None,
        confidence: float | None = None,
        sensitivity: _Sensitivity | None = None,
        source: str | None = None,
        pinned: bool = False,
        supersedes: _Texts | None = None,
        derived_from: _Texts | None = None,
        attributes: dict[str, Any] | None = None,
        trust: _Trust | None = None,
        on_duplicate: Literal["warn", "skip", "merge", "supersede"] = "warn",
        key: str | None = None,
        expected: str | None = None,
        quick: bool = False,
        with_untrusted: bool = False,
        writer: Writer | None = None,
    ) -> answers.Remembered: ...
    def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        scope: str | None = None,
        kind: str = "fact",
        session: str | None = None,
        batch: int = 1000,
        writer: Writer | None = None,
    ) -> answers.RememberedMany: ...
    def recall(
        self,
        question: str = "",
        *,
        limit: int = 10,
        budget: int | None = None,
        scopes: _Texts | None = None,
        kinds: _Texts | None = None,
        tags: _Texts | None = None,
        any_tags: _Texts | None = None,
        since: _Time | None = None,
        until: _Time | None = None,
        with_untrusted: bool = False,
        speaker: str | None = None,
        attributes: dict[str, Any] | None = None,
        include_expired: bool = False,
        include_superseded: bool = True,
        recency: float | None = None,
        freshness: bool = True,
        when: _Time | None = None,
        full: bool = False,
        explain: bool = False,
        touch: bool = True,
        at: _Revision | None = None,
    ) -> answers.Recalled: ...
    def embed(self, seconds: float | None = None) -> answers.VectorCounts | None: ...
    def forget(
        self,
        *ids: str,
        tags: _Texts | None = None,
        any_tags: _Texts | None = None,
        before: _Time | None = None,
        session: str | None = None,
        source: str | None = None,
        kind: str | None = None,
        scopes: _Texts | None = None,
        dry_run: bool = False,
        writer: Writer | None = None,
    ) -> answers.Forgot: ...
    def unforget(
        self,
        *ids: str,
        scopes: _Texts | None = None,
        dry_run: bool = False,
        writer: Writer | None = None,
    ) -> answers.Restored: ...
    def forgotten(self, *, limit: int = 20, scopes: _Texts | None = None) -> Table[answers.Forgotten]: ...
    def expire(self, id: str, at: _Time | None, *, writer: Writer | None = None) -> answers.Commit | None: ...
    def decay(
        self,
        *,
        now: _Time | None = None,
        everything: bool = False,
        dry_run: bool = False,
        summarizer: Callable[[Object, Literal["summary", "keywords"]], str | None] | None = None,
        writer: Writer | None = None,
    ) -> answers.Decayed: ...
    def write_note(
        self,
        text: str,
        *,
        session: str | None = None,
        scope: str | None = None,
        replace: str | None = None,
        writer: Writer | None = None,
    ) -> answers.NoteWritten: ...
    def read_note(self, id: str, *, scope: str | None = None) -> answers.Note | None: ...
    def notes(self, *, session: str | None = None, scope: str | None = None) -> Table[answers.Note]: ...
    def search_notes(
        self, query: str, *, session: str | None = None, scope: str | None = None, limit: int = 10
    ) -> Table[answers.NoteFound]: ...
    def delete_note(self, id: str, *, scope: str | None = None, writer: Writer | None = None) -> bool: ...
    def append(
        self,
        entries: str | Mapping[str, Any] | Iterable[_Entry],
        *,
        session: str | None = None,
        parent: str | None = None,
        scope: str | None = None,
        user: str | None = None,
        writer: Writer | None = None,
    ) -> answers.Appended: ...
    def entries(self, session: str | None = None, *, at: _Revision | None = None) -> Table[Object]: ...
    def envelope(
        self,
        query: str | None = None,
        *,
        budget: int = 5000,
        scopes: _Texts | None = None,
        compaction: str | None = None,
        with_untrusted: bool = False,
        sensitivity_max: _Sensitivity = "internal",
        boundary: str | None = None,
        at: _Revision | None = None,
    ) -> answers.Envelope: ...
    def attempt(self, *checks: _Check, policy: str | None = None, writer: Writer | None = None) -> Draft: ...
    def check(self, draft: Draft, *, policy: str | None = None) -> answers.Report: ...
    def quarantined(self, *, scopes: _Texts | None = None) -> Table[answers.Quarantined]: ...
    def release(self, name: str, *, writer: Writer | None = None) -> Committed: ...
    def discard(self, name: str, *, writer: Writer | None = None) -> None: ...
    def review(self, id: str, *, expected: str | None = None) -> answers.Review: ...
    def promote(
        self, id: str, expected: str, *, keep: _Texts | None = None, writer: Writer | None = None
    ) -> answers.Promoted: ...
    def bisect(
        self,
        question: str,
        good: _Revision,
        bad: _Revision | None = None,
        *,
        expect: str | None = None,
        scopes: _Texts | None = None,
        with_untrusted: bool = False,
    ) -> answers.BisectedAnswer: ...
