"""What the adapters share: names for ids, values in chunks, and a second try after a conflict."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ._treering import Draft, Memory, View, Writer
from .errors import ConflictError

T = TypeVar("T")

_TRIES = 20
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_SESSION = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,64}\Z")
INLINE_BYTES_MAX = 4096
"""Data up to this size is stored in the object that refers to it."""
_CHUNK_BYTES = 64 << 10
_CHUNK_BYTES_MAX = 384 << 10
_FRAME = struct.Struct("<HQ")


def label(text: str, length: int = 24) -> str:
    """Returns the text if it can be a part of an id, else a digest of it."""
    if len(text) <= length and _PLAIN.match(text):
        return text
    return "~" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def session_writer(writer: Writer, session: str) -> Writer:
    """Returns the writer for a session, so that each conversation has its own undo."""
    name = session if _SESSION.match(session) else label(session)
    return writer.replace(session=name)


def change(
    memory: Memory, op: str, stage: Callable[[Draft], T], *, writer: Writer | None = None
) -> T:
    """Stages a change on the newest state and commits it. Tries again if another writer was faster."""
    for last in range(_TRIES, 0, -1):
        memory.refresh()
        draft = memory.draft(op, writer=writer)
        done = stage(draft)
        if not draft.changes():
            draft.discard()
            return done
        try:
            draft.commit()
        except ConflictError:
            if last == 1:
                raise
            continue
        return done
    raise AssertionError("unreachable")


def remove_all(draft: Draft, ids: Iterable[str]) -> None:
    """Stages the removal of objects."""
    for one in ids:
        draft.remove(one)


class Chunks:
    """Stores values as frames of bytes in chunks that are named by their content.

    The elements of a list are frames of their own, and a chunk ends at an element that its content chooses. So two lists
    that begin alike share chunks: a conversation that grows by one message stores about that message.
    """

    def __init__(self, prefix: str, scope: str) -> None:
        self.prefix = prefix
        self.scope = scope

    def id_of(self, digest: str) -> str:
        return f"{self.prefix}{digest}"

    def put(self, draft: Draft, frames: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
        """Stages frames. Returns the attributes that find them again."""
        packed = [_packed(kind, data) for kind, data in frames]
        if sum(map(len, packed)) <= INLINE_BYTES_MAX:
            return {"inline": base64.b64encode(b"".join(packed)).decode()}
        digests: list[str] = []
        for chunk in _cut(packed):
            digest = hashlib.blake2b(chunk, digest_size=16).hexdigest()
            digests.append(digest)
            name = self.id_of(digest)
            if name not in draft:
                data = base64.b64encode(chunk).decode()
                draft.put(name, kind="chunk", scope=self.scope, attributes={"data": data})
        return {"chunks": digests}

    def get_all(self, view: View, all_attributes: list[dict[str, Any]]) -> list[list[tuple[str, bytes]]]:
        """Returns the frames that each of the attributes finds."""
        digests = list(dict.fromkeys(one for found in all_attributes for one in found.get("chunks", ())))
        objects = view.get_all([self.id_of(digest) for digest in digests])
        chunks: dict[str, bytes] = {}
        for digest, chunk in zip(digests, objects):
            if chunk is None:
                raise LookupError(f"the chunk {digest} is missing")
            chunks[digest] = base64.b64decode(chunk["data"])
        found: list[list[tuple[str, bytes]]] = []
        for attributes in all_attributes:
            if "inline" in attributes:
                data = base64.b64decode(attributes["inline"])
            else:
                data = b"".join(chunks[digest] for digest in attributes["chunks"])
            found.append(list(_unpacked(data)))
        return found


def _packed(kind: str, data: bytes) -> bytes:
    name = kind.encode()
    return _FRAME.pack(len(name), len(data)) + name + data


def _unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    place = 0
    while place < len(data):
        name_length, length = _FRAME.unpack_from(data, place)
        place += _FRAME.size
        name = data[place : place + name_length].decode()
        place += name_length
        yield name, data[place : place + length]
        place += length


def _cut(packed: list[bytes]) -> Iterator[bytes]:
    """Joins frames to chunks. About every sixteenth frame ends a chunk, and a large frame is split."""
    open_frames: list[bytes] = []
    size = 0
    for frame in packed:
        open_frames.append(frame)
        size += len(frame)
        if zlib.crc32(frame) & 15 == 0 or size >= _CHUNK_BYTES:
            yield from _split(b"".join(open_frames))
            open_frames, size = [], 0
    if open_frames:
        yield from _split(b"".join(open_frames))


def _split(chunk: bytes) -> Iterator[bytes]:
    for start in range(0, len(chunk), _CHUNK_BYTES_MAX):
        yield chunk[start : start + _CHUNK_BYTES_MAX]
