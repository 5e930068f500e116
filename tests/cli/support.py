"""What the tests of the command share: a cluster of real daemons in a directory of its own, and its removal."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TUTTI = os.environ["TUTTI"]
KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


def wait_until(condition, patience=30.0, what="the condition"):
    """Asks again and again; returns the first true answer."""
    deadline = time.monotonic() + patience
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience} s for {what}")
        time.sleep(0.005)


def write_file(path, size, seed=0):
    """Bytes that no two pieces of a file or two seeds share."""
    block = hashlib.shake_256(str(seed).encode()).digest(min(size, MIB) or 1)
    with open(path, "wb") as out:
        for number in range(0, size, MIB):
            piece = bytearray(block[: min(MIB, size - number)])
            piece[: min(8, len(piece))] = number.to_bytes(8, "little")[: len(piece)]
            out.write(piece)
    return path


def digest(path):
    result = hashlib.blake2b()
    with open(path, "rb") as source:
        while piece := source.read(4 * MIB):
            result.update(piece)
    return result.hexdigest()


class CommandTest(unittest.TestCase):
    """A test with a scratch directory and, after up(), a cluster in self.state."""

    def setUp(self):
        # Memory if there is enough of it; containers often have little.
        roomy = os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 6 * GIB
        parent = "/dev/shm" if roomy else None
        self.scratch = tempfile.mkdtemp(prefix="tutti-test-", dir=parent)
        self.state = os.path.join(self.scratch, "state")
        self.addCleanup(self._tidy)

    def _tidy(self):
        for name, pid in self.pids().items():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as command:
                    ours = self.state.encode() in command.read()
                if ours:
                    os.kill(pid, signal.SIGKILL)
                    wait_until(lambda: not self.alive(pid), 10, f"the end of {name}")
            except (FileNotFoundError, ProcessLookupError):
                pass
        shutil.rmtree(self.scratch, ignore_errors=True)

    # ---- processes ----

    def command(self, *arguments, **options):
        """The command line for this test's cluster."""
        directory = options.get("directory", self.state)
        return [TUTTI, "--dir", directory, *map(str, arguments)]

    def run_tutti(self, *arguments, code=0, timeout=120, stdin=None, directory=None, env=None):
        """Runs a command, checks its exit code unless that is None, and returns (stdout, stderr)."""
        done = subprocess.run(
            self.command(*arguments, directory=directory or self.state),
            input=stdin if stdin is not None else b"",
            capture_output=True,
            timeout=timeout,
            env={**os.environ, **(env or {})},
            check=False,
        )
        out, err = done.stdout, done.stderr.decode(errors="replace")
        if code is not None:
            self.assertEqual(done.returncode, code, f"{arguments}: {out[:2000]!r} {err}")
        return out, err

    def tutti(self, *arguments, **options):
        """Standard output as text."""
        return self.run_tutti(*arguments, **options)[0].decode()

    def fails(self, *arguments, code=1, says="", **options):
        """The command must fail with this code and say this."""
        _, err = self.run_tutti(*arguments, code=code, **options)
        self.assertIn(says, err)
        self.assertNotIn("internal:", err)
        return err

    def json(self, *arguments, **options):
        return json.loads(self.tutti(*arguments, "--json", **options))

    def start(self, *arguments):
        """A command that runs beside the test."""
        process = subprocess.Popen(
            self.command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    @staticmethod
    def interrupt(process):
        """For cleanups: a command that has daemons of its own ends them when it is interrupted, not when it is killed."""
        if process.poll() is not None:
            return
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            pass

    def finish(self, process, code=0, timeout=120):
        out, err = process.communicate(timeout=timeout)
        self.assertEqual(process.returncode, code, err.decode(errors="replace"))
        return out, err.decode(errors="replace")

    # ---- the cluster ----

    def up(self, *arguments, servers=4):
        return self.tutti("up", "--servers", servers, *arguments)

    def pids(self):
        """Process ids of the daemons by name, also of dead ones."""
        found = {}
        run = os.path.join(self.state, "run")
        for name in os.listdir(run) if os.path.isdir(run) else []:
            if name.endswith(".pid"):
                with open(os.path.join(run, name), encoding="ascii") as file:
                    text = file.read().split()
                if text:
                    found[name[: -len(".pid")]] = int(text[0])
        return found

    @staticmethod
    def alive(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def kill(self, name):
        """kill -9 of one daemon, as if it had crashed."""
        pid = self.pids()[name]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.alive(pid), 10, f"the end of {name}")

    def local(self, name):
        return os.path.join(self.scratch, name)

    def check_round_trip(self, size=3 * MIB + 17, name="check"):
        """The cluster works: a file goes in and comes out the same."""
        source = write_file(self.local(name + ".in"), size, seed=name)
        self.tutti("put", source, "/" + name)
        self.tutti("get", "/" + name, self.local(name + ".out"))
        self.assertEqual(digest(source), digest(self.local(name + ".out")))
