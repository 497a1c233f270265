"""Backups, clones and remotes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import treering
from treering import Memory, Writer, aio


def of(path: Path, person: str = "vera") -> Memory:
    return Memory.open(path, create=True, writer=Writer.person(person))


def url(folder: Path, name: str = "shared") -> str:
    return f"file://{folder / name}"


def test_a_backup_is_restored_by_a_clone(tmp_path: Path) -> None:
    with of(tmp_path / "a") as memory:
        memory.put("plan", "one")
        first = memory.backup(url(tmp_path, "disk"))
        assert first.commits == 2 and first.objects == 1 and first.bytes > 0
        assert memory.backup(url(tmp_path, "disk")).commits == 0
        root = memory.view().root
    cloned = treering.clone(url(tmp_path, "disk"), tmp_path / "b", trust_cap="direct_user")
    assert (cloned.objects, cloned.root) == (1, root)
    with of(tmp_path / "b") as restored:
        assert restored.view()["plan"].content == "one"
    with pytest.raises(treering.NotFoundError):
        treering.clone(url(tmp_path, "nowhere"), tmp_path / "c")


def test_two_stores_share_a_memory(tmp_path: Path) -> None:
    with of(tmp_path / "a") as a:
        a.put("plan", "one")
        with pytest.raises(treering.NotFoundError):
            a.remote(url(tmp_path))
        origin = a.remote(url(tmp_path), trust_cap="direct_user", create=True)
        assert (origin.name, repr(origin)) == ("origin", 'Remote("origin")')
        first = origin.sync()
        assert first.new and first.pushed.commits == 2 and first.fetched.commits == 0
        assert not origin.sync().new
        treering.clone(url(tmp_path), tmp_path / "b", trust_cap="direct_user")
        with of(tmp_path / "b", "ann") as b:
            other = b.remote(url(tmp_path), trust_cap="direct_user")
            a.put("of a", "1")
            a.put("plan", "of a")
            assert origin.push().commits == 2
            b.put("plan", "of b")
            with pytest.raises(treering.ConflictError) as ahead:
                other.push()
            assert ahead.value.code == "remote_ahead"
            assert other.fetch().commits == 2
            assert "of a" in b.at("remote:origin/main") and "of a" not in b
            pulled = other.pull()
            assert pulled.new and pulled.added == 1 and pulled.commit.op == "merge"
            (conflict,) = pulled.conflicts
            assert (conflict.id, conflict.fields) == ("plan", ("content",))
            assert other.sync().pushed.commits > 0
            assert origin.sync().new
            assert a.view().root == b.view().root
            assert other.pull(strategy="ours").new is False
            with pytest.raises(treering.InvalidInputError):
                other.pull(strategy="mine")  # type: ignore[arg-type]


def test_what_comes_from_a_remote_is_capped(tmp_path: Path) -> None:
    with of(tmp_path / "a") as a:
        a.put("plan", "one")
        a.remote(url(tmp_path), create=True).push()
    treering.clone(url(tmp_path), tmp_path / "b")
    with of(tmp_path / "b") as b:
        assert b.view()["plan"].origin == "import"
    with of(tmp_path / "c") as c, pytest.raises(treering.InvalidInputError):
        c.remote(url(tmp_path)).push()


def test_asyncio_has_the_same_calls(tmp_path: Path) -> None:
    async def run() -> None:
        async with await aio.AsyncMemory.open(tmp_path / "a", create=True, writer=Writer.person("vera")) as a:
            await a.put("plan", "one")
            origin = await a.remote(url(tmp_path), trust_cap="direct_user", create=True)
            assert origin.name == "origin"
            assert (await origin.sync()).pushed.commits == 2
            assert (await origin.push()).commits == 0
            assert (await origin.fetch()).commits == 0
            assert (await origin.pull()).new is False
            assert (await a.backup(url(tmp_path, "disk"))).objects == 1
        cloned = await aio.clone(url(tmp_path), tmp_path / "b", trust_cap="direct_user")
        assert cloned.objects == 1

    asyncio.run(run())
