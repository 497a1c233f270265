"""Refuses the import in a subinterpreter, for which the native module is not made: the process would hang at its exit."""

from __future__ import annotations

import importlib
from typing import Any


def _is_main() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        return bool(module.get_current() == module.get_main())
    return True


if not _is_main():
    raise ImportError("treering cannot be imported in a subinterpreter: use threads or processes")
