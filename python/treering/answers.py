"""The answers of the calls, as frozen dataclasses. ``python/generate.py`` writes this file.

Each answer has ``to_dict()``, which converts it to values that ``json.dumps`` accepts, as in the JSON of the program: a time
becomes a text in RFC 3339, and a float that JSON cannot express becomes ``{"$float": "nan"}``. A notebook shows an answer as
a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from . import _answer as _a
from ._treering import Committed, Object
from .table import Table

__all__ = [
    "ActingField",
    "Alike",
    "Appended",
    "BackedUp",
    "Bisected",
    "BisectedAnswer",
    "BlamedPart",
    "Change",
    "Checked",
    "Cloned",
    "Commit",
    "Committed",
    "Conflict",
    "ConflictSide",
    "Decayed",
    "Envelope",
    "ErasedRecord",
    "ErasedReport",
    "Fetched",
    "Finding",
    "Forgot",
    "Forgotten",
    "Fork",
    "GcReport",
    "HeadMoved",
    "HiddenItem",
    "HistoryEntry",
    "Hit",
    "KeptObject",
    "MergeConflict",
    "Merged",
    "Move",
    "NotStored",
    "Note",
    "NoteFound",
    "NoteWritten",
    "Origin",
    "Promoted",
    "Pulled",
    "Pushed",
    "Quarantined",
    "Reason",
    "Recalled",
    "RefusedItem",
    "Remembered",
    "RememberedMany",
    "Report",
    "Restored",
    "Reverted",
    "RevertedObject",
    "Review",
    "RollbackPreview",
    "Shown",
    "Snapshot",
    "Stats",
    "Synced",
    "VectorCounts",
    "VerifyReport",
]

Origin = Literal["direct_user", "host", "model", "tool_internal", "tool_external", "document", "import"]
"""The class of trust of a writer or an object, most trusted first. The last three are untrusted."""


@dataclass(frozen=True, slots=True, repr=False)
class Commit(_a.CommitMethods):
    """A commit: one change of the state, with its writer."""

    digest: str
    """The digest that names the commit, as 64 hexadecimal digits."""
    root: str
    """The root that names the state after the commit."""
    seq: int
    """The number of the commit; the first commit of a store has 0."""
    time: datetime
    op: str
    """The operation, such as ``"put"`` or ``"rollback"``."""
    target: str | None
    """The commit that a rollback, undo or redo targets."""
    lane: str
    """The session, else the actor, else ``"default"``. Each lane has its own undo and redo."""
    actor: str | None
    session: str | None
    trust: Origin
    source_digest: str | None
    """The digest of the source that the writer stated; ``text`` of the store returns it."""
    reason_digest: str | None
    """The digest of the reason that the writer stated; ``text`` of the store returns it."""

    _reads = {"time": _a.time}


@dataclass(frozen=True, slots=True, repr=False)
class RollbackPreview(_a.Answer):
    """The result that a rollback would have."""

    target: Commit
    """The commit whose state comes back."""
    added: int
    """The number of ids that only the newer state contains."""
    changed: int
    """The number of ids that have different versions in the two states."""
    removed: int
    """The number of ids that only the older state contains."""

    _reads = {"target": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Change(_a.ChangeMethods):
    """One id that differs between two states."""

    id: str
    """The id that differs."""
    kind: Literal["added", "changed", "removed"]
    """The kind of the difference."""
    old: str | None
    """The version in the older state."""
    new: str | None
    """The version in the newer state."""
    erased: bool
    """Whether the versions were erased or lost, so only their digests are known. If so, ``id`` is ``erased:`` and
    the key path, because the real id is unknown.
    """

    _keys = {"kind": "change"}


@dataclass(frozen=True, slots=True, repr=False)
class HistoryEntry(_a.Answer):
    """One change of an id, with the commit that made it."""

    digest: str | None
    """The version after the change; ``None`` if the id was removed."""
    time: datetime
    commit: Commit
    """The first kept commit whose state has the change."""
    erased: bool
    lost: bool
    thinned: bool
    """Whether a thinned commit made or may have made the change, so that its writer is unknown."""

    _reads = {"time": _a.time, "commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot(_a.Answer):
    """A name for a state."""

    name: str
    index: int | None
    """The number of an automatic snapshot in its lane: 0 is the newest."""
    root: str
    """The root of the state that the snapshot names."""
    commit: str
    """The commit that the snapshot names."""
    time: datetime
    """The time at which the reference was made."""
    seq: int
    """The seq of the commit that the snapshot names."""
    lane: str | None
    """The lane of an automatic snapshot."""
    actor: str | None
    """The actor who made the reference."""
    session: str | None
    """The session in which the actor made the reference."""
    reason: str | None
    """The reason that the writer gave."""

    _reads = {"time": _a.time}


@dataclass(frozen=True, slots=True, repr=False)
class HeadMoved(_a.Answer):
    """A notification that the store has a new head."""

    commit: str
    """The new head."""
    root: str
    """The root of the new head's state."""
    seq: int
    """The seq of the new head."""
    op: str
    """The operation of the new head: ``put``, ``rollback`` and so on."""


@dataclass(frozen=True, slots=True, repr=False)
class BlamedPart(_a.Answer):
    """A part of an object, with the change that wrote it."""

    part: str
    """The name of the part: ``"kind"``, ``"attr:todo"`` or ``"line:3"``."""
    value: Any
    change: HistoryEntry
    trust: Origin

    _reads = {"change": _a.one(HistoryEntry)}


@dataclass(frozen=True, slots=True, repr=False)
class Bisected(_a.Answer):
    """The first bad commit that ``bisect`` found."""

    first_bad: Commit
    last_good: Commit
    steps: int
    """The number of states that were tested."""
    thinned: int
    """The number of thinned commits between the two; one of them may have made the change."""

    _reads = {"first_bad": _a.one(Commit), "last_good": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class RevertedObject(_a.Answer):
    """An object that a revert changes."""

    id: str
    """The id of the object."""
    old: str | None
    """The version before the revert. There is none if the object comes back."""
    new: str | None
    """The version after the revert. There is none if the object is removed."""
    gone_with: str | None
    """The missing object above the version that would stand, if the object is removed because of it. Only a revert
    that takes later work of others back too removes objects for this reason.
    """
    thinned: bool
    """Whether thinned commits may have written a newer version, which history no longer keeps."""

    _keys = {"old": "from", "new": "to"}

    _reads = {"thinned": bool}


@dataclass(frozen=True, slots=True, repr=False)
class KeptObject(_a.Answer):
    """An object that stays as it is because of later work of others."""

    id: str
    because: Literal["changed", "below", "no_parent", "other"]
    other: str | None
    """The object below it, or the missing parent."""
    by: Commit | None
    """The commit of the later work; ``None`` if that commit was thinned."""

    _reads = {"by": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Reverted(_a.Answer):
    """The result of a revert, or of its preview."""

    commit: Commit
    """The commit of the revert, or the head if nothing changed."""
    changed: bool
    kept: Table[KeptObject]
    selected: int
    """The number of selected commits."""
    reverted: Table[RevertedObject]
    """The changed objects, sorted by id."""
    derived: tuple[str, ...]
    """The objects whose present version is derived from a version of the selected commits, sorted."""
    dry_run: bool
    """Whether this is a preview, which changed nothing."""

    _keys = {"commit": "$commit", "kept": "$kept"}

    _reads = {"commit": _a.one(Commit), "kept": _a.rows(KeptObject), "reverted": _a.rows(RevertedObject),
        "dry_run": bool}


@dataclass(frozen=True, slots=True, repr=False)
class Fork(_a.Answer):
    """A fork of the memory."""

    name: str
    """The name of the fork."""
    base: str
    """The commit at which the fork begins."""
    head: str
    """The newest commit of the fork; the base if the fork has no commit."""
    seq: int
    """The seq of the newest commit."""
    commits: int
    """The number of kept commits since the base."""
    trust_cap: Origin
    """The most trusted class that a write through the fork gets."""
    time: datetime
    """The time of the newest change of the fork."""

    _reads = {"time": _a.time}


@dataclass(frozen=True, slots=True, repr=False)
class MergeConflict(_a.Answer):
    """An object that both sides of a merge changed, so that somebody must decide."""

    id: str
    """The object."""
    fields: tuple[str, ...]
    """The fields in which the sides differ, sorted. ``removed``: a side removed the object. ``attr:NAME``: an
    attribute.
    """


@dataclass(frozen=True, slots=True, repr=False)
class Merged(_a.Answer):
    """The result of a merge, or of its preview."""

    commit: Commit
    """The commit of the merge, or the head if there was nothing new."""
    base: str
    """The newest commit from which both lines come."""
    added: int
    """The number of ids that only the newer state contains."""
    changed: int
    """The number of ids that have different versions in the two states."""
    removed: int
    """The number of ids that only the older state contains."""
    conflicts: Table[MergeConflict]
    """The conflicts that are left open, sorted by id."""
    dry_run: bool
    """Whether this is a preview, which changed nothing."""
    new: bool
    """Whether the other line had something new."""
    changes: Table[Change]
    """The changes of the merge, sorted by id."""

    _keys = {"commit": "$commit", "changes": "$changes"}

    _reads = {"commit": _a.one(Commit), "conflicts": _a.rows(MergeConflict), "dry_run": bool}


@dataclass(frozen=True, slots=True, repr=False)
class ConflictSide(_a.Answer):
    """A version of an open conflict."""

    digest: str | None
    """The version; ``None`` if the side removed the object."""
    object: Object | None
    trust: Origin | None
    commit: Commit | None
    """The commit that wrote the version, if it is kept."""

    _reads = {"commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Conflict(_a.Answer):
    """An object about which somebody must decide, because both sides of a merge changed it."""

    id: str
    fields: tuple[str, ...]
    """The fields in which the sides differ. ``removed``: a side removed the object. ``attr:NAME``: an attribute."""
    sides: Table[ConflictSide]
    base: Object | None
    """The version from which all sides come, if it is one version and is kept."""
    present: ConflictSide | None
    """The version that the object has now, if it is none of the sides."""


@dataclass(frozen=True, slots=True, repr=False)
class BackedUp(_a.Answer):
    """The result of a backup."""

    url: str
    """The place of the backup, without a password."""
    commits: int
    """The number of commits that this run sent."""
    objects: int
    """The number of versions of objects that this run sent."""
    bytes: int
    """The number of bytes that this run sent."""
    requests: int
    """The number of requests."""


@dataclass(frozen=True, slots=True, repr=False)
class Cloned(_a.Answer):
    """The result of a clone."""

    store: str
    """The folder of the new store."""
    commits: int
    """The number of commits of the main line that the new store has."""
    objects: int
    """The number of objects."""
    root: str
    """The root of the newest state."""
    remote: str | None
    """The name by which the new store knows the remote; none if it is the clone of a backup."""


@dataclass(frozen=True, slots=True, repr=False)
class Pushed(_a.Answer):
    """The result of a push."""

    remote: str
    """The name of the remote."""
    commits: int
    """The number of commits of this store that the remote lacked."""
    bytes: int
    """The number of bytes that were sent."""
    requests: int
    """The number of requests."""
    unsigned: bool
    """Whether the newest commit of the remote was signed before, as far as this store knows, and is not signed now."""

    _reads = {"unsigned": bool}


@dataclass(frozen=True, slots=True, repr=False)
class Fetched(_a.Answer):
    """The result of a fetch."""

    remote: str
    """The name of the remote."""
    commits: int
    """The number of commits of other machines that this store did not have."""
    bytes: int
    """The number of bytes that were received."""
    requests: int
    """The number of requests."""
    head: str
    """The newest commit of the main line of the remote."""
    erased: int
    """The number of records that others erased, and that this fetch erased here."""
    not_erased: int
    """The number of records that others erased, and that stay here: the cap of the remote is below ``host``, or a
    demanded signature does not cover the erasure.
    """
    kept: tuple[str, ...]
    """What an erasure takes to erase those: ids, and digests of records without an id."""


@dataclass(frozen=True, slots=True, repr=False)
class Pulled(_a.Answer):
    """The result of a pull."""

    commit: Commit
    """The commit of the merge, or the head if there was nothing new."""
    base: str
    """The newest commit from which both lines come."""
    added: int
    """The number of ids that only the newer state contains."""
    changed: int
    """The number of ids that have different versions in the two states."""
    removed: int
    """The number of ids that only the older state contains."""
    conflicts: Table[MergeConflict]
    """The conflicts that are left open, sorted by id."""
    dry_run: bool
    """Whether this is a preview, which changed nothing."""
    fetched: Fetched
    """What was fetched before it."""
    new: bool
    """Whether the remote had something new."""

    _keys = {"commit": "$commit"}

    _reads = {"commit": _a.one(Commit), "conflicts": _a.rows(MergeConflict), "dry_run": bool, "fetched":
        _a.one(Fetched)}


@dataclass(frozen=True, slots=True, repr=False)
class Synced(_a.Answer):
    """The result of a sync."""

    commit: Commit
    """The commit of the merge, or the head if there was nothing new."""
    base: str
    """The newest commit from which both lines come."""
    added: int
    """The number of ids that only the newer state contains."""
    changed: int
    """The number of ids that have different versions in the two states."""
    removed: int
    """The number of ids that only the older state contains."""
    conflicts: Table[MergeConflict]
    """The conflicts that are left open, sorted by id."""
    dry_run: bool
    """Whether this is a preview, which changed nothing."""
    fetched: Fetched
    """What was fetched before it."""
    pushed: Pushed
    """What was pushed."""
    lost: int
    """How often another machine pushed first."""
    new: bool
    """Whether the store or the remote changed."""

    _keys = {"commit": "$commit"}

    _reads = {"commit": _a.one(Commit), "conflicts": _a.rows(MergeConflict), "dry_run": bool, "fetched":
        _a.one(Fetched), "pushed": _a.one(Pushed)}


@dataclass(frozen=True, slots=True, repr=False)
class Finding(_a.Answer):
    """A fault that ``verify`` found in the files."""

    severity: Literal["damage", "unsure", "derived", "harmless"]
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class VerifyReport(_a.VerifyReportMethods):
    """The result of ``verify``."""

    ok: bool
    """Whether all acknowledged data is present and undamaged."""
    commits: int
    """The number of commits that passed verification."""
    versions: int
    """The number of versions of objects that passed verification."""
    bytes: int
    """The number of bytes of the log that were read."""
    erased: int
    """The number of erased versions. Those that others erased, and that this store keeps, do not count."""
    lost: int
    """The number of lost versions that salvage could not restore: only their digests are left."""
    thinned: int
    """The number of thinned commits."""
    derived: Table[Finding]
    """Damage that loses no acknowledged data."""
    damage: Table[Finding]
    """Damage to acknowledged data."""

    _keys = {"derived": "$derived", "damage": "$damage"}

    _reads = {"derived": _a.rows(Finding), "damage": _a.rows(Finding)}


@dataclass(frozen=True, slots=True, repr=False)
class GcReport(_a.Answer):
    """The result of a garbage collection, or of its preview."""

    kept: int
    """The number of kept commits."""
    thinned: int
    """The number of commits that this collection thinned."""
    versions_before: int
    """The number of versions of objects in history before the collection."""
    versions: int
    """The number of versions of objects in history after the collection."""
    bytes_before: int
    """The size of the log's batches in bytes before the collection."""
    bytes: int
    """The size of the log's batches in bytes after the collection."""


@dataclass(frozen=True, slots=True, repr=False)
class ErasedRecord(_a.Answer):
    """A record that was erased, or that a previewed erasure would erase."""

    kind: Literal["version", "content", "text"]
    """The kind of the erased record."""
    digest: str
    """The digest of the record. The store keeps this digest after the erasure."""
    id: str | None
    """The id of the object, if the record is a version."""
    bytes: int
    """The number of bytes of the record."""


@dataclass(frozen=True, slots=True, repr=False)
class ErasedReport(_a.Answer):
    """The result of an erasure, or of its preview."""

    records: Table[ErasedRecord]
    unlinked: tuple[str, ...]
    """The ids that the erasure removed from the newest state."""
    holders: tuple[str, ...]
    """Other objects that lost a shared content or an earlier version."""
    commit: Commit | None
    """``None`` for a preview."""

    _reads = {"records": _a.rows(ErasedRecord), "commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Stats(_a.Answer):
    """Counts and sizes of a store."""

    objects: int
    """The number of objects in the state at the head."""
    history: int
    """The number of versions of objects that history keeps."""
    commits: int
    """The number of kept commits."""
    thinned: int
    """The number of commits that retention thinned; their digests stay in the chain."""
    gaps: int
    """The number of runs of thinned commits."""
    erased: int
    """The number of versions of which the store keeps only the digest: erased versions, and lost versions that
    salvage could not restore. ``verify`` counts the two separately.
    """
    snapshots: int
    """The number of snapshots, named and automatic."""
    segments: int
    """The number of segments of the log."""
    log_bytes: int
    """The size of the log's batches in bytes, as garbage collection counts them."""
    disk_bytes: int
    """The size of all files of the store in bytes, including preallocated space."""
    checkpoint_bytes: int
    """The size of the checkpoint files in bytes; a part of ``disk_bytes``."""
    set_aside_bytes: int
    """The preallocated bytes of the log's files; a part of ``disk_bytes``."""
    live_bytes: int
    """The size of the objects and contents of the head's state, in bytes."""
    orphans: int
    """The number of objects whose parent does not exist: 0 unless the store is damaged."""


@dataclass(frozen=True, slots=True, repr=False)
class Alike(_a.Answer):
    """An existing item of the same scope and kind that is similar to the new item."""

    id: str
    """The id of the similar item."""
    similarity: float
    """The similarity of the two texts, 0 to 1."""
    trust: Origin
    """The origin class of the text."""
    flags: tuple[str, ...]
    """The rules of the scan that the text matched when it was written, or matches now."""
    text: str | None
    """The text, with markers instead of secrets. ``None`` if the text is withheld."""
    withheld: bool
    """Whether the text is withheld, because it is untrusted and the caller did not ask for untrusted texts."""


@dataclass(frozen=True, slots=True, repr=False)
class Remembered(_a.Answer):
    """The answer to ``remember``. Look at ``status``: a quarantined item is not in the memory."""

    id: str
    digest: str | None
    status: Literal[
        "created", "updated", "unchanged", "duplicate", "merged", "superseded", "quarantined", "disabled"
    ]
    disabled: bool
    scope: str
    duplicates: Table[Alike]
    verdict: Literal["allow", "flag", "quarantine", "block"]
    rules: tuple[str, ...]
    redacted: bool
    held_as: str | None
    text: str
    """The stored text, without secrets and invisible characters."""
    commit: Commit
    conflicts: Table[Alike]
    """The items that contradict the new item."""

    _keys = {"commit": "$commit", "conflicts": "$conflicts"}

    _reads = {"duplicates": _a.rows(Alike), "commit": _a.one(Commit), "conflicts": _a.rows(Alike)}


@dataclass(frozen=True, slots=True, repr=False)
class RefusedItem(_a.Answer):
    """An item that ``remember_many`` did not store."""

    index: int
    id: str | None
    verdict: Literal["block", "quarantine", "denied", "invalid"]
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class RememberedMany(_a.Answer):
    """The answer to ``remember_many``."""

    stored: int
    """The number of lines that stored a new id or a new version."""
    unchanged: int
    """The number of lines that changed nothing, including ``duplicates``."""
    duplicates: int
    """The number of lines without an id that repeat the text of another item."""
    flagged: int
    """The number of lines stored with the attribute ``flags``."""
    unknown: tuple[str, ...]
    """The names of unknown fields, which were stored as attributes. At most 100 names."""
    refused: Table[RefusedItem]
    held: tuple[str, ...]
    commit: Commit

    _keys = {"refused": "$refused"}

    _reads = {"refused": _a.rows(RefusedItem), "commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Forgot(_a.Answer):
    """The answer to ``forget``."""

    items: Table[Object]
    """The forgotten items, in their last version."""
    pinned: tuple[str, ...]
    """The pinned items that met the conditions and stay."""
    others: tuple[str, ...]
    """The given ids whose items fail another condition and stay."""
    still: tuple[str, ...]
    """The episodes and summaries that may still say what an item said that was learnt from their session."""
    commit: Commit | None

    _reads = {"commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Forgotten(_a.Answer):
    """An item that was forgotten and not restored."""

    item: Object
    version: str
    commit: Commit
    reason: str | None

    _reads = {"commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Restored(_a.Answer):
    """The answer to ``unforget``."""

    items: Table[Object]
    unchanged: tuple[str, ...]
    commit: Commit | None

    _reads = {"commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Note(_a.Answer):
    """A note of a session."""

    id: str
    text: str
    owner: str | None
    """The root session that owns the note."""
    created: datetime | None
    updated: datetime | None
    read: datetime | None
    """The time of the read before this one."""
    object: Object

    _reads = {"created": _a.time, "updated": _a.time, "read": _a.time}


@dataclass(frozen=True, slots=True, repr=False)
class NoteFound(_a.Answer):
    """A note that matches a query."""

    note: Note
    score: float
    snippet: str
    own: bool
    """Whether the note belongs to the asking session."""

    _reads = {"note": _a.one(Note)}


@dataclass(frozen=True, slots=True, repr=False)
class NoteWritten(_a.Answer):
    """The answer to ``write_note``."""

    id: str | None
    """The id of the note; ``None`` if the write only removed notes."""
    action: Literal["created", "replaced", "unchanged", "deleted", "quarantined"]
    """The result of the write."""
    digest: str | None
    """The version of the note; ``None`` if no note was stored."""
    owner: str
    """The root session that owns the note."""
    scope: str
    """The scope of the note."""
    cleared: int
    """The number of removed notes."""
    verdict: Literal["allow", "flag", "quarantine", "block"]
    """The verdict of the scan."""
    rules: tuple[str, ...]
    """The rules of the scan that matched."""
    held_as: str | None
    """The name of the draft under ``rejected/`` that contains the quarantined note."""
    commit: Commit

    _keys = {"held_as": "held", "commit": "$commit"}

    _reads = {"commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class NotStored(_a.Answer):
    """An entry that was not stored."""

    index: int
    """The index of the entry in the call, from 0."""
    verdict: Literal["allow", "flag", "quarantine", "block"]
    """The verdict of the scan."""
    rules: tuple[str, ...]
    """The rules of the scan that match the text."""

    _keys = {"index": "place"}


@dataclass(frozen=True, slots=True, repr=False)
class Appended(_a.Answer):
    """The answer to ``append``."""

    scope: str
    root_session: str
    ids: tuple[str, ...]
    not_stored: Table[NotStored]
    flagged: int
    unchanged: int
    held_as: tuple[str, ...]
    commit: Commit

    _reads = {"not_stored": _a.rows(NotStored), "commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Shown(_a.Answer):
    """A record in the form that the envelope shows: invisible characters are escaped, and the text is cut to its
    limit. JSON omits the text, because the text of the envelope contains it.
    """

    id: str
    """The id of the item."""
    section: Literal[
        "project_rules", "key_decisions", "persistent_memory", "session_snapshot", "session_notes", "subagent_work",
        "files_in_play", "active_tasks", "unresolved_errors", "git_state", "quarantine", "last_request"
    ]
    """The section that contains the record."""
    trust: Origin
    """The origin class of the item."""
    title: str
    """The titles of the item from the top down; empty if there are none."""
    flags: str
    """The rules of the scan that matched the text; empty if no rule matched."""
    source: str
    """The source of the item; empty if unknown."""
    time: str
    """The time when the item was created, for example ``2026-08-21T10:00:00Z``; empty if unknown."""


@dataclass(frozen=True, slots=True, repr=False)
class Envelope(_a.EnvelopeMethods):
    """The text for a prompt. ``str(envelope)`` is the text."""

    text: str
    """The text for the prompt; empty if there are no records. Never put it into a message with the role ``system``."""
    shown: Table[Shown]
    """The records in the text, in order."""
    root: str
    """The root of the state that the envelope shows."""
    tokens: int
    """The size of the text, in tokens."""
    left_out: int
    """The number of items that the envelope does not show."""

    _keys = {"left_out": "$left_out"}

    _reads = {"shown": _a.rows(Shown)}


@dataclass(frozen=True, slots=True, repr=False)
class Checked(_a.Answer):
    """The result of one check."""

    check: str
    """The name of the check."""
    passed: bool
    """Whether the change passes the check."""
    why: str
    """The reason for the failure; empty if the change passes."""
    ids: tuple[str, ...]
    """The ids of the objects that fail the check, at most 20."""
    ids_total: int
    """The number of objects that fail the check."""
    advice: str
    """Advice on how to correct the change; empty if the change passes."""


@dataclass(frozen=True, slots=True, repr=False)
class Report(_a.ReportMethods):
    """The results of the checks of a change. True if the change passed all of them."""

    passed: bool
    added: int
    """The number of ids that only the newer state contains."""
    changed: int
    """The number of ids that have different versions in the two states."""
    removed: int
    """The number of ids that only the older state contains."""
    checks: Table[Checked]
    """The results of the checks. The reason and the advice are empty if a check passed."""
    text: str
    """The report for people."""

    _reads = {"checks": _a.rows(Checked)}


@dataclass(frozen=True, slots=True, repr=False)
class Quarantined(_a.Answer):
    """A quarantined change."""

    name: str
    """The name of the change, for example ``rejected/17``."""
    reason: str | None
    """The reason why the change was quarantined."""
    time: datetime
    """The time of the quarantine."""
    actor: str | None
    """The name of the writer of the change."""
    session: str | None
    """The session of the writer of the change."""
    ids: tuple[str, ...]
    """The ids that the change affects in the scopes of the reach, at most 20."""
    ids_total: int
    """The number of ids that the change affects, in all scopes."""
    trust: Origin | None
    """The class of the first text. ``None`` if its objects are not readable."""
    preview: str
    """The beginning of the first text, on one line. Secrets are redacted, and invisible characters are escaped."""
    withheld: bool
    """Whether an answer withholds the preview, because it is untrusted and the caller did not ask for untrusted
    texts.
    """

    _reads = {"time": _a.time}


@dataclass(frozen=True, slots=True, repr=False)
class HiddenItem(_a.Answer):
    """An item that a reviewed version would hide."""

    id: str
    """The id of the item."""
    trust: Origin
    """The origin class of the item."""
    text: str
    """The text of the item."""


@dataclass(frozen=True, slots=True, repr=False)
class ActingField(_a.Answer):
    """A field that takes effect on its own."""

    field: str
    """The name of the field or attribute."""
    value: str
    """The value of the field."""
    hides: Table[HiddenItem]
    """The items that the field would hide."""

    _reads = {"value": _a.json_text, "hides": _a.rows(HiddenItem)}


@dataclass(frozen=True, slots=True, repr=False)
class Review(_a.Answer):
    """Everything of a version that takes effect. Secrets are markers, and invisible characters are written out."""

    id: str
    """The id of the object."""
    digest: str
    """The reviewed version. ``promote`` promotes only this version."""
    kind: str
    """The kind of the object."""
    scope: str
    """The scope of the object."""
    trust: Origin
    """The origin class of the version."""
    flags: tuple[str, ...]
    """The rules of the scan that the version matches."""
    text: str
    """The whole text, below the title if the object has one."""
    acts: Table[ActingField]
    """The fields that act on their own."""
    invisible: int
    """The number of invisible characters that the text and the fields write out."""

    _reads = {"acts": _a.rows(ActingField)}


@dataclass(frozen=True, slots=True, repr=False)
class Promoted(_a.Answer):
    """The result of a promotion."""

    id: str
    """The id of the item."""
    digest: str
    """The digest of the promoted version."""
    promoted: str
    """The version that the person reviewed."""
    old: Origin
    """The class of the item before the promotion."""
    new: Origin
    """The class of the item after the promotion."""
    dropped: tuple[str, ...]
    """The acting fields of the reviewed version that the promoted version does not have."""
    commit: Commit

    _keys = {"old": "from", "new": "to", "commit": "$commit"}

    _reads = {"commit": _a.one(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Move(_a.Answer):
    """An item that moved one level down."""

    id: str
    """The id of the item."""
    old: Literal["full", "summary", "keywords", "gone"]
    """The level of the item before the move."""
    new: Literal["full", "summary", "keywords", "gone"]
    """The level of the item after the move."""
    original: str
    """The version with the full text, which ``unforget`` restores."""
    chars_before: int
    """The number of characters of the item's text before the move."""
    chars_after: int
    """The number of characters of the item's text after the move; 0 if the item is removed."""

    _keys = {"old": "from", "new": "to"}


@dataclass(frozen=True, slots=True, repr=False)
class Decayed(_a.Answer):
    """The result of a decay pass."""

    now: datetime
    """The current time that was used for computing ages."""
    items: int
    """The number of items that were read."""
    moves: Table[Move]
    """The moves of items, or the planned moves of a dry run."""
    commits: Table[Commit]
    warning: str | None

    _keys = {"commits": "$commits"}

    _reads = {"now": _a.time, "moves": _a.rows(Move), "commits": _a.rows(Commit)}


@dataclass(frozen=True, slots=True, repr=False)
class Reason(_a.ReasonMethods):
    """One line of an explanation."""

    name: str
    """The short name of the signal."""
    meaning: str
    """The description of the signal."""
    value: float
    """The value of the signal."""
    weight: float
    """The weight of the signal. The score is the sum of values times weights."""


@dataclass(frozen=True, slots=True, repr=False)
class Hit(_a.HitMethods):
    """A hit of a recall."""

    id: str
    """The id of the item."""
    kind: str
    """The kind of the item."""
    scope: str
    """The scope of the item."""
    score: float
    """How well the hit answers the question, from 0 to 1. Scores of different answers can be compared. The best hit
    has the confidence of the answer; the other hits are in proportion to it, in the order of their ranks.
    """
    weak: bool
    """Whether the hit is no good match: its score is below 0.35. It may share only a common word with the question."""
    confidence: float
    """The confidence of this hit alone, from 0 to 1: how much of the question its words contain."""
    titles: tuple[str, ...]
    """The titles of the item: those above it from the top down, then its own."""
    snippet: str
    """The part of the text around the match, with markers instead of secrets."""
    time: datetime
    """The event time of the item. Without an event time, the time of the first commit with the id of the item."""
    trust: Origin
    """The origin class of the item, such as a person, a model, a tool or a document. ``history`` returns the name of
    each writer.
    """
    flags: tuple[str, ...]
    """The rules of the scan that the text matched when it was written, or matches now. ``merge-conflict``: a merge
    left a conflict about the item open.
    """
    tokens: int
    """The size of the text in tokens of about four characters."""
    why: tuple[str, ...]
    """The reasons for the rank of the hit in words, the most important first."""
    superseded_by: tuple[str, ...]
    """The ids of the items in the searched scopes that supersede this item."""
    speaker: str | None
    """The speaker of the text, if the item names one. The speaker can differ from the writer."""
    session: str | None
    """The session in which the text was said, if the item names one."""
    digest: str
    """The digest of the version of the item."""
    text: str | None
    """The whole text with markers instead of secrets, if ``full`` is set."""
    reasons: Table[Reason] | None
    """All reasons for the score with their values, if ``explain`` is set."""

    _reads = {"time": _a.time, "reasons": _a.rows(Reason)}


@dataclass(frozen=True, slots=True, repr=False)
class VectorCounts(_a.Answer):
    """How many texts of a state have vectors."""

    model: str
    """The model that computed the vectors."""
    embedded: int
    """The number of texts with a vector, or for which the model has none."""
    pending: int
    """The number of texts without a vector yet. They are found by words only."""


@dataclass(frozen=True, slots=True, repr=False)
class Recalled(_a.RecalledMethods):
    """The answer to a recall: a sequence of hits, the best first."""

    hits: Table[Hit]
    """The hits, best first. For an empty question, the summaries in order of time."""
    no_good_match: bool
    """Whether no hit is a good match: the question has words, and every hit is weak."""
    tokens: int
    """The total size of the texts of the hits, in tokens."""
    skipped: int
    """The number of ranked hits that did not fit into the budget."""
    root: str
    """The root of the state that was searched."""
    scopes: tuple[str, ...] | None
    """The searched scopes. There is no list if all scopes were searched."""
    index: Literal["at_hand", "followed", "built"] | None
    """The way in which the index was prepared. Summaries need no index, so they have no way."""
    vectors: VectorCounts | None
    """How many texts of the state have vectors. There are none without a model, and for summaries."""
    left_out: int
    """The number of matches that are left out because they are untrusted."""
    terms: tuple[str, ...]
    """The words that the recall searched for."""
    elsewhere: dict[str, int]
    """If there is no good match: the other scopes that have matches, each with the number of matches."""

    _keys = {"left_out": "$left_out", "elsewhere": "$elsewhere"}

    _reads = {"hits": _a.rows(Hit), "vectors": _a.one(VectorCounts)}


@dataclass(frozen=True, slots=True, repr=False)
class BisectedAnswer(_a.Answer):
    """The commit that changed the first hit of a recall."""

    found: Bisected
    before: Hit | None
    after: Hit | None

    _reads = {"found": _a.one(Bisected), "before": _a.one(Hit), "after": _a.one(Hit)}
