#!/usr/bin/env python3
"""Writes treering/answers.py from the JSON schemas of the library's answers, which the native module has.

cargo build --manifest-path python/Cargo.toml
python/generate.py python/target/debug/lib_treering.so            write the file
python/generate.py python/target/debug/lib_treering.so --check    fail if the file is not current

A class has the fields of the schema, in their order, and a base from `treering/_answer.py`. The type of a field comes from
its schema: a `format` says a time, a reference says another answer, `x-python` says the type of a native object. A field `$x` takes the
place of the field `x`; a whole commit takes the place of all fields that name a commit.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FILE = HERE / "treering" / "answers.py"
METHODS = re.findall(r"^class (\w+)Methods\b", (HERE / "treering" / "_answer.py").read_text(), re.M)

RENAMED = {
    "from": "old",
    "to": "new",
    "Change.change": "kind",
    "NotStored.place": "index",
    "NoteWritten.held": "held_as",
}
"""Names of the JSON that Python does not allow, or that an earlier release of the package had otherwise."""
AS_JSON_TEXT = {"ActingField.value"}
"""Fields of any value that users get as a text of JSON."""
ALIASES = {"Origin": "The class of trust of a writer or an object, most trusted first. The last three are untrusted."}
"""Enums that have a public name."""

HEAD = '''"""The answers of the calls, as frozen dataclasses. ``python/generate.py`` writes this file.

Each answer has ``to_dict()``, which converts it to values that ``json.dumps`` accepts, as in the JSON of the program: a time
becomes a text in RFC 3339, and a float that JSON cannot express becomes ``{"$float": "nan"}``. A notebook shows an answer as
a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from . import _answer as _a
from ._treering import Committed, Object
from .table import Table

'''


def read_schemas(module: str) -> dict[str, Any]:
    """Loads the native module without the package around it, which may not fit to it."""
    spec = importlib.util.spec_from_file_location("_treering", module)
    if spec is None or spec.loader is None:
        sys.exit(f"{module} is not a native module")
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    found: dict[str, Any] = json.loads(native.schemas())
    return found


class Classes:
    """The classes that are written, each after the classes that it needs."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self.definitions: dict[str, Any] = schemas["$defs"]
        self.names: dict[str, str] = {target(schema): name for name, schema in schemas["classes"].items()}
        self.written: dict[str, str] = {}
        self.aliases: dict[str, str] = {}

    def name_of(self, definition: str) -> str:
        """Returns the name of the class of a definition, and writes the class."""
        name = self.names.get(definition, definition)
        if name not in self.written:
            self.written[name] = ""
            text = self.class_of(name, self.definitions[definition])
            del self.written[name]
            self.written[name] = text
        return name

    def class_of(self, name: str, schema: dict[str, Any]) -> str:
        base = f"_a.{name}Methods" if name in METHODS else "_a.Answer"
        lines = ["@dataclass(frozen=True, slots=True, repr=False)", f"class {name}({base}):"]
        lines += doc(schema.get("description", "")) + [""]
        keys: dict[str, str] = {}
        reads: dict[str, str] = {}
        properties: dict[str, Any] = schema["properties"]
        replaced = {key[1:] for key in properties if key.startswith("$")}
        if "commit" in replaced:
            replaced |= {"root", "seq"}
        for key, field in properties.items():
            if key in replaced:
                continue
            kind, read = self.type_of(field, key in schema.get("required", ()))
            if f"{name}.{key}" in AS_JSON_TEXT:
                kind, read = "str", "_a.json_text"
            own = RENAMED.get(f"{name}.{key}") or RENAMED.get(key, key.removeprefix("$"))
            lines += annotation(own, kind) + doc(field.get("description", ""))
            if own != key:
                keys[own] = f'"{key}"'
            if read is not None:
                reads[own] = read
        for table, entries in (("_keys", keys), ("_reads", reads)):
            if entries:
                text = ", ".join(f'"{own}": {value}' for own, value in entries.items())
                lines += ["", *(f"    {line}" for line in textwrap.wrap(f"{table} = {{{text}}}", 110, subsequent_indent="    "))]
        return "\n".join([*lines, ""])

    def type_of(self, schema: Any, required: bool = True) -> tuple[str, str | None]:
        """Returns the type of a field, and the expression of the function that reads its value."""
        if schema is True:
            return "Any", None
        if "x-python" in schema:
            return schema["x-python"], None
        for some in ("anyOf", "oneOf"):
            others = [one for one in schema.get(some, ()) if one.get("type") != "null"]
            if len(others) == 1:
                kind, read = self.type_of(others[0])
                return f"{kind} | None", read
        if "$ref" in schema or "allOf" in schema:
            return self.type_of_definition(target(schema))
        if values := choices(schema):
            return f"Literal[{', '.join(map(json.dumps, values))}]", None
        return self.plain_type_of(schema, required)

    def plain_type_of(self, schema: dict[str, Any], required: bool) -> tuple[str, str | None]:
        given = schema.get("type")
        types = [given] if isinstance(given, str) else list(given or ())
        none = " | None" if "null" in types else ""
        kind = next((one for one in types if one != "null"), None)
        if kind == "string":
            is_time = schema.get("format") == "date-time"
            return ("datetime" if is_time else "str") + none, "_a.time" if is_time else None
        if kind == "boolean":
            return "bool" + none, None if required or none else "bool"
        if kind in ("integer", "number"):
            return ("int" if kind == "integer" else "float") + none, None
        if kind == "array":
            item, read = self.type_of(schema["items"])
            if read is not None and (made := re.fullmatch(r"_a\.one\((\w+)\)", read)):
                return f"Table[{item}]{none}", f"_a.rows({made[1]})"
            return f"tuple[{item}, ...]{none}", None
        if kind == "object":
            return f"dict[str, {self.type_of(schema['additionalProperties'])[0]}]{none}", None
        return "Any", None

    def type_of_definition(self, definition: str) -> tuple[str, str | None]:
        schema = self.definitions[definition]
        if "properties" in schema:
            name = self.name_of(definition)
            return name, f"_a.one({name})"
        if definition in ALIASES:
            self.aliases[definition] = self.type_of(schema)[0]
            return definition, None
        return self.type_of(schema)

    def text(self) -> str:
        for definition in self.names:
            self.name_of(definition)
        names = sorted([*self.written, *self.aliases, "Committed"])
        public = "".join(f'    "{name}",\n' for name in names)
        aliases = "".join(f'{name} = {kind}\n"""{ALIASES[name]}"""\n' for name, kind in self.aliases.items())
        classes = "\n\n".join(self.written.values())
        return f"{HEAD}__all__ = [\n{public}]\n\n{aliases}\n\n{classes}"


def target(schema: dict[str, Any]) -> str:
    """Returns the name of the definition that a schema refers to."""
    reference = schema["$ref"] if "$ref" in schema else schema["allOf"][0]["$ref"]
    return str(reference).rsplit("/", 1)[1]


def choices(schema: dict[str, Any]) -> list[str]:
    """Returns the names of an enum."""
    if "enum" in schema:
        return list(schema["enum"])
    found: list[str] = []
    for one in schema.get("oneOf", ()):
        found += [one["const"]] if "const" in one else choices(one)
    return found


def annotation(name: str, kind: str) -> list[str]:
    """Returns the lines of a field, of which a long list of names has more than one."""
    if len(kind) <= 100:
        return [f"    {name}: {kind}"]
    start, choices = kind.split("[", 1)
    return [f"    {name}: {start}[", *(f"        {one}" for one in textwrap.wrap(choices[:-1], 108)), "    ]"]


def doc(text: str) -> list[str]:
    """Returns a text of Rust's documentation as the lines of a text of Python's."""
    text = re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", text)
    text = re.sub(r"`(?:\w+::)+(\w+)`", r"`\1`", text)
    text = re.sub(r"`([^`]+)`", r"``\1``", re.sub(r"\bNull\b", "`None`", text))
    if not text:
        return []
    paragraphs = [textwrap.wrap(" ".join(one.split()), 110) for one in text.split("\n\n")]
    lines = [line for paragraph in paragraphs for line in ["", *paragraph]][1:]
    lines[0] = '"""' + lines[0]
    lines = lines + ['"""'] if len(lines) > 1 else [lines[0] + '"""']
    return [f"    {line}".rstrip() for line in lines]


def main() -> None:
    arguments = [one for one in sys.argv[1:] if one != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    text = Classes(read_schemas(arguments[0])).text()
    if "--check" not in sys.argv:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.exit(f"{FILE} is not current: write it with python/generate.py, whose first lines say how")


if __name__ == "__main__":
    main()
