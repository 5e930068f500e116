"""A hostile local user against daemons of root: whatever he tries, he gets nothing, and root's clients go on."""

import ctypes
import os
import resource
import subprocess
import sys
import textwrap
import unittest

from support import MIB, CommandTest, wait_until

LIBRARY = os.path.join(os.environ["TUTTI_BUILD"], "src", "client", "libtutti.so")
FUSE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuse.py")
UID = 54321
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
libc = ctypes.CDLL(None, use_errno=True)

# What his programs begin with: all that root's Python needs is there before they are his.
BEGIN = """
import ctypes, errno, os, random, resource, socket, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
tutti = ctypes.CDLL({library!r})
fuse = open({fuse!r}).read()
if {files}:
    resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))
os.setgroups([])
os.setgid({uid})
os.setuid({uid})
PR_SET_DUMPABLE = 4
libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)

def refused(call, *arguments):
    if call(*arguments) != -1:
        return False
    return ctypes.get_errno() in (errno.EPERM, errno.EACCES)
"""
CLIENT = """
tutti.tutti_error.restype = ctypes.c_char_p
tutti.tutti_pread.restype = tutti.tutti_pwrite.restype = ctypes.c_ssize_t
client, file = ctypes.c_void_p(), ctypes.c_void_p()

def check(outcome):
    if outcome < 0:
        sys.exit(tutti.tutti_error())
    return outcome

check(tutti.tutti_connect({cluster!r}.encode(), None, ctypes.byref(client)))

def open_file(path, flags):
    check(tutti.tutti_open(client, path, flags, 0o644, None, ctypes.byref(file)))

def pread(buffer):
    return tutti.tutti_pread(file, buffer, ctypes.c_size_t(len(buffer)), ctypes.c_uint64(0))
"""


@unittest.skipUnless(os.geteuid() == 0, "needs root to be two users")
class HostileUser(CommandTest):
    def setUp(self):
        super().setUp()
        self.up(servers=2)
        self.tutti("chmod", "1777", "/")
        self.cluster = os.path.join(self.state, "cluster.toml")
        for path in (self.scratch, self.state, os.path.join(self.state, "run"), self.cluster):
            os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
        self.secret = os.urandom(64 * 1024)
        with open(self.local("secret"), "wb") as file:
            file.write(self.secret)
        self.tutti("put", self.local("secret"), "/secret")
        self.tutti("chmod", "600", "/secret")
        os.chmod(self.local("secret"), 0o600)

    def check_root(self, name):
        """Root's clients work, and the daemons are the same as ever."""
        self.check_round_trip(name=name)
        self.tutti("get", "/secret", self.local("secret.out"))
        with open(self.local("secret.out"), "rb") as file:
            self.assertEqual(file.read(), self.secret)
        for daemon, pid in self.pids().items():
            self.assertTrue(self.alive(pid), daemon)

    def hostile(self, text, wait=True, client=False, files=None, pass_fds=()):
        """Runs a program as the user; its output, or the process if it is not waited for."""
        script = BEGIN.format(library=LIBRARY, fuse=FUSE, files=files or 0, uid=UID)
        script += CLIENT.format(cluster=self.cluster) if client else ""
        script += textwrap.dedent(text)
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=pass_fds,
            text=True,
        )
        self.addCleanup(self._end, process)
        if not wait:
            return process
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        return out

    def test_signals_and_debuggers_are_refused(self):
        out = self.hostile(
            f"""
            PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
            class Part(ctypes.Structure):
                _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
            room = ctypes.create_string_buffer(16)
            for pid in {list(self.pids().values())!r}:
                for signal in (0, 1, 2, 9, 15, 19):
                    assert refused(libc.kill, pid, signal), signal
                for how in (PTRACE_ATTACH, PTRACE_SEIZE):
                    assert refused(libc.ptrace, how, pid, None, None)
                here = Part(ctypes.cast(room, ctypes.c_void_p), 16)
                there = Part(0x400000, 16)
                for move in (libc.process_vm_readv, libc.process_vm_writev):
                    assert refused(move, pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
                for name in ("mem", "environ", "fd", "maps"):
                    try:
                        what = f"/proc/{{pid}}/{{name}}"
                        os.listdir(what) if name == "fd" else open(what, "rb").read(1)
                        sys.exit(what)
                    except PermissionError:
                        pass
            print("refused")
            """
        )
        self.assertEqual(out, "refused\n")
        self.check_root("signals")

    def test_ids_cannot_be_forged(self):
        him = self.command("get", "/secret", "/dev/stdout")
        out = self.hostile(
            f"""
            def denied(command):
                done = subprocess.run(command, capture_output=True, text=True, env={{**os.environ, "HOME": "/"}})
                return done.returncode != 0 and "ermission" in done.stderr, (done.returncode, done.stderr)
            for command in (
                {him!r},
                {self.command("rm", "/secret")!r},
                {self.command("chmod", "666", "/secret")!r},
                {self.command("put", "/etc/hostname", "/secret")!r},
                {self.command("policy", "set", "fcfs")!r},
            ):
                ok, what = denied(command)
                assert ok, (command, what)
            # Root of a user namespace of his own is still himself.
            inside = subprocess.run(["unshare", "-U", "-r", "id", "-u"], capture_output=True, text=True)
            if inside.stdout == "0\\n":
                ok, what = denied(["unshare", "-U", "-r", *{him!r}])
                assert ok, what
            for name in {self.stores()!r}:
                try:
                    os.listdir(name)
                    sys.exit(name + " is open")
                except PermissionError:
                    pass
            print("denied")
            """
        )
        self.assertEqual(out, "denied\n")
        self.check_root("ids")

    def stores(self):
        """The directories in which the daemons keep what they store, and their keys."""
        found = []
        for name in sorted(os.listdir(self.state)):
            path = os.path.join(self.state, name)
            if os.path.isdir(path) and name != "run":
                found.append(path)
        self.assertTrue(found)
        return found

    def test_what_he_says_before_a_session_hurts_nobody(self):
        out = self.hostile(
            f"""
            for path in {self.sockets()!r}:
                for seed in range(50):
                    with socket.socket(socket.AF_UNIX) as connection:
                        connection.settimeout(20)
                        connection.connect(path)
                        try:
                            connection.sendall(random.Random(seed).randbytes(1 << 12))
                            connection.shutdown(socket.SHUT_WR)
                            while connection.recv(1 << 12):
                                pass
                        except (BrokenPipeError, ConnectionResetError):
                            pass
            print("closed")
            """
        )
        self.assertEqual(out, "closed\n")
        self.check_root("garbage")

    def sockets(self):
        run = os.path.join(self.state, "run")
        found = [os.path.join(run, name) for name in sorted(os.listdir(run)) if name.endswith(".sock")]
        self.assertTrue(found)
        return found

    def test_many_sessions_leave_room_for_others(self):
        """10,000 connections, or as many as he may have."""
        limit = min(10_000 + 200, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        process = self.hostile(
            f"""
            held, refused = [], 0
            while len(held) + refused < {limit - 100}:
                connection = socket.socket(socket.AF_UNIX)
                connection.settimeout(1)
                try:
                    connection.connect({self.sockets()!r}[(len(held) + refused) % 2])
                    held.append(connection)
                except OSError:
                    refused += 1
                    connection.close()
                    if refused > 200:
                        break
            print(len(held), refused, flush=True)
            sys.stdin.read()
            """,
            wait=False,
            files=limit,
        )
        held, refused = map(int, process.stdout.readline().split())
        self.assertGreater(held + refused, 1000)
        self.assertGreater(held, 100)
        self.check_root("sessions")
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.check_root("after")

    def test_descriptors_that_he_keeps_are_worth_nothing(self):
        """What a server lends for reading cannot be changed, and never shows the file that has its name later."""
        with open(self.local("public"), "wb") as file:
            file.write(b"old" * MIB)
        self.tutti("put", self.local("public"), "/public")
        process = self.hostile(
            """
            open_file(b"/public", os.O_RDONLY)
            buffer = ctypes.create_string_buffer(1 << 20)
            for _ in range(20):
                assert check(pread(buffer)) == 1 << 20
            lent = []
            for name in os.listdir("/proc/self/fd"):
                try:
                    target = os.readlink("/proc/self/fd/" + name)
                except FileNotFoundError:
                    continue
                if target.startswith("/") and not target.startswith(("/dev/null", "/dev/pts", "/proc/")):
                    lent.append(int(name))
            for descriptor in lent:
                for attempt in (
                    lambda: os.pwrite(descriptor, b"x", 0),
                    lambda: os.ftruncate(descriptor, 0),
                    lambda: os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR),
                    lambda: os.fchmod(descriptor, 0o777),
                ):
                    try:
                        attempt()
                        sys.exit("could change what was lent")
                    except OSError:
                        pass
            print(len(lent), flush=True)
            sys.stdin.readline()
            outcome = pread(buffer)
            print("old" if outcome > 0 and buffer.raw[:3] == b"old" else "new" if outcome > 0 else "nothing", flush=True)
            sys.stdin.readline()
            """,
            wait=False,
            client=True,
        )
        # As many as the servers have lent, which may be none.
        self.assertGreaterEqual(int(process.stdout.readline() or -1), 0, "it ended early")
        self.tutti("chmod", "600", "/public")
        self.tutti("rm", "/public")
        with open(self.local("public"), "wb") as file:
            file.write(b"new" * MIB)
        self.tutti("put", self.local("public"), "/public")
        process.stdin.write("\n")
        process.stdin.flush()
        # The file that he has open lives on without its name; never the one that has the name now.
        self.assertNotEqual(process.stdout.readline(), "new\n")
        self.check_root("descriptors")

    @unittest.skipUnless(os.path.exists("/dev/fuse"), "needs /dev/fuse")
    def test_memory_that_never_answers_stops_nobody_but_him(self):
        """He writes from, and reads into, memory that is mapped from a FUSE file whose pages never come."""
        place = self.local("fuse")
        os.mkdir(place)
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40000,user_id={UID},group_id={UID},allow_other"
        if libc.mount(b"hostile", place.encode(), b"fuse", MS_NOSUID | MS_NODEV, options.encode()) != 0:
            os.close(device)
            self.skipTest("FUSE cannot be mounted here: " + os.strerror(ctypes.get_errno()))
        self.addCleanup(libc.umount2, place.encode(), MNT_DETACH)
        serve = f"exec(fuse); serve({device})"
        system = self.hostile(serve, wait=False, pass_fds=(device,))
        os.close(device)
        attackers = []
        kinds = (("tutti_pwrite", 1, "os.O_WRONLY | os.O_CREAT"), ("tutti_pread", 3, "os.O_RDONLY"))
        for number, (call, protection, flags) in enumerate(kinds):
            attackers.append(
                self.hostile(
                    f"""
                    never = os.open({os.path.join(place, f"never{number}")!r}, os.O_RDWR)
                    libc.mmap.restype = ctypes.c_void_p
                    MAP_PRIVATE = 2
                    memory = libc.mmap(None, ctypes.c_size_t(1 << 20), {protection}, MAP_PRIVATE, never, ctypes.c_long(0))
                    open_file(b"/his", os.O_WRONLY | os.O_CREAT)
                    room = ctypes.create_string_buffer(b"x" * (1 << 20))
                    check(tutti.tutti_pwrite(file, room, ctypes.c_size_t(1 << 20), ctypes.c_uint64(0)))
                    open_file(b"/his", {flags})
                    print("now", flush=True)
                    tutti.{call}(file, ctypes.c_void_p(memory), ctypes.c_size_t(1 << 20), ctypes.c_uint64(0))
                    """,
                    wait=False,
                    client=True,
                )
            )
            self.addCleanup(system.kill)  # before they are waited for
            self.assertEqual(attackers[-1].stdout.readline(), "now\n")
            self.assertEqual(system.stdout.readline(), "asked\n", "nobody touched the memory")
        for number in range(3):
            self.check_root(f"fuse{number}")
        # Without its file system the memory is gone, and they end.
        self.assertTrue(all(attacker.poll() is None for attacker in attackers), "they did not wait")
        system.kill()
        for attacker in attackers:
            attacker.kill()
        wait_until(lambda: all(attacker.poll() is not None for attacker in attackers), 30, "their end")


if __name__ == "__main__":
    unittest.main()
