"""What the tests of MPI-IO share: MPI programs under each library, on Tutti and on a local directory."""

import os
import subprocess

from support import CommandTest

PROGRAMS = os.environ["TUTTI_MPI_PROGRAMS"]
YIELD = os.path.join(PROGRAMS, "mpich", "libyield.so")
LIBRARIES = [name for name in ("openmpi", "mpich") if os.path.isdir(os.path.join(PROGRAMS, name))]
# More processes than cores, and no network: what these launchers need for that.
LAUNCH = {
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader"],
    "mpich": ["mpirun.mpich", "-genv", "UCX_ERROR_SIGNALS", ""],
}


def program(library, name):
    """Where the program is, or None if it was not built."""
    path = os.path.join(PROGRAMS, library, name)
    return path if os.path.exists(path) else None


class MpiTest(CommandTest):
    def environment(self, library, extra, preload=None):
        environment = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", "HYDRA_LAUNCHER": "fork", **(extra or {})}
        if library == "mpich":
            environment["LD_PRELOAD"] = YIELD
        if preload:
            environment["LD_PRELOAD"] = ":".join(filter(None, [preload, environment.get("LD_PRELOAD")]))
        return environment

    def mpi_command(self, library, ranks, name, *arguments, tutti=True, patience="60s"):
        launch = [*LAUNCH[library], "-n", str(ranks), program(library, name), *map(str, arguments)]
        return self.command("--patience", patience, "run", "--", *launch) if tutti else launch

    def start_mpi(self, library, ranks, name, *arguments, env=None, preload=None, **options):
        process = subprocess.Popen(
            self.mpi_command(library, ranks, name, *arguments, **options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(library, env, preload),
            start_new_session=True,
        )
        self.addCleanup(self._end_all, process)
        return process

    @staticmethod
    def _end_all(process):
        """The launcher and its children are a session of their own."""
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        process.communicate()

    def mpi(self, library, ranks, name, *arguments, code=0, timeout=120, **options):
        """Runs a program to its end; returns what it printed."""
        process = self.start_mpi(library, ranks, name, *arguments, **options)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._end_all(process)
            self.fail(f"{library}, {ranks} ranks: {name} {arguments} takes longer than {timeout} s")
        text = err.decode(errors="replace")
        if code is not None:
            self.assertEqual(process.returncode, code, f"{library}, {ranks} ranks: {name} {arguments}: {text}")
        return out.decode(errors="replace") + text
