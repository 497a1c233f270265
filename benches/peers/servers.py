#!/usr/bin/env python3
"""Compares Treering with the MCP reference memory server: measures single calls alternately in one run.

Needs Node.js and npm, and installs the server into a temporary folder. Calls the server over stdio, as agents do. Calls
Treering in three ways: as an MCP server over stdio, as a library in a process that reads calls from stdin
(`src/bin/linked.rs`), and as a new process for each call.

    cargo build --release --features mcp
    cargo build --release --manifest-path benches/peers/Cargo.toml --bin linked
    python3 benches/peers/servers.py [MEMORIES ...]   # the sizes to measure at, 1,000 10,000 100,000 if none is given
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 15
PACKAGE = "@modelcontextprotocol/server-memory"


def text(number):
    topic = ["the build", "the release", "tea", "the office", "the database"][number % 5]
    return f"Fact {number} about {topic}: in week {number % 52} the team decided to keep it."


class Stdio:
    """A server of the Model Context Protocol, called over stdio."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, **environment),
            text=True,
        )
        self.number = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.call("initialize", client)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def call(self, method, parameters):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                assert "error" not in answer and not answer["result"].get("isError"), answer
                return answer["result"]

    def tool(self, name, arguments):
        return self.call("tools/call", {"name": name, "arguments": arguments})


class Server(Stdio):
    """The reference server."""

    def __init__(self, folder):
        subprocess.run(["npm", "install", "--silent", "--prefix", folder, PACKAGE], check=True, stdout=subprocess.DEVNULL)
        main = os.path.join(folder, "node_modules", PACKAGE, "dist", "index.js")
        super().__init__(["node", main], MEMORY_FILE_PATH=os.path.join(folder, "memory.jsonl"))

    def remember(self, numbers):
        entities = [{"name": f"fact/{one}", "entityType": "fact", "observations": [text(one)]} for one in numbers]
        self.tool("create_entities", {"entities": entities})

    def recall(self, query):
        return self.tool("search_nodes", {"query": query})


class Treering:
    """The program `treering`, started for each call."""

    def __init__(self, folder, program):
        self.command = [program, "--store", os.path.join(folder, "store"), "--json"]
        subprocess.run(self.command + ["init"], check=True, stdout=subprocess.DEVNULL)

    def run(self, arguments, given=None):
        done = subprocess.run(self.command + arguments, input=given, check=True, capture_output=True, text=True)
        return done.stdout

    def remember(self, numbers):
        if len(numbers) == 1:
            self.run(["remember", text(numbers[0]), "--id", f"fact/{numbers[0]}"])
            return
        lines = [json.dumps({"id": f"fact/{one}", "text": text(one)}) for one in numbers]
        self.run(["remember", "--jsonl", "-"], "\n".join(lines))

    def recall(self, query):
        return self.run(["recall", query, "--limit", "10"])


class Served(Stdio):
    """Treering as a server. The program fills its store, because the server takes one text a call."""

    def __init__(self, folder, program):
        folder = os.path.join(folder, "served")
        os.makedirs(folder)
        self.filler = Treering(folder, program)
        super().__init__([program, "serve", "--mcp", "--scope", "global", "--store", os.path.join(folder, "store")])

    def remember(self, numbers):
        if len(numbers) > 1:
            self.filler.remember(numbers)
            return
        self.tool("memory_remember", {"text": text(numbers[0]), "id": f"fact/{numbers[0]}"})

    def recall(self, query):
        return self.tool("memory_recall", {"query": query})


class Linked:
    """A process that uses Treering as a library, as an agent host does."""

    def __init__(self, folder, program):
        self.process = subprocess.Popen(
            [program, os.path.join(folder, "linked")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def call(self, call):
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer.startswith("ok"), answer

    def remember(self, numbers):
        self.call({"remember": [{"id": f"fact/{one}", "text": text(one)} for one in numbers]})

    def recall(self, query):
        self.call({"recall": query})


def grow(peer, first, last):
    """Stores the facts of the numbers from `first` to below `last`, 1,000 a call."""
    for start in range(first, last, 1_000):
        peer.remember(list(range(start, min(start + 1_000, last))))


def measure(peers, memories, rounds):
    """Returns the median seconds of one call by verb and peer. The peers take turns.

    Before each turn, the system writes what is not on disk yet. Otherwise a peer that syncs would wait for the file that
    another one wrote without a sync.
    """
    times = {verb: {name: [] for name in peers} for verb in ("remember", "recall")}
    for turn in range(rounds):
        for name, peer in peers.items():
            os.sync()
            start = time.perf_counter()
            peer.remember([10_000_000 + memories + turn])
            middle = time.perf_counter()
            peer.recall(f"Fact {turn * 61 % memories} about")
            times["remember"][name].append(middle - start)
            times["recall"][name].append(time.perf_counter() - middle)
    return {verb: {name: statistics.median(of) for name, of in by.items()} for verb, by in times.items()}


def main():
    sizes = sorted(int(size) for size in sys.argv[1:]) or [1_000, 10_000, 100_000]
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    program = os.environ.get("TREERING", os.path.join(root, "target", "release", "treering"))
    with tempfile.TemporaryDirectory() as folder:
        linked = os.environ.get("TREERING_LINKED", os.path.join(root, "benches", "peers", "target", "release", "linked"))
        peers = {
            "Treering over MCP": Served(folder, program),
            "Treering, linked in": Linked(folder, linked),
            "Treering, a process each": Treering(folder, program),
            "server-memory": Server(folder),
        }
        print(f"| one call | memories | {' | '.join(peers)} | MCP against server-memory |")
        print(f"|---|---|{'---|' * len(peers)}---|")
        stored = 0
        for size in sizes:
            for peer in peers.values():
                grow(peer, stored, size)
            stored = size
            for verb, by in measure(peers, size, ROUNDS).items():
                cells = " | ".join(f"{by[name] * 1e3:.1f} ms" for name in peers)
                ratio = by["server-memory"] / by["Treering over MCP"]
                print(f"| {verb} | {size:,} | {cells} | {ratio:.0f} x |", flush=True)
        for name in ("Treering over MCP", "Treering, linked in", "server-memory"):
            peers[name].process.kill()


if __name__ == "__main__":
    main()
