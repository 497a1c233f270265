"""Compares calls from Python with the same calls from Rust, in one run, and measures two threads.

    python bench.py [--quick] [--json FILE]

Needs the installed wheel and cargo. Both sides take turns on one folder, so that both meet the same disk and machine. A put is
on disk when it returns. Prints a table and JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
# This folder has the source of the package, without its native module.
sys.path = [folder for folder in sys.path if Path(folder).resolve() != HERE]

import treering  # noqa: E402
from treering import Agent  # noqa: E402

WORDS = ("office", "garden", "kettle", "harbour", "engine", "window", "winter", "letter")
# The bar of each figure: at most this ratio, or at least this speed-up.
BARS = {"recall": 1.5, "put": 1.2, "threads": 1.7}


def fill(folder: Path, items: int) -> None:
    with treering.open(folder, project="bench") as agent:
        texts = (
            f"The {WORDS[number % 8]} of house {number} is next to the {WORDS[number // 8 % 8]} number {number * 7919 % items}."
            for number in range(items)
        )
        agent.remember_many(texts, batch=2000)


def timed(count: int, work: Callable[[int], object]) -> float:
    """Returns the median time of a call in nanoseconds."""
    times: list[int] = []
    for number in range(count):
        start = time.perf_counter_ns()
        work(number)
        times.append(time.perf_counter_ns() - start)
    return median(times)


class Rust:
    """The other process, which makes the calls from Rust."""

    def __init__(self, folder: Path) -> None:
        manifest = HERE / "benches" / "rust" / "Cargo.toml"
        target = os.environ.get("CARGO_TARGET_DIR", str(HERE / "target"))
        command = ["cargo", "build", "--release", "--quiet", "--manifest-path", str(manifest)]
        subprocess.run(command, check=True, env={**os.environ, "CARGO_TARGET_DIR": target})
        program = Path(target) / "release" / "treering-python-bench"
        self.process = subprocess.Popen(
            [str(program), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, command: str) -> float:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(command + "\n")
        stdin.flush()
        return float(stdout.readline())

    def end(self) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        stdin.close()
        self.process.wait()


def recall(agent: Agent, number: int) -> None:
    found = agent.recall(f"where is the {WORDS[number % 8]}", touch=False)
    assert found[0].snippet


def compared(name: str, rust: Rust, work: Callable[[int, int], object], rounds: int, count: int) -> dict[str, float]:
    """Lets both sides take turns. The ratio is the median of the ratios of all rounds."""
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(rounds):
        for side in ("python", "rust") if number % 2 else ("rust", "python"):
            if side == "rust":
                theirs.append(rust.ask(f"{name} {count}"))
            else:
                ours.append(timed(count, lambda call, number=number: work(number, call)))  # type: ignore[misc]
    ratios = [one / other for one, other in zip(ours, theirs)]
    return {"python_us": median(ours) / 1e3, "rust_us": median(theirs) / 1e3, "ratio": median(ratios)}


def in_threads(agent: Agent, threads: int, calls: int) -> float:
    """Returns the number of recalls per second with so many threads."""

    def work() -> None:
        for number in range(calls):
            recall(agent, number)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * calls / (time.perf_counter() - start)


def worker(folder: str, calls: int, start: Barrier, rates: SimpleQueue[float]) -> None:
    """Recalls in a process of its own, and reports the number of recalls per second."""
    with treering.open(folder, project="bench", read_only=True) as agent:
        recall(agent, 0)
        start.wait()
        rates.put(in_threads(agent, 1, calls))


def in_processes(folder: Path, processes: int, calls: int) -> float:
    """Returns the number of recalls per second with so many processes, which share no GIL."""
    context = multiprocessing.get_context("spawn")
    start, rates = context.Barrier(processes), context.SimpleQueue()
    workers = [context.Process(target=worker, args=(str(folder), calls, start, rates)) for _ in range(processes)]
    for one in workers:
        one.start()
    total = float(sum(rates.get() for _ in workers))
    for one in workers:
        one.join()
    return total


def speed_up(agent: Agent, folder: Path, rounds: int, calls: int) -> dict[str, float]:
    """Compares two threads with one, and with two processes. Takes the best round of each: other programs only slow down."""
    singles: list[float] = []
    doubles: list[float] = []
    processes: list[float] = []
    for _ in range(rounds):
        singles.append(in_threads(agent, 1, calls))
        doubles.append(in_threads(agent, 2, calls))
        processes.append(in_processes(folder, 2, calls))
    one, two, apart = max(singles), max(doubles), max(processes)
    return {
        "one_per_s": one,
        "two_per_s": two,
        "two_processes_per_s": apart,
        "ratio": two / one,
        "of_processes": two / apart,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares calls from Python with calls from Rust.")
    parser.add_argument("--quick", action="store_true", help="fewer items and calls")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    items, rounds, calls = (2_000, 5, 200) if options.quick else (20_000, 11, 500)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        fill(store, items)
        rust = Rust(store)
        with treering.open(store, project="bench") as agent:
            recall(agent, 0)
            rust.ask("recall 8")
            figures = {"recall": compared("recall", rust, lambda _, call: recall(agent, call), rounds, calls)}
            figures["threads"] = speed_up(agent, store, rounds, calls)
            memory = agent.memory

            def put(number: int, call: int) -> None:
                memory.put(f"python/{number}/{call}", f"The text of object {call} of round {number}.")

            figures["put"] = compared("put", rust, put, rounds, calls)
        rust.end()
    print(f"{items} items, {rounds} rounds of {calls} calls; medians")
    for name in ("recall", "put"):
        found = figures[name]
        bar = f"at most {BARS[name]}"
        print(f"{name:8} python {found['python_us']:8.1f} us   rust {found['rust_us']:8.1f} us   ratio {found['ratio']:.2f} ({bar})")
    found = figures["threads"]
    print(
        f"threads  one {found['one_per_s']:11.0f} /s   two {found['two_per_s']:11.0f} /s   "
        f"ratio {found['ratio']:.2f} (at least {BARS['threads']}); two processes {found['two_processes_per_s']:.0f} /s"
    )
    text = json.dumps({"items": items, "rounds": rounds, "calls": calls, **figures}, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    met = figures["threads"]["ratio"] >= BARS["threads"] and all(
        figures[name]["ratio"] <= BARS[name] for name in ("recall", "put")
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
