"""No call from Python crashes the interpreter or shows a panic."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("robustness.py")


@pytest.mark.parametrize("seed", [1, 2])
def test_ten_thousand_random_calls_end_with_a_clean_exit(seed: int) -> None:
    calls = 10_000 if seed == 1 else 2_000
    command = [sys.executable, "-X", "faulthandler", str(PROGRAM), str(seed), str(calls)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=PROGRAM.anchor)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "panic" not in done.stderr and "Fatal" not in done.stderr, done.stderr[-3000:]
    assert "answered" in done.stdout and "TypeError" in done.stdout and "HandleError" in done.stdout
