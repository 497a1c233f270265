"""The command `treering` of the wheel: the program, in the native module."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import treering

COMMAND = Path(sys.executable).with_name("treering")


def environment(home: Path) -> dict[str, str]:
    """An empty home folder. The tests stand for a person, but run without a terminal."""
    return {"HOME": str(home), "PATH": os.environ["PATH"], "TREERING_MODEL": "none", "TREERING_TRUST": "direct_user"}


def run(folder: Path, *arguments: str, command: Path = COMMAND, text: str = "") -> subprocess.CompletedProcess[str]:
    words = [str(command), *arguments]
    return subprocess.run(words, capture_output=True, text=True, input=text, check=False, cwd=folder, env=environment(folder))


def test_the_command_is_the_program(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout == f"treering {treering.__version__}\n"
    assert run(tmp_path, "no-such-verb").returncode == 2
    assert run(tmp_path, "init").returncode == 0
    stored = run(tmp_path, "remember", "-", "--scope", "global", "--json", text="The office is in Oslo")
    assert json.loads(stored.stdout)["status"] == "created"
    missing = run(tmp_path, "get", "facts/none", "--json")
    assert missing.returncode == 1 and json.loads(missing.stderr)["error"]["code"] == "not_found"
    with treering.Agent.open(tmp_path / ".treering") as agent:
        assert agent.recall("office")[0].snippet == "The office is in Oslo"


def test_the_module_runs_the_program(tmp_path: Path) -> None:
    # The folder of the package's source would hide the installed package.
    words = [sys.executable, "-m", "treering", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == f"treering {treering.__version__}\n"


def test_the_command_loads_no_class(tmp_path: Path) -> None:
    words = [sys.executable, "-X", "importtime", str(COMMAND), "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment(tmp_path))
    assert "treering" in done.stdout and "dataclasses" not in done.stderr and "treering.answers" not in done.stderr


def test_the_program_serves_mcp(tmp_path: Path) -> None:
    run(tmp_path, "init")
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    done = run(tmp_path, "serve", "--mcp", text=hello + "\n")
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "treering" and done.returncode == 0


def test_ctrl_c_ends_the_program_as_it_ends_any(tmp_path: Path) -> None:
    run(tmp_path, "init")
    words = [str(COMMAND), "remember", "-"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, cwd=tmp_path, env=environment(tmp_path)) as child:
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        assert child.wait(10) == -signal.SIGINT


def test_hooks_name_the_command_and_a_launcher_only_starts_a_server(tmp_path: Path) -> None:
    run(tmp_path, "init")
    hooks = run(tmp_path, "install", "claude-code", "--dry-run")
    assert f"{COMMAND} hook --client claude-code" in hooks.stderr

    # The cache of uv has the same file.
    cached = tmp_path / "uv" / "archive-v0" / "x1" / "bin" / "treering"
    cached.parent.mkdir(parents=True)
    shutil.copy(COMMAND, cached)
    refused = run(tmp_path, "install", "claude-code", "--dry-run", "--json", command=cached)
    assert json.loads(refused.stderr)["error"]["code"] == "not_installed"
    server = run(tmp_path, "mcp", "install", "--client", "claude-code", "--dry-run", "--json", command=cached)
    start = json.loads(server.stdout)
    assert [start["command"], *start["args"]] == ["uvx", "treering", "serve", "--mcp"]
