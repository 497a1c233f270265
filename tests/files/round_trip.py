#!/usr/bin/env python3
"""Ingests a folder of real files, exports the store in each format, and ingests the export into an empty store.

usage: tests/files/round_trip.py FOLDER... [--program PATH]

Prints for each folder the number of documents and objects, and for each format whether the root is the same. Exits with 1
if a root differs, a file is refused, or a line of a document is in no object.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FORMATS = ("org", "markdown", "jsonl")
# Marks and spaces may be in an attribute, or be dropped around a text. The words must all be there.
WORD = re.compile(r"\w+")
# The scan takes these invisible characters out.
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
# The words of the syntax of Org, which become fields.
SYNTAX = {"properties", "end", "id", "title", "filetags", "closed", "deadline", "scheduled"}


def run(program, folder, *arguments, check=True):
    """Runs the program in a folder and returns its output."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("TREERING_")
    }
    environment["HOME"] = str(folder)
    done = subprocess.run(
        [program, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def root_of(program, folder, store):
    return json.loads(run(program, folder, "head", "--json", "--store", store))["root"]


def words_of(value):
    """Returns the words of all texts in a JSON value."""
    if isinstance(value, str):
        return set(WORD.findall(INVISIBLE.sub("", value).lower()))
    if isinstance(value, dict):
        return set().union(*(words_of(key) | words_of(one) for key, one in value.items()))
    if isinstance(value, list):
        return set().union(*map(words_of, value))
    return set(WORD.findall(str(value).lower()))


def lost_words(source, lines, withheld):
    """Returns the documents with words that no object of theirs has."""
    words = {}
    for line in lines:
        path = line["id"].split("#")[0]
        words.setdefault(path, set()).update(words_of([line["id"], line.get("attributes"), line.get("content")]))
    # A document may share an object with another one, so the words of all of them count.
    everywhere = set().union(*words.values()) if words else set()
    skipped = {place.rsplit(":", 1)[0] for place in withheld}
    lost = {}
    for path in words:
        file = source.parent / path
        if path in skipped or not file.is_file():
            continue
        text = file.read_text(encoding="utf-8-sig")
        missing = words_of(text) - everywhere - SYNTAX
        if missing:
            lost[path] = sorted(missing)[:5]
    return lost


def check(program, source, scratch):
    """Checks one folder. Returns whether everything came back."""
    source = source.resolve()
    work = source.parent
    store = str(scratch / "store")
    run(program, work, "init", "--store", store)
    answer = json.loads(
        run(program, work, "ingest", source.name, "--scope", "global", "--skip-bad", "--json", "--store", store)
    )
    root = root_of(program, work, store)
    print(
        f"{source.name}: {answer['documents']} documents, {answer['objects']} objects, flagged {answer['flagged']}, "
        f"withheld {len(answer['withheld'])}, redacted {answer['redacted']}, skipped {len(answer['skipped'])}"
    )
    is_right = True
    for bad in answer["skipped"]:
        print(f"  refused: {bad['path']}: {bad['message']}")
        is_right = False
    lines = [json.loads(line) for line in run(program, work, "export", "--store", store).splitlines()]
    if answer["redacted"] == 0:
        for path, words in lost_words(source, lines, answer["withheld"]).items():
            print(f"  lost words of {path}: {words}")
            is_right = False
    for form in FORMATS:
        out, copy = scratch / f"out-{form}", str(scratch / f"copy-{form}")
        out.mkdir()
        try:
            if form == "jsonl":
                (out / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
                run(program, out, "init", "--store", copy)
                run(program, out, "put", "--jsonl", "all.jsonl", "--trust", "direct_user", "--store", copy)
            else:
                run(program, work, "export", "--format", form, str(out), "--store", store)
                run(program, out, "init", "--store", copy)
                run(program, out, "ingest", ".", "--store", copy)
            is_same = root_of(program, out, copy) == root
            print(f"  {form}: {'the same root' if is_same else 'ANOTHER ROOT'}")
            if not is_same:
                show_difference(program, out, copy, lines)
            is_right &= is_same
        except RuntimeError as error:
            print(f"  {form}: {error}")
            is_right = False
    return is_right


def show_difference(program, folder, copy, lines):
    """Prints the first objects that differ."""
    known = {line["id"]: line for line in lines}
    others = {}
    for line in run(program, folder, "export", "--store", copy).splitlines():
        line = json.loads(line)
        others[line["id"]] = line
    different = [name for name in sorted({*known, *others}) if known.get(name) != others.get(name)]
    print(f"    {len(different)} objects differ")
    for name in different[:3]:
        print(f"    before: {json.dumps(known.get(name))[:600]}\n    after:  {json.dumps(others.get(name))[:600]}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folders", nargs="+", type=Path)
    arguments.add_argument("--program", default="target/release/treering")
    options = arguments.parse_args()
    program = str(Path(options.program).resolve())
    is_right = True
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as scratch:
            is_right &= check(program, folder, Path(scratch))
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
