"""The package: its names, its types, and the blocks of its documents."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import treering

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent
ROOT = PYTHON.parent
PAGES = [PYTHON / "README.md", ROOT / "docs" / "python.md"]
FRAMEWORKS = ["agents", "crewai", "google.adk", "langgraph.graph", "llama_index.core", "pydantic_ai"]


def test_every_public_name_exists_once() -> None:
    assert len(treering.__all__) == len(set(treering.__all__))
    for name in treering.__all__:
        assert getattr(treering, name) is not None


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert treering.__version__ == version("treering")


def test_the_wheel_has_both_licences() -> None:
    from importlib.metadata import files, metadata

    assert metadata("treering")["License-Expression"] == "MIT OR Apache-2.0"
    for name in ("LICENSE-APACHE", "LICENSE-MIT", "NOTICE"):
        found = [path for path in files("treering") or () if path.name == name]
        assert len(found) == 1 and found[0].read_text() == (PYTHON / name).read_text()


def test_every_public_thing_has_a_text() -> None:
    for name in ("Agent", "Memory", "Store", "View", "Draft", "Writer", "Object", "Hit", "Recalled"):
        kind = getattr(treering, name)
        assert kind.__doc__, name
        for member in vars(kind):
            if not member.startswith("_") and callable(getattr(kind, member)) and kind is not treering.Writer:
                assert getattr(kind, member).__doc__, f"{name}.{member}"


def test_the_package_is_typed() -> None:
    folder = Path(treering.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_treering.pyi").exists()


@pytest.mark.parametrize("tool", ["mypy.stubtest"])
def test_the_stubs_agree_with_the_native_module(tool: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    allowed = tmp_path / "allowed"
    allowed.write_text("")
    command = [sys.executable, "-m", tool, "treering._treering", "--allowlist", str(allowed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def blocks() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)):
            found.append((f"{page.name}-{number}", block))
    return found


@pytest.mark.parametrize(("name", "block"), blocks(), ids=[name for name, _ in blocks()])
def test_a_block_of_the_documents_runs(name: str, block: str, tmp_path: Path) -> None:
    for framework in FRAMEWORKS:
        if f"from {framework}" in block:
            pytest.importorskip(framework)
    program = tmp_path / "block.py"
    program.write_text(block)
    command = [sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_pages_have_blocks() -> None:
    for page in PAGES:
        assert any(name.startswith(page.name) for name, _ in blocks()), page


def test_the_agent_loop_runs(tmp_path: Path) -> None:
    program = ROOT / "examples" / "python" / "agent_loop.py"
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "memory")], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[2:4] for line in lines[:4]] == [["kept", "1"], ["kept", "0"], ["rolled", "back"], ["kept", "1"]]
    assert lines[-1] == "where is the office? The office is in Oslo"
    with treering.open(tmp_path / "memory", project="office") as agent:
        assert agent.verify() and "moon" not in str(agent.envelope())
