"""Treering: the memory of a long-running AI agent, with undo.

    import treering

    agent = treering.open("memory")
    agent.remember("The office is in Oslo")
    print(agent.recall("where is the office")[0].snippet)
    agent.undo()

``open`` returns an ``Agent``: remember, recall, forget, notes, sessions, prompts and guarded turns. ``Memory`` is the engine
below it: objects by id, drafts, snapshots, rollback, history. Every error is a ``TreeringError``.
"""

from __future__ import annotations

import atexit as _atexit
import os as _os

from . import _interpreter as _interpreter  # first, because it may refuse the import
from . import answers as _answers
from . import errors as _errors
from ._treering import (
    Agent,
    Draft,
    Memory,
    Object,
    Objects,
    Proof,
    Remote,
    Store,
    View,
    Watch,
    Writer,
)
from ._treering import after_fork as _after_fork
from ._treering import clone as clone
from ._treering import close_all as _close_all
from ._treering import __VERSION__ as __version__
from .answers import *  # noqa: F403
from .errors import *  # noqa: F403
from .table import Table

__all__ = [
    "Agent",
    "Draft",
    "Memory",
    "Object",
    "Objects",
    "Proof",
    "Remote",
    "Store",
    "Table",
    "View",
    "Watch",
    "Writer",
    "__version__",
    "clone",
    "in_memory",
    "open",
]
__all__ += _answers.__all__
__all__ += _errors.__all__

open = Agent.open
"""Opens the memory of an agent in a folder, and creates it if there is none."""
in_memory = Agent.in_memory
"""Creates the memory of an agent that ends with the process, for tests."""

_atexit.register(_close_all)
_os.register_at_fork(after_in_child=_after_fork)
