"""Tuples that a notebook shows as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, TypeVar, cast

__all__ = ["Table"]

T_co = TypeVar("T_co", covariant=True)

_ROWS_MAX = 100
_REPR_ROWS_MAX = 10
_CHARS_MAX = 160


class Table(tuple[T_co, ...]):
    """A tuple of rows. A notebook shows it as a table with one line for each row."""

    __slots__ = ()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Returns each row as a dict, for example for ``pandas.DataFrame``."""
        return [_fields(row) for row in self]

    def __repr__(self) -> str:
        if len(self) <= _REPR_ROWS_MAX:
            return super().__repr__()
        first = ", ".join(map(repr, self[:_REPR_ROWS_MAX]))
        return f"({first}, … {len(self) - _REPR_ROWS_MAX} more)"

    def _repr_html_(self) -> str:
        return _html(self)


def _fields(row: object) -> dict[str, Any]:
    to_dict = getattr(row, "to_dict", None)
    if callable(to_dict):
        return cast("dict[str, Any]", to_dict())
    return {"value": row}


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, tuple, set, frozenset)):
        text = ", ".join(map(str, cast("Iterable[object]", value)))
    elif isinstance(value, float):
        text = f"{value:.3g}"
    else:
        text = str(value)
    if len(text) > _CHARS_MAX:
        text = text[:_CHARS_MAX] + "…"
    return escape(text)


def _html(rows: Sequence[object]) -> str:
    """Renders rows as an HTML table. Leaves out the columns that are empty in every row."""
    shown = [_fields(row) for row in rows[:_ROWS_MAX]]
    columns = list(dict.fromkeys(name for row in shown for name in row))
    filled = [name for name in columns if any(row.get(name) not in (None, (), [], {}, "") for row in shown)]
    head = "".join(f"<th>{escape(name)}</th>" for name in filled)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in filled) + "</tr>" for row in shown
    )
    more = f"<caption>{len(rows)} rows, the first {len(shown)} shown</caption>" if len(rows) > len(shown) else ""
    return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_of(row: object) -> str:
    """Renders one row as a table of names and values. The native classes call this function."""
    lines = "".join(
        f"<tr><th>{escape(name)}</th><td>{_cell(value)}</td></tr>"
        for name, value in _fields(row).items()
        if value not in (None, (), [], {}, "")
    )
    return f"<table><tbody>{lines}</tbody></table>"
