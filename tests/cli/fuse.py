"""A FUSE file system with files never0 to never9 that nobody can read: whoever touches a page waits until it is gone.

It speaks the protocol of the kernel itself and needs no library."""

import os
import struct

LOOKUP, GETATTR, OPEN, READ, INIT, OPENDIR = 1, 3, 14, 15, 26, 27
ROOT = 1
SIZE = 1 << 20
ENOSYS, ENOENT = 38, 2


def attributes(node):
    mode = 0o40755 if node == ROOT else 0o100666
    return struct.pack("<6Q10I", node, SIZE, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body):
    """The body of the reply, an error number, or None for silence."""
    if opcode == INIT:
        major, minor = struct.unpack_from("<II", body)
        return struct.pack("<IIIIHHII", major, min(minor, 31), 0, 0, 12, 10, 1 << 17, 1) + bytes(36)
    if opcode == LOOKUP:
        name = body.rstrip(b"\0")
        if len(name) != 6 or not name.startswith(b"never"):
            return ENOENT
        file = ROOT + 1 + name[5]
        return struct.pack("<4Q2I", file, 0, 3600, 3600, 0, 0) + attributes(file)
    if opcode == GETATTR:
        return struct.pack("<Q2I", 3600, 0, 0) + attributes(node)
    if opcode in (OPEN, OPENDIR):
        return struct.pack("<Q2I", 0, 0, 0)
    return None if opcode == READ else ENOSYS


def serve(device):
    """Answers what comes from this descriptor of /dev/fuse until it is unmounted; tells of reads."""
    while True:
        try:
            request = os.read(device, (1 << 17) + 4096)
        except OSError:
            return  # unmounted
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        said = answer(opcode, node, request[40:])
        if opcode == READ:
            print("asked", flush=True)
        if said is None:
            continue
        error, body = (-said, b"") if isinstance(said, int) else (0, said)
        try:
            os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
        except OSError:
            pass  # the request was given up
