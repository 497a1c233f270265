"""Threads, processes, and the exit of the interpreter."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import treering
from treering import Agent, Memory


# A folder without the source of the package, which Python would import.
HOME = Path(__file__).resolve().anchor


def run(code: str, *arguments: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs a program in a new interpreter."""
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code)]
    return subprocess.run(
        command + [str(one) for one in arguments], capture_output=True, text=True, timeout=timeout, check=False, cwd=HOME
    )


def check(done: subprocess.CompletedProcess[str], output: str) -> None:
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.split() == output.split()


def test_threads_write_together(memory: Memory) -> None:
    def write(thread: int) -> None:
        for number in range(50):
            memory.put(f"{thread}/{number}", "text")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(memory) == 400 and len(memory.commits()) == 401


def test_threads_read_while_one_writes(agent: Agent) -> None:
    stop = threading.Event()
    errors: list[BaseException] = []

    def read() -> None:
        try:
            while not stop.is_set():
                view = agent.view()
                assert len(list(view)) == len(view)
                agent.recall("tea")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(100):
        agent.remember(f"tea number {number} is good")
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors and len(agent.view()) == 100


def test_a_handle_is_closed_while_threads_use_it(folder: Path) -> None:
    memory = Memory.create(folder)
    codes: set[str] = set()

    def write(thread: int) -> None:
        try:
            for number in range(10_000):
                memory.put(f"{thread}/{number}")
        except treering.HandleError as error:
            codes.add(error.code)

    threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    while len(memory.commits(limit=5)) < 5:
        pass
    memory.close()
    for thread in threads:
        thread.join()
    assert codes == {"closed"}
    assert Memory.open(folder).verify()


def test_a_draft_is_used_by_two_threads(memory: Memory) -> None:
    with memory.draft() as draft:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: draft.put(f"{number}"), range(200)))
    assert len(memory) == 200


def test_an_iterator_is_shared_by_threads(memory: Memory) -> None:
    with memory.draft() as draft:
        for number in range(1000):
            draft.put(f"{number}")
    found = memory.view().values()
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: [one.id for one in found], range(4)))
    assert sorted(sum(parts, [])) == sorted(memory.view())


def test_a_handle_is_dropped_in_another_thread(folder: Path) -> None:
    handles = [Memory.open(folder, create=True) for _ in range(3)]
    handles[0].put("a")

    def drop() -> None:
        handles.clear()
        gc.collect()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    with Memory.open(folder) as memory:
        assert "a" in memory


def test_a_handle_is_dropped_without_close(folder: Path) -> None:
    for number in range(20):
        Memory.open(folder, create=True).put(f"{number}")
        gc.collect()
    assert len(Memory.open(folder)) == 20


FORK = """
    import os, sys, treering
    memory = treering.Memory.open(sys.argv[1], create=True)
    memory.put("parent")
    view, draft, found = memory.view(), memory.draft(), memory.view().query()
    child = os.fork()
    if child == 0:
        codes = []
        for call in (
            lambda: memory.put("child"), lambda: memory.get("parent"), lambda: view["parent"], lambda: draft.put("x"),
            lambda: next(found), lambda: memory.close(), lambda: len(memory), lambda: memory.with_writer(treering.Writer()).get("a"),
        ):
            try:
                call()
                codes.append("none")
            except treering.HandleError as error:
                codes.append(error.code)
        assert set(codes) == {"forked"}, codes
        with treering.Memory.open(sys.argv[1]) as again:
            again.put("child")
        print("child")
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    memory.refresh()
    print(*sorted(memory.view()))
"""


def test_a_forked_child_gets_a_clear_error_and_opens_again(folder: Path) -> None:
    done = run(FORK, folder)
    check(done, "child child parent")


def test_a_child_opens_the_folder_that_threads_of_its_parent_write(folder: Path) -> None:
    code = """
        import os, sys, threading, time, treering
        parent = treering.open(sys.argv[1])
        stop = threading.Event()
        def write(name):
            while not stop.is_set():
                parent.memory.put(name, str(time.monotonic_ns()))
        writers = [threading.Thread(target=write, args=(f"parent/{number}",)) for number in range(4)]
        for writer in writers:
            writer.start()
        codes = []
        for number in range(8):
            time.sleep(0.017)
            child = os.fork()
            if child == 0:
                with treering.open(sys.argv[1]) as own:
                    own.memory.put(f"child/{number}")
                os._exit(7)
            codes.append(os.waitpid(child, 0)[1] >> 8)
        stop.set()
        for writer in writers:
            writer.join()
        parent.memory.refresh()
        print(*codes, sum(1 for name in parent.memory.view() if name.startswith("child/")))
    """
    check(run(code, folder), "7 7 7 7 7 7 7 7 8")


def test_a_child_that_only_exits_harms_nothing(folder: Path) -> None:
    code = """
        import os, sys, treering
        memory = treering.Memory.open(sys.argv[1], create=True, sync_every=60.0)
        agent = treering.in_memory()
        memory.put("a")
        children = []
        for number in range(5):
            child = os.fork()
            if child == 0:
                if number % 2:
                    del memory, agent
                sys.exit(0)
            children.append(child)
        print(*[os.waitpid(child, 0)[1] for child in children])
        memory.put("b")
    """
    check(run(code, folder), "0 0 0 0 0")
    with Memory.open(folder) as memory:
        assert set(memory.view()) == {"a", "b"} and memory.verify()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(folder: Path, tmp_path: Path, method: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing, sys, treering

            def work(path, number):
                with treering.Memory.open(path) as memory:
                    for one in range(10):
                        memory.put(f"{number}/{one}")

            if __name__ == "__main__":
                memory = treering.Memory.open(sys.argv[1], create=True)
                context = multiprocessing.get_context(sys.argv[2])
                workers = [context.Process(target=work, args=(sys.argv[1], number)) for number in range(3)]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
                print(*[worker.exitcode for worker in workers], len(memory.refresh()))
            """
        )
    )
    command = [sys.executable, str(program), str(folder), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    check(done, "0 0 0 30")


@pytest.mark.parametrize(
    "code",
    [
        "memory.put('a')",
        "memory.put('a'); keep = memory.view(), memory.draft(), memory.view().query(), memory.watch()",
        "memory.put('a'); memory.close()",
        "memory.put('a'); import threading; threading.Thread(target=lambda: memory.put('b'), daemon=True).start()",
        "memory.put('a'); cycle = [memory]; cycle.append(cycle); del memory",
        "memory.put('a'); import builtins; builtins.memory = memory",
        "memory.put('a'); import atexit; atexit.register(lambda: memory.closed)",
    ],
)
def test_the_exit_is_clean(folder: Path, code: str) -> None:
    start = "import sys, treering; memory = treering.Memory.open(sys.argv[1], create=True, sync_every=60.0); "
    check(run(start + code, folder), "")
    with Memory.open(folder) as memory:
        assert "a" in memory


def test_an_exit_while_daemon_threads_work(folder: Path) -> None:
    code = """
        import sys, threading, time, treering
        agent = treering.open(sys.argv[1])
        def work(number):
            for one in range(100000):
                agent.remember(f"fact {number} {one} about tea", quick=True)
                agent.recall("tea")
        for number in range(4):
            threading.Thread(target=work, args=(number,), daemon=True).start()
        time.sleep(0.5)
        print("end")
        sys.stdout.flush()
        threading.excepthook = lambda *_: None
    """
    check(run(code, folder), "end")
    assert treering.open(folder).verify()


def test_a_killed_process_loses_nothing_acknowledged(folder: Path) -> None:
    code = """
        import os, signal, sys, treering
        memory = treering.Memory.open(sys.argv[1], create=True)
        for number in range(20):
            memory.put(f"{number}")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(code, folder).returncode == -9
    with Memory.open(folder) as memory:
        assert len(memory) == 20 and memory.verify()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_a_call_releases_the_gil(folder: Path) -> None:
    """While a thread waits for the lock of another process, other threads run."""
    code = """
        import sys, treering
        memory = treering.Memory.open(sys.argv[1], exclusive=True)
        memory.put("x")
        print("locked", flush=True)
        sys.stdin.readline()
    """
    Memory.create(folder).close()
    command = [sys.executable, "-c", textwrap.dedent(code), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOME) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == "locked\n"
        memory = Memory.open(folder, wait=20.0)
        results: list[bool] = []
        thread = threading.Thread(target=lambda: results.append(memory.put("a").changed))
        thread.start()
        steps = 0
        while steps < 1000 and thread.is_alive():
            steps += 1
        assert steps == 1000 and not results, "the waiting thread kept the GIL"
        holder.stdin.write("\n")
        holder.stdin.flush()
        thread.join()
        assert results == [True]


def test_a_lock_that_stays_taken_is_busy(folder: Path) -> None:
    code = """
        import sys, treering
        memory = treering.Memory.open(sys.argv[1], exclusive=True)
        memory.put("x")
        print("locked", flush=True)
        sys.stdin.readline()
    """
    Memory.create(folder).close()
    command = [sys.executable, "-c", textwrap.dedent(code), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOME) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        holder.stdout.readline()
        with pytest.raises(treering.BusyError) as caught:
            with Memory.open(folder, wait=0.05) as memory:
                memory.put("a")
        assert caught.value.code == "busy"
        holder.stdin.write("\n")
        holder.stdin.flush()


HOLDER = """
    import sys, treering
    memory = treering.Memory.open(sys.argv[1], exclusive=True)
    memory.put("x")
    print("locked", flush=True)
    sys.stdin.readline()
"""


def test_an_interrupt_ends_the_wait_for_the_lock(folder: Path) -> None:
    Memory.create(folder).close()
    command = [sys.executable, "-c", textwrap.dedent(HOLDER), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOME) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        holder.stdout.readline()
        memory = Memory.open(folder, wait=30.0)
        calls: list[Callable[[], object]] = [lambda: memory.put("a"), lambda: memory.undo(), lambda: memory.snapshot("s")]
        for call in calls:
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            begun = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                call()
            assert time.monotonic() - begun < 2
            timer.join()
        holder.stdin.write("\n")
        holder.stdin.flush()
        holder.wait()
        assert memory.put("b").changed, "the handle is as good as before"
        assert set(memory.view()) == {"x", "b"} and not memory.snapshots()


EARLY = """
    import os, signal, sys, threading, treering
    memory = treering.Memory.open(sys.argv[1], wait=5.0)
    timer = threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        memory.put("a")
    except BaseException as error:
        print(type(error).__name__)
"""

HANDLER = """
    import os, signal, sys, threading, treering
    memory = treering.Memory.open(sys.argv[1], wait=2.0)
    calls = [lambda: memory.put("b"), memory.stats, memory.refresh, memory.close]
    def handle(*_):
        for call in calls:
            try:
                call()
            except treering.HandleError as error:
                print(error.code, flush=True)
        print("objects" in repr(memory), flush=True)
    signal.signal(signal.SIGTERM, handle)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
    try:
        memory.put("a")
    except treering.BusyError:
        print("waited")
    print(len(memory.refresh()))  # that of the holder
    memory.close()
"""


@pytest.mark.parametrize(
    ("code", "output"),
    [(EARLY, "KeyboardInterrupt"), (HANDLER, f"{'in_signal_handler ' * 4}False waited 1")],
    ids=["the first look", "a handler that uses the store"],
)
def test_a_signal_during_the_first_wait_of_a_process(folder: Path, code: str, output: str) -> None:
    Memory.create(folder).close()
    command = [sys.executable, "-c", textwrap.dedent(HOLDER), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOME) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        holder.stdout.readline()
        try:
            check(run(code, folder, timeout=30), output)
        finally:
            holder.kill()


def test_an_interrupt_in_the_main_thread_ends_no_wait_of_another(folder: Path) -> None:
    Memory.create(folder).close()
    command = [sys.executable, "-c", textwrap.dedent(HOLDER), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOME) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        holder.stdout.readline()
        memory = Memory.open(folder, wait=30.0)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(memory.put, "a")
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
            time.sleep(0.3)
            assert not waiting.done()
            holder.stdin.write("\n")
            holder.stdin.flush()
            assert waiting.result(timeout=30).changed


def test_an_interrupt_ends_long_work(folder: Path) -> None:
    def seconds(work: Callable[[], object]) -> float:
        begun = time.monotonic()
        work()
        return time.monotonic() - begun

    def interrupted() -> None:
        with pytest.raises(KeyboardInterrupt):
            memory.verify()

    with Memory.create(folder, automatic_gc=False) as memory:
        for batch in range(40):
            with memory.draft() as draft:
                for number in range(20_000):
                    draft.put(f"{batch}/{number}", "text")
            # One call must take long, because Python looks for signals between calls anyway.
            if (whole := seconds(memory.verify)) > 0.5:
                break
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        assert seconds(interrupted) < 0.75 * whole
        timer.join()
        assert memory.verify()


DAEMONS = """
    import sys, threading, time, treering
    def embed(text):
        time.sleep(0.01)
        return [float(len(text)), 1.0]
    def judge(old, new):
        time.sleep(0.002)
    agent = treering.open(sys.argv[1], embedder=embed, embedder_name="e", judge=judge)
    for number in range(20):
        agent.remember(f"tea {number}")
    def work(number):
        for one in range(100000):
            agent.remember(f"fact {number} {one} about tea")
            agent.recall(f"tea {one}")
            agent.memory.commits(limit=200)
    for number in range(6):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    # Many objects make the end of the interpreter long enough for a thread to wake up during it.
    many = [[number] for number in range(1_000_000)]
    time.sleep(0.3)
    threading.excepthook = lambda *_: None
    print("end", flush=True)
"""


def test_an_exit_while_daemon_threads_are_inside_callbacks(folder: Path) -> None:
    for _ in range(3):
        check(run(DAEMONS, folder), "end")
    assert treering.open(folder).verify()


@pytest.mark.parametrize(
    "call",
    [
        "recalled._repr_html_()",
        "recalled[Index()]",
        "view._repr_html_()",
        "view['k1']._repr_html_()",
        "committed.to_dict()",
        "(committed == committed, hash(committed), repr(committed))",
        "memory.put('q', attributes={'a': Values([1] * 50)})",
        "probe(lambda: memory.at(Slow()))",
        "probe(lambda: treering.Memory.open(Folder()))",
    ],
)
def test_an_exit_while_daemon_threads_run_python_code_of_a_call(call: str) -> None:
    code = """
        import sys, threading, time, treering
        class Index:
            def __index__(self):
                time.sleep(0.01)
                return 1
        class Values(list):
            def __iter__(self):
                time.sleep(0.01)
                return iter(range(10))
        class Slow:
            def __getattr__(self, name):
                time.sleep(0.01)
                raise AttributeError(name)
        class Folder:
            def __fspath__(self):
                time.sleep(0.01)
                return "/nothing"
        def probe(work):
            try:
                work()
            except (TypeError, treering.TreeringError):
                pass
        sys.setswitchinterval(1e-6)
        threading.excepthook = lambda *_: None
        agent, memory = treering.in_memory(), treering.Memory.in_memory()
        with memory.draft() as draft:
            for number in range(100):
                draft.put(f"k{number}", "text " * 50)
        agent.remember_many(f"tea number {number}" for number in range(30))
        recalled, committed, view = agent.recall("tea"), memory.put("z"), memory.view()
        call = compile(sys.argv[1], "call", "eval")
        eval(call)
        def work():
            while True:
                eval(call)
        for _ in range(8):
            threading.Thread(target=work, daemon=True).start()
        # Many objects make the end of the interpreter long enough for a thread to wake up during it.
        many = [[number] for number in range(300_000)]
        time.sleep(0.2)
    """
    for _ in range(3):
        check(run(code, call), "")


def test_an_exit_waits_for_a_callback(folder: Path) -> None:
    code = """
        import sys, threading, time, treering
        started = threading.Event()
        def embed(text):
            started.set()
            time.sleep(0.5)
            print("embedded", flush=True)
            return [1.0]
        agent = treering.open(sys.argv[1], embedder=embed, embedder_name="e")
        def work():
            agent.recall("tea")
            print("never", flush=True)
        agent.memory.put("a", "tea")
        threading.Thread(target=work, daemon=True).start()
        started.wait()
    """
    check(run(code, folder), "embedded")


def test_a_forked_child_does_not_wait_for_the_callbacks_of_its_parent(folder: Path) -> None:
    code = """
        import os, sys, threading, time, treering
        started, go = threading.Event(), threading.Event()
        def embed(text):
            started.set()
            go.wait()
            return [1.0]
        agent = treering.open(sys.argv[1], embedder=embed, embedder_name="e")
        thread = threading.Thread(target=lambda: agent.remember("tea") and agent.recall("tea"))
        thread.start()
        started.wait()
        begun = time.monotonic()
        child = os.fork()
        if child == 0:
            sys.exit(0)
        print(os.waitpid(child, 0)[1], time.monotonic() - begun < 5)
        go.set()
        thread.join()
    """
    check(run(code, folder), "0 True")


@pytest.mark.parametrize("kind", ["_xxsubinterpreters", "_interpreters"])
def test_a_subinterpreter_refuses_the_import(kind: str) -> None:
    code = """
        import sys
        interpreters = __import__(sys.argv[1])
        one = interpreters.create()
        code = "try:\\n import treering\\nexcept ImportError as error:\\n print(error, flush=True)"
        interpreters.run_string(one, code)
        interpreters.destroy(one)
        import treering
    """
    pytest.importorskip(kind)
    done = run(code, kind)
    assert (done.returncode, done.stderr) == (0, "") and "subinterpreter" in done.stdout, done
