"""Fixtures. The tests run against the installed wheel, never against the source folder."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import treering

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "treering"


# The answers of other tests must not depend on a model that somebody installed. `test_meaning.py` chooses the bundled one.
os.environ["TREERING_MODEL"] = "none"


def pytest_sessionstart() -> None:
    # A shell starts a job in the background with SIGINT ignored, and then Python raises no KeyboardInterrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    imported = Path(treering.__file__).resolve().parent
    if imported == SOURCE:
        raise pytest.UsageError("install the wheel first: run python/check.sh")


@pytest.fixture
def memory() -> Iterator[treering.Memory]:
    with treering.Memory.in_memory() as memory:
        yield memory


@pytest.fixture
def agent() -> Iterator[treering.Agent]:
    with treering.in_memory(project="tests") as agent:
        yield agent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def vera() -> treering.Writer:
    return treering.Writer.person("vera")
