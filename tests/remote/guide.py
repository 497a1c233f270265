"""Runs the commands of a page in a folder, and compares their output with the page.

Run: guide.py PAGE FOLDER PROGRAM [--write]. Blocks are as in tests/it/guide.rs. Digests, times and sizes are masked;
--write puts the real output into the page.
"""

import os
import pathlib
import re
import subprocess
import sys

MASKS = [
    (r"\b[0-9a-f]{8,}\b", "DIGEST"),
    (r"\b[\d.]+ (bytes|KiB|MiB)\b", "SIZE"),
    (r"\b20\d\d-\S+T\S+", "TIME"),
]


def masked(text):
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return text


def main():
    page, folder, program = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    environment = {**os.environ, "HOME": str(folder / "home"), "TREERING_TRUST": "direct_user"}
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    (folder / "home").mkdir(exist_ok=True)
    written, wrong, steps, inside, shown = [], [], 0, False, []
    lines = page.read_text().splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        written.append(line)
        at += 1
        inside = line == "```console" if line.startswith("```") else inside
        if not (inside and line.startswith("$ ")):
            continue
        shown = []
        while not lines[at].startswith(("$ ", "```")):
            shown.append(lines[at])
            at += 1
        done = subprocess.run(["bash", "-c", f"exec 2>&1\n{line[2:]}"], cwd=folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False, timeout=120)
        text = done.stdout.replace(str(folder), "/home/you/agent")
        if done.returncode:
            sys.exit(f"{line}: exit code {done.returncode}\n{text}")
        printed = [row.rstrip() for row in text.splitlines()]
        if masked("\n".join(printed)) != masked("\n".join(shown)):
            wrong.append("\n".join([line, "shown:", *shown, "printed:", *printed]))
        written += printed
        steps += 1
    if "--write" in sys.argv:
        page.write_text("\n".join(written) + "\n")
    elif wrong:
        sys.exit(f"{page.name} differs from the real output; --write rewrites the page\n" + "\n\n".join(wrong))
    print(f"{page.name}: {steps} commands")


main()
