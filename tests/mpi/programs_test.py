"""Programs as users have them, unchanged, on Tutti: Fortran, HDF5, PnetCDF, NetCDF. What they write equals what they write to
a local directory, and other numbers of processes read it back."""

import filecmp
import os
import shutil
import subprocess
import unittest

from launch import LIBRARIES, MpiTest, program


class Programs(MpiTest):
    def setUp(self):
        super().setUp()
        self.up()

    def check(self, *command):
        """A command that must succeed."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return done.stdout

    def get(self, name):
        self.tutti("get", "/" + name, self.local("got-" + name))
        return self.local("got-" + name)

    def libraries_with(self, name, *tools):
        found = [library for library in LIBRARIES if program(library, name)]
        if not found or not all(shutil.which(tool) for tool in tools):
            self.skipTest(f"{name} or {tools} is not installed")
        return found

    def check_array(self, program, *all_ranks):
        for library in self.libraries_with(program):
            for ranks in all_ranks:
                with self.subTest(library=library, ranks=ranks):
                    name = f"{library}-{ranks}"
                    self.assertIn("wrong 0\n", self.mpi(library, ranks, program, "tutti:/" + name))
                    self.assertIn("wrong 0\n", self.mpi(library, ranks, program, self.local(name), tutti=False))
                    self.assertTrue(filecmp.cmp(self.get(name), self.local(name), shallow=False))

    def test_fortran_array_in_blocks(self):
        self.check_array("array", 1, 4, 9)

    def test_fortran_2008_array_in_blocks(self):
        self.check_array("array_f08", 1, 4)

    def test_threads_use_one_file_and_files_of_their_own(self):
        for library in self.libraries_with("threads"):
            for ranks in (1, 3):
                with self.subTest(library=library, ranks=ranks):
                    self.assertIn("good", self.mpi(library, ranks, "threads", "tutti:/t", 10))

    def test_a_profiler_between_program_and_library_sees_every_call(self):
        counts = "profiler: 1 opened, 120 written, 20 waited"
        for library in self.libraries_with("promises_profiled"):
            with self.subTest(library=library, how="linked"):
                out = self.mpi(library, 2, "promises_profiled", "in_flight", "tutti:/p")
                self.assertIn("kept\n", out)
                self.assertIn(counts, out)
            with self.subTest(library=library, how="preloaded"):
                profiler = program(library, "libprofiler.so")
                out = self.mpi(library, 2, "promises", "in_flight", "tutti:/p", preload=profiler)
                self.assertIn("kept\n", out)
                self.assertIn(counts, out)

    def test_hdf5(self):
        for library in self.libraries_with("hdf5", "h5diff", "h5dump"):
            for ranks in (1, 4, 9):
                with self.subTest(library=library, ranks=ranks):
                    name = f"{library}-{ranks}.h5"
                    self.assertIn("good", self.mpi(library, ranks, "hdf5", "write", "tutti:/" + name))
                    self.mpi(library, ranks, "hdf5", "write", self.local(name), tutti=False)
                    got = self.get(name)
                    self.check("h5dump", "-H", got)
                    self.check("h5diff", got, self.local(name))
                    for others in {2, 9} - {ranks}:
                        self.assertIn("good", self.mpi(library, others, "hdf5", "read", "tutti:/" + name))

    def test_hdf5_chunks_with_metadata_of_each_process(self):
        for library in self.libraries_with("hdf5_chunks"):
            with self.subTest(library=library):
                self.assertIn("good", self.mpi(library, 4, "hdf5_chunks", "tutti:/chunks.h5", 200, 3))

    def test_pnetcdf(self):
        # PnetCDF looks at the beginning of a file through POSIX before it opens it with MPI.
        prefix = {"TUTTI_PREFIX": "/nowhere/tutti"}
        for library in self.libraries_with("pnetcdf", "ncmpidump", "ncmpidiff"):
            for ranks in (1, 4, 9):
                with self.subTest(library=library, ranks=ranks):
                    name = f"{library}-{ranks}.nc"
                    path = f"/nowhere/tutti/{name}"
                    local = self.local(name)
                    self.assertIn("good", self.mpi(library, ranks, "pnetcdf", "write", path, env=prefix))
                    self.mpi(library, ranks, "pnetcdf", "write", local, tutti=False)
                    got = self.get(name)
                    self.check("ncmpidump", "-h", got)
                    self.assertIn("are the same", self.check("ncmpidiff", got, local))
                    for others in {2, 9} - {ranks}:
                        self.assertIn("good", self.mpi(library, others, "pnetcdf", "read", path, env=prefix))

    def test_netcdf(self):
        for library in self.libraries_with("netcdf", "h5diff"):
            for ranks in (1, 4):
                with self.subTest(library=library, ranks=ranks):
                    name = f"{library}-{ranks}.nc4"
                    self.assertIn("good", self.mpi(library, ranks, "netcdf", "write", "tutti:/" + name))
                    self.mpi(library, ranks, "netcdf", "write", self.local(name), tutti=False)
                    self.check("h5diff", self.get(name), self.local(name))
                    for others in {2, 4} - {ranks}:
                        self.assertIn("good", self.mpi(library, others, "netcdf", "read", "tutti:/" + name))

    def test_a_program_with_its_mpi_library_inside_is_refused(self):
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        source, made = self.local("inside.c"), self.local("inside")
        with open(source, "w", encoding="ascii") as out:
            out.write("int PMPI_File_open(void) { return 0; }\nint main(void) { return PMPI_File_open(); }\n")
        self.check("cc", source, "-o", made)
        self.fails("run", "--", made, says="linked statically with its MPI library")

    def test_posix_calls_on_the_names_of_mpi_files(self):
        for library in self.libraries_with("posix"):
            for ranks in (1, 4):
                with self.subTest(library=library, ranks=ranks):
                    self.assertIn("good", self.mpi(library, ranks, "posix", "tutti:/d"))
                    # A program that takes ordinary paths only; the directory need not exist.
                    prefix = {"TUTTI_PREFIX": "/nowhere/tutti/"}
                    self.assertIn("good", self.mpi(library, ranks, "posix", "/nowhere/tutti/d", env=prefix))
        self.assertEqual(self.tutti("ls", "/").split(), [])

    def test_a_command_of_the_system_under_run(self):
        self.tutti("put", "/etc/hostname", "/name")
        self.assertEqual(self.tutti("run", "--", "cat", "tutti:/name"), self.tutti("cat", "/name"))

    def test_files_elsewhere_are_left_to_the_library(self):
        for library in self.libraries_with("array"):
            with self.subTest(library=library):
                name = self.local("plain-" + library)
                # Under `tutti run`, but without the prefix.
                self.assertIn("wrong 0\n", self.mpi(library, 2, "array", name))
                self.assertEqual(os.path.getsize(name), 61 * 47 * 8)
        self.assertEqual(self.tutti("ls", "/").split(), [])


if __name__ == "__main__":
    unittest.main()
