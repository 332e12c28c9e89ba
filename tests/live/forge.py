# SPDX-License-Identifier: MIT
"""The members' messages as bytes, and a member that sends any of them: frames, letters, Raft's messages."""

import socket
import struct

HELLO, BEAT, LETTER, OPEN, COUNCIL, NOTICE, AGREEMENT, GRANT = range(1, 9)
LOCK, LEADER, BALLOT = 1, 2, 3  # subjects
MAGIC, VERSION = 0x434c434e, 6
STATIC, RAFT = 1, 2  # modes
DISMISSED = 1  # a refusal
NOBODY = 0xffffffff


class Learnt:
    rules = b""


def frame(kind, body):
    return struct.pack("<IB", len(body) + 1, kind) + body


def hello(group=0, sender=1, to=3, magic=MAGIC, version=VERSION, stream=77, mode=RAFT, refusal=0, heard=0, expects=1,
          directory=1, rules=None):
    """`rules`: a fingerprint of the sender's rules for locks and elections; those of the node that was learnt about last."""
    return frame(HELLO, struct.pack("<IIQIIQQQQBBBBIIQQ", magic, version, group, sender, to, stream, heard, expects, 0, mode,
                                    refusal, 0, 0, directory, 1, 0, 1 << 30) +
                 (Learnt.rules if rules is None else rules))


def beat(term=1, epoch=0, expects=1, sent_at=0, lease_ms=300, drift_ppm=0):
    return frame(BEAT, struct.pack("<QQQQII", expects, term, epoch, sent_at, lease_ms, drift_ppm))


def numbered(kind, sequence, subject=0, message=0, name=b"", epoch=0, clock=0, fingerprint=0, body=b"", hops=0):
    """A frame with a number. The body is filled up to whole words."""
    body += bytes(-len(body) % 4)
    head = struct.pack("<BBBHHIIQQQ", subject, message, 0, len(name), hops, fingerprint, len(body) // 4, sequence, epoch, clock)
    return frame(kind, head + name + body)


def rotate(number, bits):
    return (number << bits | number >> 32 - bits) & 0xffffffff


def xxh32(data, seed=0):
    """The hash by which members know that they mean the same algorithm. XXH32 of fewer than 16 bytes is enough here."""
    one, two, three, four, five = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    assert len(data) < 16, "the long way is not written down"
    result = (seed + five + len(data)) & 0xffffffff
    while len(data) >= 4:
        result = rotate((result + struct.unpack("<I", data[:4])[0] * three) & 0xffffffff, 17) * four & 0xffffffff
        data = data[4:]
    for byte in data:
        result = rotate((result + byte * five) & 0xffffffff, 11) * one & 0xffffffff
    result = (result ^ result >> 15) * two & 0xffffffff
    result = (result ^ result >> 13) * three & 0xffffffff
    return result ^ result >> 16


def fingerprint(algorithm, *parameters):
    name = xxh32(algorithm.encode())
    return xxh32(struct.pack(f"<{len(parameters)}q", *parameters), name) if parameters else name


def read_frame(connection):
    """(type, body), or None at the end."""
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack("<I", data[:4])[0]:
        wanted = 4 - len(data) if len(data) < 4 else 4 + struct.unpack("<I", data[:4])[0] - len(data)
        part = connection.recv(wanted)
        if not part:
            return None
        data += part
    return data[4], data[5:]


def read_hello(connection):
    """The greeting that comes next, as a dictionary, or None."""
    told = read_frame(connection)
    if not told or told[0] != HELLO:
        return None
    names = ("magic", "version", "group", "sender", "to", "stream", "heard", "expects", "hung", "mode", "refusal")
    return {**dict(zip(names, struct.unpack("<IIQIIQQQQBB", told[1][:58]))), "rules": told[1][84:]}


def learn(address, sender, to):
    """The group and the mode of a node, which it tells when it refuses a greeting of another mode."""
    for mode in (STATIC, RAFT):
        with socket.create_connection(address, 5) as connection:
            connection.settimeout(5)
            connection.sendall(hello(sender=sender, to=to, mode=mode))
            try:
                told = read_hello(connection)
            except ConnectionError:
                continue
            if told and told["refusal"]:
                Learnt.rules = told["rules"]
                return told["group"], told["mode"]
    raise AssertionError("the node told nobody which group it is of")


# ---- Raft ----

APPEND, APPEND_RESULT, VOTE, VOTE_RESULT, SNAPSHOT, TIMEOUT_NOW = 1, 2, 3, 4, 5, 6
COMMAND, BARRIER, CHANGE = 1, 2, 3


def envelope(term=0, stamp=0, echo=0, yields=0):
    return struct.pack("<QQQQ", stamp, echo, term, yields)


def entry(term, kind, data):
    return struct.pack("<QBI", term, kind, len(data)) + data


def append(term, prev_index, prev_term, commit, *entries):
    return struct.pack("<BBQQQQI", 1, APPEND, term, prev_index, prev_term, commit, len(entries)) + b"".join(entries)


def agreement(sequence, message, term=0):
    data = envelope(term) + message
    return numbered(AGREEMENT, sequence, clock=len(data), body=data)
