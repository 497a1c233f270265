"""Conversion of times. The native module calls these functions."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from .errors import InvalidInputError

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST = datetime.min.replace(tzinfo=timezone.utc)
_LAST = datetime.max.replace(tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """Returns the time in UTC. A time outside the years 1 to 9999 becomes the nearest ``datetime``."""
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return _LAST if micros > 0 else _FIRST


def from_text(text: str) -> datetime:
    """Returns the time of a text as the library writes it. A time outside the years 1 to 9999 becomes the nearest one."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return _LAST if text.startswith("+") else _FIRST


def to_micros(time: object) -> int:
    """Returns the microseconds since 1970 of a ``datetime`` with a time zone."""
    if not isinstance(time, datetime):
        raise TypeError(f"a time must be a datetime or a str in RFC 3339, not {type(time).__name__}")
    if time.tzinfo is None or time.utcoffset() is None:
        raise InvalidInputError("a time needs a time zone, for example datetime.now(timezone.utc)", "invalid_input")
    return (time - _EPOCH) // _MICROSECOND


def to_text(time: datetime) -> str:
    """Returns the time in RFC 3339, as the JSON of the program has it."""
    return time.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
