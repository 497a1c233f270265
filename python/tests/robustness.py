"""10,000 random calls with good and bad arguments, on open and closed handles, with forks. Started by a test.

Only the documented exceptions may appear. The program prints what it saw, and exits with 0.
"""

from __future__ import annotations

import collections
import datetime
import math
import os
import random
import sys
import tempfile
from typing import Any

import treering

CALLS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
chosen = random.Random(int(sys.argv[1]))
EXPECTED = (treering.TreeringError, TypeError, ValueError, OverflowError, KeyError, IndexError, AttributeError)
endless: list[Any] = []
endless.append(endless)


class Odd:
    """An object whose every method fails."""

    def __str__(self) -> str:
        raise RuntimeError("odd")

    def __iter__(self) -> Any:
        raise ZeroDivisionError("odd")

    def __bool__(self) -> bool:
        raise RuntimeError("odd")


class Texts(str):
    """A subclass of str."""


def values() -> list[Any]:
    """Returns one of each kind of argument."""
    return [
        None, True, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**40, 0.0, -1.5, math.nan, math.inf,
        "", "a", "tea", "facts/a", "x" * 300, "a\nb", "\x00", "\ud800", "漢字", "@", "@-1", "seq:1", "snap:0",
        "all", "own", "global", "project", "0" * 64, "before", Texts("a"),
        b"a", bytearray(b"a"), [], ["a"], [1], (), ("a", "b"), {}, {"a": 1}, {1: 2}, {"text": "tea"}, set(), {"a"}, endless,
        object(), Odd(), Odd, len, lambda *a: None, lambda *a: 1 / 0, type, ...,
        datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc),
        datetime.datetime.max.replace(tzinfo=datetime.timezone.utc), datetime.date(2026, 1, 1),
        treering.Writer("model"), treering.Writer.person("vera", session="s"), treering.Writer.tool("t"),
    ]  # fmt: skip


def names(one: object) -> list[str]:
    # `close` is called seldom, so that most calls meet an open handle. `watch` and the rest are all tried.
    return [name for name in dir(one) if not name.startswith("__") or name in DUNDERS]


DUNDERS = ("__len__", "__getitem__", "__contains__", "__iter__", "__next__", "__eq__", "__hash__", "__repr__", "__str__",
           "__enter__", "__exit__", "__bool__", "__bytes__", "__call__", "__reduce__")  # fmt: skip
KEYWORDS = ["kind", "scope", "writer", "limit", "at", "attributes", "tags", "session", "dry_run", "scopes", "wrong", "now",
            "policy", "checks", "expires", "derived_from", "parent", "trust", "timeout", "conflicts", "hash"]  # fmt: skip


class Pool:
    """The objects on which calls are made."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.objects: list[Any] = []
        self.fill()

    def fill(self) -> None:
        agent = treering.in_memory()
        memory = treering.Memory.open(f"{self.folder}/{chosen.randrange(3)}", create=True)
        agent.remember("tea is green", id="tea")
        memory.put("a", "text")
        self.objects = [treering, treering.Memory, treering.Agent, treering.Writer, agent, agent.memory, memory]
        self.objects += [agent.view(), memory.view(), memory.draft(), agent.attempt(), memory.watch()]
        self.objects += [memory.view().query(), agent.recall("tea"), memory.get("a"), treering.Writer("model")]

    def add(self, one: object) -> None:
        if type(one).__module__.startswith("treering") and len(self.objects) < 60:
            self.objects.append(one)


def arguments() -> tuple[list[Any], dict[str, Any]]:
    all_values = values() + pool.objects
    given = [chosen.choice(all_values) for _ in range(chosen.choice((0, 0, 1, 1, 1, 2, 3)))]
    named = {chosen.choice(KEYWORDS): chosen.choice(all_values) for _ in range(chosen.choice((0, 0, 0, 0, 0, 1, 2)))}
    return given, named


def call(seen: collections.Counter[str]) -> None:
    one = chosen.choice(pool.objects)
    name = chosen.choice(names(one))
    if name in ("close", "close_all") and chosen.random() > 0.4:
        return
    # These open files where the arguments say.
    if name in ("annotations", "open", "create"):
        given: list[Any] = [f"{pool.folder}/{chosen.randrange(3)}"] if chosen.random() < 0.5 else [chosen.choice([None, 1, b"", ["a"]])]
        named = {chosen.choice(KEYWORDS): chosen.choice(values())} if chosen.random() < 0.5 else {}
    else:
        given, named = arguments()
    if name == "poll":
        # A number is a time to wait.
        given = [0.0 if isinstance(one, (int, float)) else one for one in given]
        named = {key: 0.0 if isinstance(one, (int, float)) else one for key, one in named.items()}
    try:
        found = getattr(one, name)
        result = found(*given, **named) if callable(found) else found
        pool.add(result)
        seen["answered"] += 1
    except EXPECTED as error:
        seen[type(error).__name__] += 1
        assert not isinstance(error, treering.InternalError), error
    except (RuntimeError, ZeroDivisionError) as error:
        # The callables above raise these, and `Odd` does.
        assert "odd" in str(error) or "division" in str(error), repr(error)
        seen["of the caller"] += 1
    except StopIteration:
        seen["end"] += 1


def fork(seen: collections.Counter[str]) -> None:
    """A child makes calls on the handles of its parent, and exits."""
    child = os.fork()
    if child == 0:
        for _ in range(20):
            call(collections.Counter())
        if chosen.random() < 0.5:
            sys.exit(0)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    seen["forks"] += 1


pool = Pool()
counted: collections.Counter[str] = collections.Counter()
for number in range(CALLS):
    if number % 200 == 0:
        pool.fill()
    if number % 500 == 250:
        fork(counted)
    call(counted)
print(dict(counted))
