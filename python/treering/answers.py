"""The answers of the calls, as frozen dataclasses.

Each answer has ``to_dict()``, which converts it to values that ``json.dumps`` accepts, as in the JSON of the program: a time
becomes a text in RFC 3339, and a float that JSON cannot express becomes ``{"$float": "nan"}``. A notebook shows an answer as
a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sized
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

from ._times import to_text
from ._treering import Committed, Draft, Hit, Object, View
from .errors import HandleError
from .table import Table, html_of

__all__ = [
    "Alike",
    "Appended",
    "BisectedAnswer",
    "BlamedPart",
    "Bisected",
    "Change",
    "Checked",
    "Commit",
    "Committed",
    "Decayed",
    "Envelope",
    "ErasedRecord",
    "ErasedReport",
    "Finding",
    "Forgot",
    "Forgotten",
    "GcReport",
    "HeadMoved",
    "HiddenItem",
    "HistoryEntry",
    "KeptObject",
    "Move",
    "Note",
    "NoteFound",
    "NoteWritten",
    "NotStored",
    "Origin",
    "Promoted",
    "Quarantined",
    "RefusedItem",
    "Remembered",
    "RememberedMany",
    "Report",
    "Restored",
    "Reverted",
    "RevertedObject",
    "Review",
    "RollbackPreview",
    "ActingField",
    "Shown",
    "Snapshot",
    "Stats",
    "VerifyReport",
]

Origin = Literal["direct_user", "host", "model", "tool_internal", "tool_external", "document", "import"]
"""The class of trust of a writer or an object, most trusted first. The last three are untrusted."""


_REPR_CHARS_MAX = 120
_TEXT_CHARS_MAX = 40
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class _Answer:
    """The base of all answers."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer as a dict that ``json.dumps`` accepts. Answers inside it become dicts, too."""
        return {name: _plain(getattr(self, name)) for name in _names(self)}

    def __repr__(self) -> str:
        found = ((name, getattr(self, name)) for name in _names(self))
        text = ", ".join(f"{name}={_short(value)}" for name, value in found if value is not None and value != ())
        name = type(self).__name__
        room = _REPR_CHARS_MAX - len(name) - 2
        return f"{name}({text if len(text) <= room else text[: room - 1] + '…'})"

    def _repr_html_(self) -> str:
        return html_of(self)


def _names(answer: _Answer) -> list[str]:
    """Returns the names of the public fields."""
    names: Iterable[str] = getattr(answer, "__dataclass_fields__")
    return [name for name in names if not name.startswith("_")]


def _plain(value: Any) -> Any:
    if isinstance(value, (_Answer, Committed, Hit, Object)):
        return value.to_dict()
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in cast("Iterable[Any]", value)]
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, dict):
        plain = {name: _plain(one) for name, one in cast("dict[str, Any]", value).items()}
        is_marked = len(plain) == 1 and next(iter(plain)).startswith("$")
        return {"$map": plain} if is_marked else plain
    return value


def _short(value: Any) -> str:
    """Returns a value for ``repr``: the start of a text or digest, the number of rows, the name of an answer."""
    if isinstance(value, str):
        if _DIGEST.match(value):
            return f"{value[:8]}…"
        return repr(value if len(value) <= _TEXT_CHARS_MAX else value[: _TEXT_CHARS_MAX - 1] + "…")
    if isinstance(value, Commit):
        return f"Commit(seq={value.seq}, op={value.op!r})"
    if isinstance(value, (_Answer, Hit, Object)):
        return f"{type(value).__name__}(…)"
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, tuple):
        return f"<{len(cast('Sized', value))} rows>"
    return _short(str(cast("object", value))) if isinstance(value, (list, dict)) else repr(value)


# -- the engine


@dataclass(frozen=True, slots=True, repr=False)
class Commit(_Answer):
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


@dataclass(frozen=True, slots=True, repr=False)
class RollbackPreview(_Answer):
    """The result that a rollback would have."""

    target: Commit
    """The commit whose state comes back."""
    added: int
    changed: int
    removed: int


class _Stated(_Answer):
    """The base of a change. Its states are no field, so that ``dataclasses.asdict`` does not copy them."""

    __slots__ = ("_states",)
    _states: tuple[View, View | Draft] | None


@dataclass(frozen=True, slots=True, repr=False)
class Change(_Stated):
    """One id that differs between two states."""

    id: str
    kind: Literal["added", "changed", "removed"]
    old: str | None
    """The digest of the version in the older state."""
    new: str | None
    """The digest of the version in the newer state."""
    erased: bool
    """Whether the versions were erased, so that only their digests are known."""
    _given: InitVar[tuple[View, View | Draft] | None] = field(default=None, kw_only=True)

    def __post_init__(self, _given: tuple[View, View | Draft] | None) -> None:
        object.__setattr__(self, "_states", _given)

    @property
    def old_text(self) -> str | None:
        """The text in the older state, read when it is asked for; ``None`` if there is none."""
        return self._text(0)

    @property
    def new_text(self) -> str | None:
        """The text in the newer state, read when it is asked for; ``None`` if there is none.

        The change of a draft has it only until the draft is finished.
        """
        return self._text(1)

    def _text(self, state: int) -> str | None:
        if self._states is None:
            raise HandleError("the change was made without a store, so its texts are unknown", "closed")
        found = self._states[state].get(self.id)
        return None if found is None else found.content

    def __copy__(self) -> Change:
        return self

    def __deepcopy__(self, memo: object) -> Change:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Change, (self.id, self.kind, self.old, self.new, self.erased)


@dataclass(frozen=True, slots=True, repr=False)
class HistoryEntry(_Answer):
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


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot(_Answer):
    """A name for a state."""

    name: str
    index: int | None
    """The number of an automatic snapshot in its lane: 0 is the newest."""
    root: str
    commit: str
    time: datetime
    seq: int
    lane: str | None
    actor: str | None
    session: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, repr=False)
class HeadMoved(_Answer):
    """A move of the head, which ``watch`` reports."""

    commit: str
    root: str
    seq: int
    op: str


@dataclass(frozen=True, slots=True, repr=False)
class BlamedPart(_Answer):
    """A part of an object, with the change that wrote it."""

    part: str
    """The name of the part: ``"kind"``, ``"attr:todo"`` or ``"line:3"``."""
    value: Any
    change: HistoryEntry
    trust: Origin


@dataclass(frozen=True, slots=True, repr=False)
class Bisected(_Answer):
    """The first bad commit that ``bisect`` found."""

    first_bad: Commit
    last_good: Commit
    steps: int
    """The number of states that were tested."""
    thinned: int
    """The number of thinned commits between the two; one of them may have made the change."""


@dataclass(frozen=True, slots=True, repr=False)
class RevertedObject(_Answer):
    """An object that a revert changes."""

    id: str
    old: str | None
    """The version before the revert; ``None`` if the object was absent."""
    new: str | None
    """The version after the revert; ``None`` if the object is removed."""
    gone_with: str | None
    thinned: bool


@dataclass(frozen=True, slots=True, repr=False)
class KeptObject(_Answer):
    """An object that stays as it is because of later work of others."""

    id: str
    because: Literal["changed", "below", "no_parent", "other"]
    other: str | None
    """The object below it, or the missing parent."""
    by: Commit | None
    """The commit of the later work; ``None`` if that commit was thinned."""


@dataclass(frozen=True, slots=True, repr=False)
class Reverted(_Answer):
    """The result of a revert, or of its preview."""

    commit: Commit
    """The commit of the revert, or the head if nothing changed."""
    changed: bool
    selected: int
    """The number of selected commits."""
    reverted: Table[RevertedObject]
    kept: Table[KeptObject]
    derived: tuple[str, ...]
    """The objects whose present version is derived from a version of the selected commits."""


@dataclass(frozen=True, slots=True, repr=False)
class Finding(_Answer):
    """A fault that ``verify`` found in the files."""

    severity: Literal["damage", "unsure", "derived", "harmless"]
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class VerifyReport(_Answer):
    """The result of ``verify``."""

    ok: bool
    """Whether all acknowledged data is present and undamaged."""
    commits: int
    versions: int
    bytes: int
    erased: int
    lost: int
    thinned: int
    derived: Table[Finding]
    """Damage that loses no acknowledged data."""
    damage: Table[Finding]
    """Damage to acknowledged data."""

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, slots=True, repr=False)
class GcReport(_Answer):
    """The result of a garbage collection, or of its preview."""

    kept: int
    thinned: int
    versions_before: int
    versions: int
    bytes_before: int
    bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class ErasedRecord(_Answer):
    """A record that was erased."""

    kind: str
    digest: str
    id: str | None
    bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class ErasedReport(_Answer):
    """The result of an erasure, or of its preview."""

    records: Table[ErasedRecord]
    unlinked: tuple[str, ...]
    """The ids that the erasure removed from the newest state."""
    holders: tuple[str, ...]
    """Other objects that lost a shared content or an earlier version."""
    commit: Commit | None
    """``None`` for a preview."""


@dataclass(frozen=True, slots=True, repr=False)
class Stats(_Answer):
    """The sizes of a store."""

    objects: int
    history: int
    commits: int
    thinned: int
    erased: int
    snapshots: int
    segments: int
    log_bytes: int
    disk_bytes: int
    live_bytes: int


# -- the agent


@dataclass(frozen=True, slots=True, repr=False)
class Alike(_Answer):
    """A stored item that is similar to a new item."""

    id: str
    similarity: float
    trust: Origin
    flags: tuple[str, ...]
    text: str | None
    """``None`` if the text is withheld because it is untrusted."""


@dataclass(frozen=True, slots=True, repr=False)
class Remembered(_Answer):
    """The answer to ``remember``. Look at ``status``: a quarantined item is not in the memory."""

    id: str
    status: Literal[
        "created", "updated", "unchanged", "duplicate", "merged", "superseded", "quarantined", "disabled"
    ]
    scope: str
    text: str
    """The stored text, without secrets and invisible characters."""
    digest: str | None
    commit: Commit
    verdict: Literal["allow", "flag", "quarantine", "block"]
    rules: tuple[str, ...]
    """The rules of the scan that matched."""
    redacted: bool
    """Whether secrets were redacted."""
    duplicates: Table[Alike]
    conflicts: Table[Alike]
    """The items that contradict the new item."""
    held_as: str | None
    """The name of the quarantined change, for ``release`` and ``discard``."""


@dataclass(frozen=True, slots=True, repr=False)
class RefusedItem(_Answer):
    """An item that ``remember_many`` did not store."""

    index: int
    id: str | None
    verdict: str
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class RememberedMany(_Answer):
    """The answer to ``remember_many``."""

    stored: int
    unchanged: int
    duplicates: int
    flagged: int
    refused: Table[RefusedItem]
    held: tuple[str, ...]
    commit: Commit


@dataclass(frozen=True, slots=True, repr=False)
class Forgot(_Answer):
    """The answer to ``forget``."""

    items: Table[Object]
    """The forgotten items, in their last version."""
    pinned: tuple[str, ...]
    """The pinned items that met the conditions and stay."""
    others: tuple[str, ...]
    """The given ids whose items fail another condition and stay."""
    commit: Commit | None


@dataclass(frozen=True, slots=True, repr=False)
class Forgotten(_Answer):
    """An item that was forgotten and not restored."""

    item: Object
    version: str
    commit: Commit
    reason: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Restored(_Answer):
    """The answer to ``unforget``."""

    items: Table[Object]
    unchanged: tuple[str, ...]
    commit: Commit | None


@dataclass(frozen=True, slots=True, repr=False)
class Note(_Answer):
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


@dataclass(frozen=True, slots=True, repr=False)
class NoteFound(_Answer):
    """A note that matches a query."""

    note: Note
    score: float
    snippet: str
    own: bool
    """Whether the note belongs to the asking session."""


@dataclass(frozen=True, slots=True, repr=False)
class NoteWritten(_Answer):
    """The answer to ``write_note``."""

    id: str | None
    action: Literal["created", "replaced", "unchanged", "deleted", "quarantined"]
    digest: str | None
    owner: str
    scope: str
    cleared: int
    verdict: Literal["allow", "flag", "quarantine", "block"]
    rules: tuple[str, ...]
    held_as: str | None
    commit: Commit


@dataclass(frozen=True, slots=True, repr=False)
class NotStored(_Answer):
    """An entry that was not stored."""

    index: int
    verdict: Literal["allow", "flag", "quarantine", "block"]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Appended(_Answer):
    """The answer to ``append``."""

    scope: str
    root_session: str
    ids: tuple[str, ...]
    not_stored: Table[NotStored]
    flagged: int
    held_as: str | None
    commit: Commit


@dataclass(frozen=True, slots=True, repr=False)
class Shown(_Answer):
    """An item in an envelope."""

    id: str
    section: str
    trust: Origin
    title: str
    source: str


@dataclass(frozen=True, slots=True, repr=False)
class Envelope(_Answer):
    """The text for a prompt. ``str(envelope)`` is the text."""

    text: str
    """Never put it into a message with the role ``system``."""
    tokens: int
    root: str
    shown: Table[Shown]
    left_out: int
    """The number of items that the envelope does not show."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, repr=False)
class Checked(_Answer):
    """The result of one check."""

    check: str
    passed: bool
    why: str
    ids: tuple[str, ...]
    advice: str


@dataclass(frozen=True, slots=True, repr=False)
class Report(_Answer):
    """The results of the checks of a change. True if the change passed all of them."""

    passed: bool
    checks: Table[Checked]
    added: int
    changed: int
    removed: int
    text: str
    """The report for people."""

    @property
    def failed(self) -> Table[Checked]:
        """The failed checks."""
        return Table(check for check in self.checks if not check.passed)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, repr=False)
class Quarantined(_Answer):
    """A change that waits for a person."""

    name: str
    """The name for ``release`` and ``discard``."""
    reason: str | None
    time: datetime
    actor: str | None
    session: str | None
    ids: tuple[str, ...]
    ids_total: int
    trust: Origin | None
    preview: str
    withheld: bool


@dataclass(frozen=True, slots=True, repr=False)
class HiddenItem(_Answer):
    """An item that a reviewed version would hide."""

    id: str
    trust: Origin
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class ActingField(_Answer):
    """A field that takes effect on its own."""

    field: str
    value: str
    """The value as JSON."""
    hides: Table[HiddenItem]


@dataclass(frozen=True, slots=True, repr=False)
class Review(_Answer):
    """The fields that take effect if a person promotes an item."""

    id: str
    digest: str
    kind: str
    scope: str
    trust: Origin
    flags: tuple[str, ...]
    text: str
    acts: Table[ActingField]
    invisible: int


@dataclass(frozen=True, slots=True, repr=False)
class Promoted(_Answer):
    """The result of a promotion."""

    digest: str
    old: Origin
    new: Origin
    dropped: tuple[str, ...]
    commit: Commit


@dataclass(frozen=True, slots=True, repr=False)
class Move(_Answer):
    """An item that decay moved one level down."""

    id: str
    old: Literal["full", "summary", "keywords", "gone"]
    new: Literal["full", "summary", "keywords", "gone"]
    original: str
    """The version with the full text, which ``unforget`` restores."""
    chars_before: int
    chars_after: int


@dataclass(frozen=True, slots=True, repr=False)
class Decayed(_Answer):
    """The result of a decay pass."""

    now: datetime
    items: int
    moves: Table[Move]
    commits: tuple[Commit, ...]
    warning: str | None


@dataclass(frozen=True, slots=True, repr=False)
class BisectedAnswer(_Answer):
    """The commit that changed the first hit of a recall."""

    found: Bisected
    before: Hit | None
    after: Hit | None
