"""The exceptions of Treering: one class for each kind of error.

The class decides what the caller does next; ``code`` identifies the exact case and never changes between releases.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "BusyError",
    "CheckError",
    "ConflictError",
    "CorruptError",
    "DeniedError",
    "HandleError",
    "InternalError",
    "InvalidInputError",
    "IoError",
    "NotFoundError",
    "PoisonedError",
    "TreeringError",
    "UnsupportedFormatError",
]


class TreeringError(Exception):
    """The base of every error of Treering."""

    code: str
    """The stable code in ``snake_case``, such as ``"other_lanes"``."""
    message: str
    """The sentence for people, without the hint."""
    hint: str | None
    """The next step, if there is one."""
    ids: tuple[str, ...]
    """The ids of the affected objects, or the names of the affected lanes, documents or drafts."""

    def __init__(
        self, message: str, code: str = "internal", hint: str | None = None, ids: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, code, hint, ids)
        self.message = message
        self.code = code
        self.hint = hint
        self.ids = tuple(ids)

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.message} [{self.code}]{hint}"


class NotFoundError(TreeringError, KeyError):
    """The named object, commit or file does not exist or was erased. Name another one."""


class InvalidInputError(TreeringError, ValueError):
    """The input breaks a rule or a limit. Correct the input."""


class ConflictError(TreeringError):
    """Another writer changed the state on which this work is based. Read the new head and try again."""


class DeniedError(TreeringError):
    """A policy refused the change. Correct the change before another try."""


class CheckError(TreeringError):
    """A check of the caller failed: it raised an exception, which is the ``__cause__``. Nothing was changed. Mend the check."""


class BusyError(TreeringError):
    """Another process holds the lock. Wait and try again."""


class CorruptError(TreeringError):
    """Stored bytes are damaged. Run ``verify``, then read with ``degraded=True`` or salvage."""


class UnsupportedFormatError(TreeringError):
    """A newer program wrote the store. Upgrade."""


class IoError(TreeringError):
    """A call of the operating system failed: a full or read-only disk, missing permission, a failing device."""


class PoisonedError(TreeringError):
    """An earlier write or sync failed, so the state of this handle is unknown. Open the store again."""


class InternalError(TreeringError):
    """A bug in Treering. Report it."""


class HandleError(TreeringError):
    """The handle cannot be used: it is closed (code ``closed``), it was opened in the parent process (code ``forked``),
    the draft was already committed or discarded (code ``finished``), or a signal handler uses a store while a call of the
    same thread waits (code ``in_signal_handler``)."""


_KINDS: Final[dict[str, type[TreeringError]]] = {
    "NotFound": NotFoundError,
    "InvalidInput": InvalidInputError,
    "Conflict": ConflictError,
    "Denied": DeniedError,
    "Busy": BusyError,
    "Corrupt": CorruptError,
    "UnsupportedFormat": UnsupportedFormatError,
    "Io": IoError,
    "Poisoned": PoisonedError,
    "Internal": InternalError,
    "Handle": HandleError,
}


_COMMAND: Final = re.compile(r"`|(?<![\w-])--[a-z]|TREERING_")
"""The marks of advice for the command line: quoted words, options and variables."""

_HINTS: Final[dict[str, str]] = {
    "ambiguous": "give more of the digest or name",
    "changed": "read it again; resolve(…, expected=DIGEST) drops a version that somebody wrote after the merge",
    "changed_since": "revert() takes back one commit or session, and keeps later work",
    "corrupt": "run verify(), then open with degraded=True to read what is intact",
    "has_children": "remove(id, recursive=True) removes the children, too",
    "name_taken": "choose another name, or free it with delete_snapshot() or drop_fork()",
    "no_conflict": "conflicts() lists the open conflicts",
    "no_fork": "forks() lists the forks",
    "no_place": "open the agent with project=…, session=… or actor=…",
    "no_store": "open with create=True to make a new store",
    "not_a_person": "give a writer such as Writer.person(…)",
    "nothing_to_redo": "the lane is that of the writer: give writer=…",
    "nothing_to_undo": "the lane is that of the writer: give writer=…",
    "other_lanes": "across_lanes=True also takes back the commits of these lanes; undo() takes back only the own newest commit",
    "shared": "everywhere=True erases the other versions, too",
    "unmerged": "merge() brings them in; unmerged=True drops the fork with them",
}
"""The next step in Python for a code whose hint in the library is for the command line."""


def make(kind: str, message: str, code: str, hint: str | None, ids: list[str]) -> TreeringError:
    """Makes the exception of a kind. The native module calls this function."""
    if hint is not None and _COMMAND.search(hint):
        hint = _HINTS.get(code)
    # A check belongs to the caller, so its fault is no kind of the library.
    found = CheckError if kind == "Check" else _KINDS.get(kind, InternalError)
    return found(message, code, hint, tuple(ids))
