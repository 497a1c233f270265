"""Conversion of items to lines of JSON. The native module calls this function."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import cast

from .errors import InvalidInputError


def lines(items: Iterable[object]) -> list[str]:
    """Returns each item as one line of JSON: a text, or a mapping with ``text``."""
    if isinstance(items, (str, bytes, Mapping)):
        raise TypeError("items must be an iterable of str or dict")
    return [_line(item) for item in items]


def _line(item: object) -> str:
    if isinstance(item, str):
        return json.dumps({"text": item})
    if isinstance(item, Mapping):
        return json.dumps(dict(cast("Mapping[str, object]", item)), default=_plain)
    raise TypeError(f"an item must be a str or a dict, not {type(item).__name__}")


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInputError("a time needs a time zone, for example datetime.now(timezone.utc)", "invalid_input")
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be stored")
