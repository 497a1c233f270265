"""The common part of the adapters: names for ids, values in chunks, and a second try after a conflict."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ._treering import Draft, Memory, View, Writer
from .errors import ConflictError

T = TypeVar("T")

TRIES = 20
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_SESSION = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,64}\Z")
INLINE_BYTES_MAX = 4096
"""Data up to this size is stored in the object that refers to it."""
_CHUNK_BYTES = 64 << 10
_CHUNK_BYTES_MAX = 384 << 10
# On average, every fourth element of a list ends a chunk, and every eighth name of a chunk.
_ELEMENTS_MASK = 3
_DIGESTS_MASK = 7
_DIGESTS_MAX = 32
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
    for last in range(TRIES, 0, -1):
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
    that begin alike share chunks: a conversation that grows by one message stores a few messages. The names of many chunks
    are stored in chunks in the same way, so that a long list has a short value.
    """

    def __init__(self, prefix: str, scope: str) -> None:
        self.prefix = prefix
        self.scope = scope
        self.shared = False
        """Whether a value was staged that shares a stored chunk."""

    def id_of(self, digest: str) -> str:
        return f"{self.prefix}{digest}"

    def put(self, draft: Draft, frames: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
        """Stages frames. Returns the attributes that find them again."""
        packed = [_packed(kind, data) for kind, data in frames]
        if sum(map(len, packed)) <= INLINE_BYTES_MAX:
            return {"inline": base64.b64encode(b"".join(packed)).decode()}
        digests, depth = self._put_chunks(draft, _cut(packed, 1, _ELEMENTS_MASK)), 0
        while len(digests) > _DIGESTS_MAX:
            names = [_packed("", digest.encode()) for digest in digests]
            digests, depth = self._put_chunks(draft, _cut(names, 2, _DIGESTS_MASK)), depth + 1
        return {"chunks": digests, "depth": depth}

    def _put_chunks(self, draft: Draft, chunks: Iterable[bytes]) -> list[str]:
        digests: list[str] = []
        base = draft.base
        for chunk in chunks:
            digest = hashlib.blake2b(chunk, digest_size=16).hexdigest()
            digests.append(digest)
            name = self.id_of(digest)
            kept = base.get(name)
            if kept is not None:
                # Another writer may remove the chunk before this commit, which then fails and is tried again.
                draft.expect(name, kept.digest)
                self.shared = True
            elif name not in draft:
                data = base64.b64encode(chunk).decode()
                draft.put(name, kind="chunk", scope=self.scope, attributes={"data": data})
        return digests

    def get_all(self, view: View, all_attributes: list[dict[str, Any]]) -> list[list[tuple[str, bytes]]]:
        """Returns the frames that each of the attributes finds."""
        found: list[list[tuple[str, bytes]]] = []
        chunks, _ = self._read(view, all_attributes)
        for attributes, data in zip(all_attributes, chunks):
            inline = attributes.get("inline")
            found.append(list(_unpacked(data if inline is None else base64.b64decode(inline))))
        return found

    def ids_of(self, view: View, all_attributes: list[dict[str, Any]]) -> set[str]:
        """Returns the ids of all chunks that the attributes refer to."""
        return self._read(view, all_attributes)[1]

    def _read(self, view: View, all_attributes: list[dict[str, Any]]) -> tuple[list[bytes], set[str]]:
        """Returns the joined chunks of each of the attributes, and the ids of all chunks."""
        wanted = [[str(one) for one in found.get("chunks", ())] for found in all_attributes]
        depths = [int(found.get("depth", 0)) for found in all_attributes]
        ids: set[str] = set()
        joined = [b""] * len(wanted)
        for depth in range(max(depths, default=0), -1, -1):
            places = [place for place, one in enumerate(depths) if one == depth]
            chunks = self._load(view, [digest for place in places for digest in wanted[place]])
            ids.update(map(self.id_of, chunks))
            for place in places:
                data = b"".join(chunks[digest] for digest in wanted[place])
                if depth:
                    wanted[place] = [name.decode() for _, name in _unpacked(data)]
                    depths[place] -= 1
                else:
                    joined[place] = data
        return joined, ids

    def _load(self, view: View, digests: list[str]) -> dict[str, bytes]:
        digests = list(dict.fromkeys(digests))
        objects = view.get_all([self.id_of(digest) for digest in digests])
        chunks: dict[str, bytes] = {}
        for digest, chunk in zip(digests, objects):
            if chunk is None:
                raise LookupError(f"the chunk {digest} is missing")
            chunks[digest] = base64.b64decode(chunk["data"])
        return chunks


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


def _cut(packed: list[bytes], frames_min: int, mask: int) -> Iterator[bytes]:
    """Joins frames to chunks. A frame whose digest has no bit of the mask ends a chunk, and a large frame is split."""
    open_frames: list[bytes] = []
    size = 0
    for frame in packed:
        open_frames.append(frame)
        size += len(frame)
        # A checksum such as CRC would not do: the checksums of similar texts have similar low bits.
        number = hashlib.blake2b(frame, digest_size=1).digest()[0]
        is_end = number & mask == 0 and len(open_frames) >= frames_min
        if is_end or size >= _CHUNK_BYTES:
            yield from _split(b"".join(open_frames))
            open_frames, size = [], 0
    if open_frames:
        yield from _split(b"".join(open_frames))


def _split(chunk: bytes) -> Iterator[bytes]:
    for start in range(0, len(chunk), _CHUNK_BYTES_MAX):
        yield chunk[start : start + _CHUNK_BYTES_MAX]
