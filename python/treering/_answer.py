"""The base of the answers, which are in ``answers.py``, and the methods that some of them have.

``generate.py`` gives a class ``X`` of ``answers.py`` the base ``XMethods`` if this file has one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, overload

from ._times import from_text, to_text
from ._treering import Committed, Draft, Object, View
from .errors import HandleError
from .table import Table, html_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from .answers import Checked, Hit

_REPR_CHARS_MAX = 120
_TEXT_CHARS_MAX = 40
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_TRUSTED = ("direct_user", "host", "model", "tool_internal")

_A = TypeVar("_A", bound="Answer")
Reader = Callable[[Any], Any]


class Answer:
    """The base of all answers."""

    __slots__ = ()

    _keys: ClassVar[dict[str, str]] = {}
    """The fields that have another name in the answer of the library."""
    _reads: ClassVar[dict[str, Reader]] = {}
    """The functions that read the values of fields. Other values are used as they are."""

    @classmethod
    def _of(cls, given: dict[str, Any]) -> Self:
        """Makes the answer from the fields of the library's answer. The native module calls this function."""
        return cls(*[given.get(key) if read is None else read(given.get(key)) for key, read in _plan(cls)])

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer as a dict that ``json.dumps`` accepts. Answers inside it become dicts, too."""
        return {name: _plain(getattr(self, name)) for name in _names(self)}

    def __repr__(self) -> str:
        found = ((name, getattr(self, name)) for name in _names(self))
        text = ", ".join(f"{name}={_short(value)}" for name, value in found if value is not None and value != ())
        name = type(self).__name__
        room = _REPR_CHARS_MAX - len(name) - 2
        return f"{name}({text if len(text) <= room else text[: room - 1] + '…'})"

    def _brief(self) -> str:
        """Returns the ``repr`` inside the ``repr`` of another answer."""
        return f"{type(self).__name__}(…)"

    def _repr_html_(self) -> str:
        return html_of(self)


def _names(answer: Answer | type[Answer]) -> Iterable[str]:
    """Returns the names of the fields."""
    names: Iterable[str] = getattr(answer, "__dataclass_fields__")
    return names


def _plan(kind: type[Answer]) -> list[tuple[str, Reader | None]]:
    """Returns the name in the library's answer and the function of each field."""
    if kind not in _PLANS:
        keys, reads = kind._keys, kind._reads  # pyright: ignore[reportPrivateUsage]
        _PLANS[kind] = [(keys.get(name, name), reads.get(name)) for name in _names(kind)]
    return _PLANS[kind]


_PLANS: dict[type[Answer], list[tuple[str, Reader | None]]] = {}


def _plain(value: Any) -> Any:
    if isinstance(value, (Answer, Committed, Object)):
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
    if isinstance(value, Answer):
        return value._brief()  # pyright: ignore[reportPrivateUsage]
    if isinstance(value, Object):
        return "Object(…)"
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, tuple):
        return f"<{len(cast('Sized', value))} rows>"
    return _short(str(cast("object", value))) if isinstance(value, (list, dict)) else repr(value)


# -- functions that read the fields


def one(kind: type[_A]) -> Callable[[dict[str, Any] | _A | None], _A | None]:
    """Returns a function that reads an answer inside an answer."""
    make = kind._of  # pyright: ignore[reportPrivateUsage]
    return lambda value: make(value) if isinstance(value, dict) else value


def rows(kind: type[_A]) -> Callable[[Iterable[dict[str, Any]] | None], Table[_A] | None]:
    """Returns a function that reads a list of answers."""
    make = kind._of  # pyright: ignore[reportPrivateUsage]
    return lambda values: None if values is None else Table(map(make, values))


def time(value: str | None) -> datetime | None:
    """Reads a time."""
    return None if value is None else from_text(value)


def json_text(value: Any) -> str:
    """Reads any value as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# -- the methods of some answers


class _Itself:
    """The base of answers that are their own copies, and that no pickle stores."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class CommitMethods(Answer):
    __slots__ = ()
    seq: int
    op: str

    def _brief(self) -> str:
        return f"Commit(seq={self.seq}, op={self.op!r})"


class ChangeMethods(_Itself, Answer):
    """Its states are no field, so that ``dataclasses.asdict`` does not copy them."""

    __slots__ = ("_states",)
    _states: tuple[View, View | Draft]
    id: str
    kind: Any
    old: str | None
    new: str | None
    erased: bool

    def _between(self, states: tuple[View, View | Draft]) -> Self:
        object.__setattr__(self, "_states", states)
        return self

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
        if not hasattr(self, "_states"):
            raise HandleError("the change was made without a store, so its texts are unknown", "closed")
        found = self._states[state].get(self.id)
        return None if found is None else found.content

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.id, self.kind, self.old, self.new, self.erased)


class HitMethods(_Itself, Answer):
    __slots__ = ()
    id: str
    score: float
    snippet: str
    text: str | None
    trust: Any

    @property
    def trusted(self) -> bool:
        """Whether the class is one of the four trusted ones."""
        return self.trust in _TRUSTED

    def __str__(self) -> str:
        return self.snippet if self.text is None else self.text

    def __repr__(self) -> str:
        id, snippet = (text if len(text) <= room else text[:room] + "…" for text, room in ((self.id, 40), (self.snippet, 60)))
        return f"Hit({id!r}, {self.score:.2f}, {snippet!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Hit cannot be pickled: pickle its to_dict()")


class ReasonMethods(Answer):
    """A reason is a row of four values, too."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(list(_names(self)))

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in _names(self))


class RecalledMethods(_Itself, Answer):
    __slots__ = ()
    hits: Table[Hit]

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int, /) -> Hit: ...
    @overload
    def __getitem__(self, index: slice, /) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice, /) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __repr__(self) -> str:
        return f"Recalled({self.hits!r})"

    def _repr_html_(self) -> str:
        return self.hits._repr_html_()  # pyright: ignore[reportPrivateUsage]


class VerifyReportMethods(Answer):
    __slots__ = ()
    ok: bool

    def __bool__(self) -> bool:
        return self.ok


class EnvelopeMethods(Answer):
    __slots__ = ()
    text: str

    def __str__(self) -> str:
        return self.text


class ReportMethods(EnvelopeMethods):
    __slots__ = ()
    passed: bool
    checks: Table[Checked]

    @property
    def failed(self) -> Table[Checked]:
        """The failed checks."""
        return Table(check for check in self.checks if not check.passed)

    def __bool__(self) -> bool:
        return self.passed
