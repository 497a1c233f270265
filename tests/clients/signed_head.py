"""A second verifier of signed heads, cosignatures and requests, from the texts of RFC 8032, RFC 9162 and C2SP alone.

It shares no code with Treering and needs only the standard library. On standard input it reads a list of cases in JSON,
{"keys": [VKEY], "text": NOTE or REQUEST, "commits": [HEX] or null, "old": BASE64 or null}. For each it prints a line:
the names of the keys that signed, or `refused`. `commits` are all commit digests of the line, oldest first.
"""

import base64
import hashlib
import json
import re
import struct
import sys

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)


class Refused(Exception):
    pass


def demand(holds):
    if not holds:
        raise Refused


# Ed25519, RFC 8032, section 5.1: points in extended coordinates (X, Y, Z, T).
def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number, point):
    total = (0, 1, 1, 0)
    while number:
        if number & 1:
            total = add(total, point)
        point, number = add(point, point), number >> 1
    return total


def same(p, q):
    return (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0


def point_of(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    demand(y < P)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_1 % P
    demand((x * x - square) % P == 0 and not (x == 0 and sign))
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def check_signature(public, message, signature):
    demand(len(public) == 32 and len(signature) == 64)
    key, r = point_of(public), point_of(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    demand(s < Q)
    hashed = hashlib.sha512(signature[:32] + public + message).digest()
    demand(same(times(s, BASE), add(r, times(int.from_bytes(hashed, "little") % Q, key))))


# Notes, keys and checkpoints of C2SP.
def decoded(text):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Refused from None
    demand(base64.b64encode(data).decode() == text)
    return data


def key_of(vkey):
    name, key_id, data = vkey.split("+", 2)
    data = decoded(data)
    demand(hashlib.sha256(name.encode() + b"\n" + data).digest()[:4].hex() == key_id)
    return (name, bytes.fromhex(key_id)), data[0], data[1:]


def number_in(text):
    demand(re.fullmatch("0|[1-9][0-9]*", text))
    return int(text)


def check_note(note, keys):
    demand(not re.search("[\x00-\x09\x0b-\x1f]", note) and "\n\n" in note and note.endswith("\n"))
    body, lines = note.rsplit("\n\n", 1)
    body += "\n"
    known = {key: (kind, public) for key, kind, public in map(key_of, keys)}
    signers = []
    for line in lines[:-1].split("\n"):
        found = re.fullmatch("\u2014 ([^\\s+]+) (\\S+)", line)
        demand(found)
        data = decoded(found[2])
        demand(len(data) > 4)
        kind, public = known.get((found[1], data[:4]), (None, None))
        if kind == 1:
            check_signature(public, body.encode(), data[4:])
            signers.append(found[1])
        elif kind == 4:
            (seconds,) = struct.unpack(">Q", data[4:12])
            check_signature(public, f"cosignature/v1\ntime {seconds}\n{body}".encode(), data[12:])
            signers.append(f"{found[1]}@{seconds}")
    demand(any("@" not in signer for signer in signers))
    origin, size, root = body.split("\n")[:3]
    demand(origin and len(decoded(root)) == 32)
    return number_in(size), decoded(root), signers


# The tree of RFC 9162, section 2.1.
def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def root_of(leaves):
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return node(root_of(leaves[:half]), root_of(leaves[half:]))


def check_consistency(old, old_root, size, root, proof):
    demand(old <= size)
    if old == 0 or old == size:
        demand(not proof and (old == 0 or old_root == root))
        return
    path = ([old_root] if old & (old - 1) == 0 else []) + proof
    demand(path)
    fn, sn = old - 1, size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for c in path[1:]:
        demand(sn)
        if fn & 1 or fn == sn:
            fr, sr = node(c, fr), node(c, sr)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, c)
        fn, sn = fn >> 1, sn >> 1
    demand(fr == old_root and sr == root and sn == 0)


def check(case):
    text, old, proof = case["text"], None, []
    if text.startswith("old "):
        head, text = text.split("\n\n", 1)
        old, *proof = head.split("\n")
        old, proof = number_in(old[4:]), [decoded(line) for line in proof]
    size, root, signers = check_note(text, case["keys"])
    if case.get("commits") is not None:
        leaves = [bytes.fromhex(commit) for commit in case["commits"]]
        demand(len(leaves) >= size and root_of(leaves[:size]) == root)
    if old is not None:
        check_consistency(old, decoded(case["old"]) if old else b"", size, root, proof)
    return " ".join(signers)


for case in json.load(sys.stdin):
    try:
        print(check(case))
    except (Refused, ValueError, IndexError, struct.error):
        print("refused")
