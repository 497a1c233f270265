"""The engine: opening, writing, the ways back, and history."""

from __future__ import annotations

import os
import signal
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import treering
from treering import Memory, Writer


def test_create_open_and_close(folder: Path) -> None:
    with Memory.create(folder) as memory:
        memory.put("a", "1")
        assert memory.path == folder and not memory.closed
    assert memory.closed
    with Memory.open(str(folder)) as memory:
        assert memory.get("a") is not None


def test_create_refuses_a_folder_with_a_store(folder: Path) -> None:
    Memory.create(folder).close()
    with pytest.raises(treering.TreeringError) as caught:
        Memory.create(folder)
    assert caught.value.code == "store_exists"


def test_open_needs_a_store_unless_it_may_create_one(folder: Path) -> None:
    with pytest.raises(treering.NotFoundError) as caught:
        Memory.open(folder)
    assert caught.value.code == "no_store"
    Memory.open(folder, create=True).close()
    Memory.open(folder).close()


def test_a_read_only_handle_refuses_to_write(folder: Path) -> None:
    Memory.create(folder).close()
    with Memory.open(folder, read_only=True) as memory:
        with pytest.raises(treering.TreeringError) as caught:
            memory.put("a")
    assert caught.value.code == "read_only"


def test_two_handles_of_one_folder_are_one_memory(folder: Path) -> None:
    with Memory.create(folder) as one, Memory.open(folder) as other:
        one.put("a", "1")
        assert other.get("a") is not None


@pytest.mark.parametrize("hash", ["blake3", "sha256"])
def test_the_hash_is_chosen_at_creation(folder: Path, hash: Any) -> None:
    with Memory.create(folder, hash=hash) as memory:
        assert memory.hash == hash
        memory.put("a")
        view = memory.view()
        assert view.prove("a").verify(view.root, "a", hash=hash) == view["a"].digest


@pytest.mark.parametrize(
    "options",
    [{"wait": -1.0}, {"wait": float("nan")}, {"sync_every": -0.5}, {"hash": "md5"}],
)
def test_a_bad_option_is_a_value_error(folder: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Memory.create(folder, **options)
    assert not folder.exists()


def test_an_unknown_option_is_a_type_error(folder: Path) -> None:
    with pytest.raises(TypeError):
        Memory.create(folder, wrong=True)  # type: ignore[call-arg]


def test_relaxed_durability_is_synced_at_close(folder: Path) -> None:
    with Memory.create(folder, sync_every=60.0) as memory:
        memory.put("a")
        memory.sync()
        memory.put("b")
    with Memory.open(folder) as memory:
        assert set(memory.view()) == {"a", "b"}


def test_put_tells_what_it_did(memory: Memory) -> None:
    done = memory.put("a", "1")
    assert done.changed and done.commit.seq == 1 and done.commit.op == "put"
    assert done.commit.root == memory.view().root
    again = memory.put("a", "1")
    assert not again.changed and again.commit == done.commit


def test_remove_keeps_history(memory: Memory) -> None:
    memory.put("a", "1")
    memory.put("a", "2")
    memory.remove("a")
    assert "a" not in memory and len(memory) == 0
    history = memory.history("a")
    assert [entry.digest is None for entry in history] == [True, False, False]
    assert [entry.commit.op for entry in history] == ["remove", "put", "put"]


def test_remove_of_a_missing_object_is_an_error(memory: Memory) -> None:
    with pytest.raises(treering.NotFoundError):
        memory.remove("a")


def test_remove_refuses_an_object_with_children(memory: Memory) -> None:
    memory.put("top")
    memory.put("top/a", parent="top")
    with pytest.raises(treering.TreeringError) as caught:
        memory.remove("top")
    assert caught.value.code == "has_children"
    memory.remove("top", recursive=True)
    assert len(memory) == 0


def test_a_parent_must_exist(memory: Memory) -> None:
    with pytest.raises(treering.TreeringError) as caught:
        memory.put("a", parent="nothing")
    assert caught.value.code == "no_parent"


def test_undo_and_redo(memory: Memory) -> None:
    memory.put("a", "1")
    memory.put("a", "2")
    undone = memory.undo()
    assert undone.commit.op == "undo" and undone.commit.target is not None
    assert memory.view()["a"].content == "1"
    memory.redo()
    assert memory.view()["a"].content == "2"


def test_undo_without_a_commit_has_a_code(memory: Memory) -> None:
    with pytest.raises(treering.NotFoundError) as caught:
        memory.undo()
    assert caught.value.code == "nothing_to_undo"
    with pytest.raises(treering.NotFoundError) as caught:
        memory.redo()
    assert caught.value.code == "nothing_to_redo"


def test_each_lane_has_its_own_undo(memory: Memory) -> None:
    day, night = Writer.model(session="day"), Writer.model(session="night")
    memory.put("a", "day", writer=day)
    memory.put("b", "night", writer=night)
    memory.undo(writer=day)
    assert set(memory.view()) == {"b"}


def test_undo_refuses_what_changed_since(memory: Memory) -> None:
    day, night = Writer.model(session="day"), Writer.model(session="night")
    memory.put("a", "day", writer=day)
    memory.put("a", "night", writer=night)
    with pytest.raises(treering.ConflictError) as caught:
        memory.undo(writer=day)
    assert caught.value.code == "changed_since" and caught.value.ids == ("a",)


def test_snapshot_and_rollback(memory: Memory) -> None:
    memory.put("a", "1")
    snapshot = memory.snapshot("before")
    assert snapshot.name == "before" and snapshot.root == memory.view().root
    memory.put("a", "2")
    memory.put("b")
    preview = memory.rollback_preview("before")
    assert (preview.added, preview.changed, preview.removed) == (0, 1, 1)
    assert preview.target.digest == snapshot.commit
    done = memory.rollback("before")
    assert done.commit.op == "rollback" and done.commit.root == snapshot.root
    memory.undo()
    assert memory.view()["a"].content == "2"


def test_rollback_takes_a_view(memory: Memory) -> None:
    memory.put("a", "1")
    before = memory.view()
    memory.put("a", "2")
    memory.rollback(before)
    assert memory.view() == before


def test_rollback_refuses_the_work_of_other_lanes(memory: Memory) -> None:
    memory.snapshot("before")
    memory.put("a", writer=Writer.model(session="night"))
    with pytest.raises(treering.ConflictError) as caught:
        memory.rollback("before")
    assert caught.value.code == "other_lanes" and caught.value.ids == ("night",)
    assert caught.value.hint is not None
    memory.rollback("before", across_lanes=True)
    assert len(memory) == 0


def test_snapshots_are_listed_and_deleted(memory: Memory) -> None:
    memory.snapshot("one")
    memory.put("a")
    memory.snapshot("two")
    memory.snapshot()
    names = [snapshot.name for snapshot in memory.snapshots()]
    assert {"one", "two"} < set(names) and len(names) == 3
    assert memory.delete_snapshot("one").name == "one"
    assert "one" not in [snapshot.name for snapshot in memory.snapshots()]


def test_a_name_is_taken_once(memory: Memory) -> None:
    memory.snapshot("one")
    with pytest.raises(treering.InvalidInputError) as caught:
        memory.snapshot("one")
    assert caught.value.code == "name_taken"


def test_revert_keeps_the_work_of_others(memory: Memory) -> None:
    day, night = Writer.person("vera", session="day"), Writer.model("agent", session="night")
    memory.put("office", "Bremen", writer=day)
    memory.put("office", "Frankfurt", writer=night)
    memory.put("port", "8080", writer=night)
    memory.put("port", "9090", writer=day)
    planned = memory.revert(session="night", dry_run=True, writer=day)
    assert not planned.changed and planned.selected == 2
    assert [one.id for one in planned.reverted] == ["office"]
    assert [(one.id, one.because) for one in planned.kept] == [("port", "changed")]
    done = memory.revert(session="night", writer=day)
    assert done.changed and done.commit.op == "revert"
    assert memory.view()["office"].content == "Bremen" and memory.view()["port"].content == "9090"


@pytest.mark.parametrize(
    ("selection", "code"),
    [({}, "no_criteria"), ({"session": "nobody"}, "nothing_selected"), ({"commit": "seq:99"}, "no_revision")],
)
def test_a_bad_selection_has_a_code(memory: Memory, selection: dict[str, Any], code: str) -> None:
    memory.put("a")
    with pytest.raises(treering.TreeringError) as caught:
        memory.revert(**selection)
    assert caught.value.code == code


def test_revert_of_one_commit(memory: Memory) -> None:
    done = memory.put("a", "1")
    memory.put("b", "2")
    memory.revert(commit=done.commit.digest)
    assert set(memory.view()) == {"b"}


def test_revert_may_fail_on_conflicts(memory: Memory) -> None:
    memory.put("a", "1", writer=Writer.model(session="night"))
    memory.put("a", "2", writer=Writer.model(session="day"))
    with pytest.raises(treering.ConflictError):
        memory.revert(session="night", conflicts="fail")
    with pytest.raises(ValueError):
        memory.revert(session="night", conflicts="wrong")  # type: ignore[arg-type]


def test_diff_lists_added_changed_and_removed(memory: Memory) -> None:
    memory.put("a", "1")
    memory.put("b", "1")
    before = memory.view()
    memory.put("a", "2")
    memory.remove("b")
    memory.put("c", "1")
    changes = memory.diff(before)
    assert [(change.id, change.kind) for change in changes] == [("a", "changed"), ("b", "removed"), ("c", "added")]
    assert changes[0].old != changes[0].new and changes[1].new is None and changes[2].old is None
    assert memory.diff(before, before) == ()


def test_commits_are_listed_newest_first(memory: Memory, vera: Writer) -> None:
    for number in range(5):
        memory.put("a", str(number), writer=vera)
    commits = memory.commits()
    assert [commit.seq for commit in commits] == [5, 4, 3, 2, 1, 0]
    assert [commit.seq for commit in memory.commits(limit=2)] == [5, 4]
    assert commits[0].actor == "vera" and commits[0].trust == "direct_user" and commits[0].lane == "vera"


def test_blame_names_the_writer_of_each_line(memory: Memory, vera: Writer) -> None:
    memory.put("a", "one\ntwo", writer=vera)
    memory.put("a", "one\nthree", writer=Writer.person("ada"))
    parts = {part.part: part for part in memory.blame("a")}
    assert parts["line:1"].change.commit.actor == "vera" and parts["line:1"].value == "one"
    assert parts["line:2"].change.commit.actor == "ada" and parts["line:2"].trust == "direct_user"


def test_bisect_finds_the_first_bad_commit(memory: Memory) -> None:
    good = memory.view()
    for number in range(20):
        memory.put("a", "bad" if number >= 13 else "good")
        memory.put("b", str(number))
    found = memory.bisect_states(good, "@", lambda view: "a" in view and view["a"].content == "bad")
    assert memory.at(found.first_bad.digest)["a"].content == "bad"
    last = memory.at(found.last_good.digest)
    assert last["a"].content == "good" and found.steps < 10
    # The states before the change of "a" are good, and each round before it changed "b" too.
    assert (found.last_good.seq, found.first_bad.seq) == (14, 15)


def test_an_exception_of_the_test_leaves_bisect(memory: Memory) -> None:
    good = memory.view()
    memory.put("a")
    memory.put("b")

    def test(view: treering.View) -> bool:
        raise RuntimeError("no verdict")

    with pytest.raises(RuntimeError, match="no verdict"):
        memory.bisect_states(good, "@", test)


def test_verify_is_true_for_a_good_store(folder: Path) -> None:
    with Memory.create(folder) as memory:
        memory.put("a")
        report = memory.verify()
        assert report and report.ok and report.commits == 2 and report.damage == ()
        assert memory.verify(files_only=True)


def test_verify_reports_damage(folder: Path) -> None:
    with Memory.create(folder, automatic_gc=False) as memory:
        for number in range(100):
            memory.put(f"a{number}", f"text number {number} " * 10)
    damaged = 0
    for path in (folder / "log").rglob("*"):
        data = bytearray(path.read_bytes()) if path.is_file() else bytearray()
        place = data.find(b"text number 50")
        if place >= 0:
            data[place] ^= 1
            path.write_bytes(data)
            damaged += 1
    assert damaged == 1
    with Memory.open(folder, degraded=True) as memory:
        report = memory.verify()
        assert not report and not report.ok and len(report.damage) > 0
        assert {finding.severity for finding in report.damage} == {"damage"}


def test_gc_thins_history(memory: Memory) -> None:
    for number in range(50):
        memory.put("a", str(number))
    foreseen = memory.gc(keep_all=0, hourly=0, daily=0, weekly=0, forgotten=0, dry_run=True)
    assert len(memory.commits()) == 51
    report = memory.gc(keep_all=0, hourly=0, daily=0, weekly=0, forgotten=0)
    assert report == foreseen and report.thinned > 40 and report.bytes < report.bytes_before
    assert memory.view()["a"].content == "49" and memory.verify()


def test_erase_removes_content_from_every_file(folder: Path) -> None:
    with Memory.create(folder) as memory:
        memory.put("a", "a very secret text")
        before = memory.view()
        foreseen = memory.erase("a", dry_run=True)
        assert foreseen.commit is None and "a" in memory
        report = memory.erase("a", writer=Writer.person("vera"))
        assert report.commit is not None and report.unlinked == ("a",)
        assert [record.kind for record in report.records] == ["version"]
        with pytest.raises(treering.NotFoundError) as caught:
            memory.at(before.commit.digest)["a"]
        assert caught.value.code == "erased"
    for path in folder.rglob("*"):
        assert path.is_dir() or b"very secret" not in path.read_bytes()


def test_erase_needs_a_target(memory: Memory) -> None:
    with pytest.raises(treering.InvalidInputError):
        memory.erase()


def test_stats_count(memory: Memory) -> None:
    memory.put("a")
    memory.put("a", "2")
    stats = memory.stats()
    assert (stats.objects, stats.history, stats.commits) == (1, 2, 3)


def test_watch_reports_moves(memory: Memory) -> None:
    watch = memory.watch()
    assert watch.poll() is None
    done = memory.put("a")
    moved = watch.poll(timeout=5)
    assert moved is not None and (moved.commit, moved.op, moved.seq) == (done.commit.digest, "put", 1)
    assert watch.poll() is None
    with pytest.raises(ValueError):
        watch.poll(timeout=-1)


def test_an_interrupt_ends_a_watch(memory: Memory) -> None:
    watch = memory.watch()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        watch.poll(timeout=30)
    assert time.monotonic() - start < 10


def test_a_close_ends_a_watch(folder: Path) -> None:
    memory = Memory.create(folder)
    watch, start = memory.watch(), time.monotonic()
    timer = threading.Timer(0.2, memory.close)
    timer.start()
    with pytest.raises(treering.HandleError) as caught:
        watch.poll(timeout=30)
    timer.join()
    assert caught.value.code == "closed" and time.monotonic() - start < 10


def test_the_reason_of_a_commit_is_kept(memory: Memory) -> None:
    snapshot = memory.snapshot("x", writer=Writer.person("vera", reason="before lunch"))
    assert snapshot.reason == "before lunch" and snapshot.actor == "vera"


def test_the_reason_and_the_source_of_a_commit_are_read_by_digest(memory: Memory) -> None:
    writer = Writer.person("vera", reason="she said so", source="https://example.org/")
    commit = memory.put("a", writer=writer).commit
    assert commit.reason_digest is not None and memory.text(commit.reason_digest) == "she said so"
    assert commit.source_digest is not None and memory.text(commit.source_digest) == "https://example.org/"
    assert memory.put("b").commit.reason_digest is None
    with pytest.raises(treering.InvalidInputError):
        memory.text("not a digest")
    with pytest.raises(treering.NotFoundError):
        memory.text("0" * 64)


def test_a_memory_without_objects_is_true(memory: Memory) -> None:
    assert memory and len(memory) == 0


def test_with_writer_shares_the_store(memory: Memory, vera: Writer) -> None:
    other = memory.with_writer(vera)
    assert other.writer == vera and memory.writer.trust == "model"
    other.put("a")
    assert memory.view()["a"].origin == "direct_user"
    other.close()
    assert memory.closed


def test_an_untrusted_writer_cannot_replace_trusted_objects(memory: Memory, vera: Writer) -> None:
    memory.put("a", "true", writer=vera)
    with pytest.raises(treering.DeniedError) as caught:
        memory.put("a", "false", writer=Writer.tool("browser"))
    assert caught.value.code == "less_trusted" and caught.value.ids == ("a",)


def test_expected_times_are_utc(memory: Memory) -> None:
    time = memory.put("a").commit.time
    assert time.utcoffset() == timedelta(0)


def test_a_dropped_watch_leaves_nothing_behind(memory: Memory) -> None:
    def kilobytes() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

    for _ in range(100):
        memory.watch()
    before = kilobytes()
    for _ in range(3000):
        memory.watch()
    assert kilobytes() - before < 20_000
    memory.put("a")
    watch = memory.watch()
    for number in range(300):
        memory.put(f"{number}")
    moves = 0
    while watch.poll() is not None:
        moves += 1
    assert moves == 256, "the oldest moves wait, and the rest is dropped"
