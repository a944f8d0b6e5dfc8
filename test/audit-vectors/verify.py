#!/usr/bin/env python3
"""A verifier of the audit log, written from docs/log-format.md alone. Standard library only.

usage: verify.py FOLDER OPERATOR_KEY_HEX [--allow-unattested] [--checkpoint FILE]
prints one JSON object: exit, code, frame, sealed_frame, root
"""

import base64
import hashlib
import json
import os
import re
import sys

OPEN, DATA, SEAL, ATTEST = 1, 2, 3, 4
FLAGS = {OPEN: {0}, DATA: {0, 2}, SEAL: {0, 1, 2, 3}, ATTEST: {0, 1, 2, 3}}
MAX_BODY = 4194304
ZEROS = bytes(32)

# Ed25519 (RFC 8032), verification only.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
I = pow(2, (P - 1) // 4, P)


def recover_x(y, sign):
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if x2 == 0:
        return None if sign else 0
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * I % P
    if (x * x - x2) % P:
        return None
    return P - x if (x & 1) != sign else x


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def add(a, b):
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g = 2 * a[3] * b[3] * D % P
    h = 2 * a[2] * b[2] % P
    w, x, y, z = f - e, h - g, h + g, f + e
    return (w * x % P, y * z % P, x * y % P, w * z % P)


def multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def decompress(data):
    y = int.from_bytes(data, "little")
    sign = y >> 255
    y &= (1 << 255) - 1
    x = recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


def signed_by(key, message, signature):
    a, r = decompress(key), decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    left, right = multiply(s, BASE), add(r, multiply(h, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


class Breach(Exception):
    def __init__(self, code, frame):
        super().__init__(code)
        self.code, self.frame = code, frame


def u32(data, at):
    return int.from_bytes(data[at : at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at : at + 8], "little")


def padded(size):
    return size in (512, 1024, 2048, 4096) or (size > 4096 and size % 4096 == 0)


def header_of(data, at):
    """(body_len, type, flags, frame_no), or None for bytes that are no frame's header."""
    if at + 16 > len(data):
        return None
    length, kind, flags, number = u32(data, at), data[at + 4], data[at + 5], u64(data, at + 8)
    if length > MAX_BODY or kind not in FLAGS or flags not in FLAGS[kind] or data[at + 6 : at + 8] != b"\0\0" or number >= 2**53:
        return None
    return length, kind, flags, number


class Tree:
    def __init__(self):
        self.leaves = []

    def add(self, leaf):
        self.leaves.append(hashlib.sha256(b"\0" + leaf).digest())

    def root(self, size):
        def fold(nodes):
            if len(nodes) == 1:
                return nodes[0]
            k = 1
            while k * 2 < len(nodes):
                k *= 2
            return hashlib.sha256(b"\1" + fold(nodes[:k]) + fold(nodes[k:])).digest()

        return fold(self.leaves[:size]) if size else hashlib.sha256(b"").digest()


class Log:
    def __init__(self, operator):
        self.operator = operator
        self.log_id = None
        self.next = 0
        self.link = ZEROS
        self.ended = None
        self.seal_key = None
        self.since = 0
        self.after_open = False
        self.sealed = []  # (frame, link)
        self.tree = Tree()
        self.eras = []  # [first frame, attested]
        self.era = None  # (frame, link, link before, crash)
        self.heads = {}
        self.before = None  # (length, tail, broke) of the segment before

    def segment(self, number, data):
        if len(data) < 40 or data[:8] != b"GWAUDIT1":
            raise self.carried("segment_unknown")
        if data[8:40] != self.link:
            raise self.carried("segment_not_continued")
        at, first, broke = 40, self.next, None
        while True:
            header = header_of(data, at)
            if header is None or at + 48 + header[0] > len(data):
                broke = "frame_impossible" if any(data[at:]) else None
                break
            length, kind, flags, frame = header
            body = data[at + 16 : at + 16 + length]
            link = data[at + 16 + length : at + 48 + length]
            if hashlib.sha256(data[at - 32 : at + 16 + length]).digest() != link:
                broke = "frame_link"
                break
            if frame != self.next:
                raise self.carried("frame_number")
            if (kind == OPEN) != (frame == first):
                raise Breach("frame_misplaced", frame)
            try:
                self.frame(number, data[at : at + 16], kind, flags, frame, body, link)
            except Breach as breach:
                raise self.carried(breach.code) if frame == first else breach
            self.link, self.next = link, frame + 1
            at += 48 + length
        if self.next == first:
            raise Breach(broke or "segment_empty", self.next)
        tail = data[at:].rstrip(b"\0")
        damage = self.damage(data, at, tail)
        if damage:
            raise Breach(broke or damage, self.next)
        if tail and self.ended == "clean":
            raise Breach("tail_after_stop", self.next)
        self.before = (at, tail, Breach(broke, self.next) if broke else None)

    def carried(self, code):
        broke = self.before and self.before[2]
        return broke or Breach(code, self.next)

    def damage(self, data, at, tail):
        if len(tail) > 40 + 48 + MAX_BODY:
            return "tail_too_long"
        end = at + len(tail)
        header = header_of(data[:end], at)
        if header and header[3] == self.next and len(tail) > 48 + header[0]:
            return "tail_past_frame"
        for o in range(at, end - 47):
            header = header_of(data[:end], o)
            if header and header[3] >= self.next and o + 48 + header[0] <= end:
                stop = o + 16 + header[0]
                if hashlib.sha256(data[o - 32 : stop]).digest() == data[stop : stop + 32]:
                    return "tail_holds_frames"
        return None

    def frame(self, number, header, kind, flags, frame, body, link):
        if kind == OPEN:
            return self.open(number, frame, body, link)
        if self.ended:
            raise Breach("frame_misplaced", frame)
        if kind != SEAL and self.after_open:
            raise Breach("seal_missing", frame)
        if kind == DATA:
            if flags != 2 and not padded(len(body) - 16):
                raise Breach("frame_size", frame)
            self.since += 1
        elif kind == SEAL:
            self.seal(header, flags, frame, body, link)
        else:
            self.attest(flags, frame, body)

    def open(self, number, frame, body, link):
        if len(body) < 188 or body[25] > 16 or len(body) != 188 + 96 * body[25] or body[24] not in (1, 2, 3, 4) or body[26:28] != b"\0\0":
            raise Breach("open_malformed", frame)
        reason = {1: "genesis", 2: "rotate", 3: "boot", 4: "crash"}[body[24]]
        if self.log_id not in (None, body[:16]):
            raise Breach("open_other_log", frame)
        if u64(body, 16) != number:
            raise Breach("open_other_number", frame)
        length, torn, torn_hash = u64(body, 108), u64(body, 116), body[124:156]
        if self.before is None:
            if reason != "genesis" or number != 1 or frame != 0 or length or torn:
                raise Breach("segment_not_first", frame)
        else:
            if length != self.before[0]:
                raise Breach("length_mismatch", frame)
            tail = self.before[1]
            if torn != len(tail) or torn_hash != (hashlib.sha256(tail).digest() if tail else ZEROS):
                raise Breach("tail_mismatch", frame)
            fits = {
                "genesis": False,
                "rotate": self.ended == "rotate" and not torn,
                "boot": self.ended == "clean" and not torn,
                "crash": self.ended != "clean",
            }[reason]
            if not fits:
                raise Breach("open_reason", frame)
            if reason == "rotate" and body[76:108] != self.seal_key:
                raise Breach("open_seal_key", frame)
        self.log_id = body[:16]
        if reason != "rotate":
            self.era = (frame, link, self.link, reason == "crash")
            self.eras.append([frame, False])
            self.heads = {}
        self.ended, self.seal_key, self.since, self.after_open = None, body[76:108], 1, True
        self.heads[frame] = link

    def seal(self, header, flags, frame, body, link):
        if len(body) != 112 or flags == 3 or (flags & 1 and body[16:48] != ZEROS):
            raise Breach("seal_malformed", frame)
        if u64(body, 0) != self.since:
            raise Breach("seal_count", frame)
        if not signed_by(self.seal_key, b"gw-audit-v1 seal" + self.log_id + self.link + header + body[:48], body[48:]):
            raise Breach("seal_signature", frame)
        self.ended = "clean" if flags & 1 else "rotate" if flags & 2 else None
        self.seal_key, self.since, self.after_open = body[16:48], 0, False
        self.sealed.append((frame, link))
        self.tree.add(header + body + link)
        self.heads[frame] = link

    def attest(self, flags, frame, body):
        size = body[160] if len(body) > 160 else 255
        fields, signature = body[: 161 + size], body[161 + size :]
        message = b"gw-audit-v1 attest" + self.log_id + bytes([flags]) + fields
        if size > 64 or len(signature) != 64 or not signed_by(body[128:160], message, signature):
            raise Breach("attest_malformed", frame)
        open_frame, open_link, before, crash = self.era
        if (
            (u64(body, 0), body[8:40]) != (open_frame, open_link)
            or self.heads.get(u64(body, 40)) != body[48:80]
            or (u64(body, 80), body[88:120]) != (max(0, open_frame - 1), before)
            or bool(flags & 1) != crash
        ):
            raise Breach("attest_mismatch", frame)
        self.since += 1
        if body[128:160] == self.operator:
            self.eras[-1][1] = True
            if flags & 2:  # and for the parts before that nobody attested
                for era in self.eras:
                    era[1] = True


def check_checkpoint(log, text):
    body, _, signatures = text.rpartition("\n\n")
    body += "\n"
    origin, size, root, last = body.splitlines()[:4]
    if origin != "gw-audit/" + log.log_id.hex():
        return "checkpoint_other_log"
    good = False
    for line in signatures.splitlines():
        _, name, blob = line.split(" ")
        blob = base64.b64decode(blob)
        key_hash = hashlib.sha256(name.encode() + b"\n\1" + log.operator).digest()[:4]
        good = good or (blob[:4] == key_hash and signed_by(log.operator, body.encode(), blob[4:]))
    if not good:
        return "checkpoint_signature"
    size = int(size)
    if size > len(log.sealed):
        return "checkpoint_behind"
    frame, link = log.sealed[size - 1]
    if base64.b64decode(root) != log.tree.root(size) or last.split(" ")[1:3] != [str(frame), link.hex()]:
        return "checkpoint_mismatch"
    return None


def verify(folder, operator, allow_unattested, checkpoint):
    log = Log(operator)
    try:
        names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"\d{10}\.gwlog", name))
        for index, name in enumerate(names, 1):
            if int(name[:10]) != index:
                raise Breach("segment_missing", log.next)
            with open(os.path.join(folder, name), "rb") as file:
                log.segment(index, file.read())
        if log.before[1]:
            raise Breach("tail_undeclared", log.next)
        code = check_checkpoint(log, checkpoint) if checkpoint else None
        if code:
            raise Breach(code, log.next)
        for frame, attested in log.eras:
            if not attested and not allow_unattested:
                raise Breach("unattested", frame)
    except Breach as breach:
        return answer(log, 1, breach.code, breach.frame)
    return answer(log, 0, None, None)


def answer(log, exit_code, code, frame):
    sealed = log.sealed[-1][0] if log.sealed else None
    return {"exit": exit_code, "code": code, "frame": frame, "sealed_frame": sealed, "root": log.tree.root(len(log.sealed)).hex()}


if __name__ == "__main__":
    arguments = sys.argv[1:]
    note = None
    if "--checkpoint" in arguments:
        with open(arguments[arguments.index("--checkpoint") + 1], encoding="utf-8") as file:
            note = file.read()
    print(json.dumps(verify(arguments[0], bytes.fromhex(arguments[1]), "--allow-unattested" in arguments, note)))
