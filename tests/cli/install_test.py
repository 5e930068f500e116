"""cmake --install, and programs in C and C++ that use what it installed."""

import os
import subprocess
import unittest

from support import TUTTI, CommandTest

BUILD = os.environ["TUTTI_BUILD"]

C_PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <tutti/tutti.h>

int main(void) {
  tutti_client* client;
  tutti_file* file;
  char back[16] = {0};
  if (tutti_connect(NULL, NULL, &client) != 0) return fprintf(stderr, "%s\n", tutti_error()), 1;
  if (tutti_open(client, "/from-c", O_RDWR | O_CREAT | O_TRUNC, 0644, NULL, &file) != 0) return fprintf(stderr, "%s\n", tutti_error()), 1;
  if (tutti_pwrite(file, "hello", 5, 0) != 5) return 2;
  if (tutti_pread(file, back, sizeof back, 0) != 5 || strcmp(back, "hello") != 0) return 3;
  tutti_view* view;
  const tutti_level level = {3, 4};
  if (tutti_view_strided(file, 1, 2, &level, 1, 0, &view) != 0) return fprintf(stderr, "%s\n", tutti_error()), 5;
  if (tutti_view_write(view, "abcdef", 6, 0) != 6) return 6;
  if (tutti_view_read(view, back, 4, 2) != 4 || memcmp(back, "cdef", 4) != 0) return 7;
  tutti_view_free(view);
  if (tutti_pread(file, back, 11, 0) != 11 || memcmp(back, "hablocd\0\0ef", 11) != 0) return 8;
  if (tutti_close(file) != 0) return 4;
  tutti_disconnect(client);
  return 0;
}
"""

CXX_PROGRAM = r"""
#include <tutti/tutti.hpp>
#include <cstdio>
int main() { std::puts(tutti_version()); }
"""

CMAKE_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(example LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(tutti 0.1 REQUIRED)
add_executable(example example.cc)
target_link_libraries(example PRIVATE tutti::tutti)
"""


class Install(CommandTest):
    def call(self, *arguments, **options):
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False, **options)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def write(self, name, text):
        with open(self.local(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.local(name)

    def setUp(self):
        super().setUp()
        self.prefix = self.local("prefix")
        self.call("cmake", "--install", BUILD, "--prefix", self.prefix)
        self.libraries = next(
            directory for directory, _, files in os.walk(self.prefix) if any(f.startswith("libtutti.so") for f in files)
        )
        self.environment = {**os.environ, "PKG_CONFIG_PATH": self.libraries + "/pkgconfig", "TUTTI_DIR": self.state}

    def test_command(self):
        installed = self.call(self.prefix + "/bin/tutti", "--version")
        self.assertEqual(installed, self.call(TUTTI, "--version"))

    def test_c_program_with_pkg_config(self):
        flags = self.call("pkg-config", "--cflags", "--libs", "tutti", env=self.environment).split()
        program = self.local("program")
        self.call("g++", "-x", "c", self.write("program.c", C_PROGRAM), "-x", "none", "-o", program, *flags, f"-Wl,-rpath,{self.libraries}")
        self.up(servers=2)
        self.call(program, env=self.environment)
        self.assertEqual(self.tutti("cat", "/from-c"), "hablocd\0\0ef")

        # The environment means the same to a program and to the command.
        named = {"TUTTI_APPLICATION": "0x10", "LSB_JOBID": "77"}
        self.call(program, env={**self.environment, **named})
        with open(self.local("data"), "wb") as file:
            file.write(bytes(100))
        self.tutti("put", self.local("data"), "/from-command", env=named)
        rows = {row["application"]: row for row in self.json("status", "--apps")["applications"]}
        # The program writes by offset and by view, the command once.
        self.assertEqual((rows[16]["writes"], rows[16]["job"]), (3, "77"))

    def test_cpp_program_with_cmake(self):
        os.mkdir(self.local("project"))
        self.write("project/CMakeLists.txt", CMAKE_PROJECT)
        self.write("project/example.cc", CXX_PROGRAM)
        self.call("cmake", "-S", self.local("project"), "-B", self.local("out"), "-DCMAKE_PREFIX_PATH=" + self.prefix)
        self.call("cmake", "--build", self.local("out"))
        self.assertRegex(self.call(self.local("out/example")), r"^\d+\.\d+\.\d+\n$")

    def test_only_the_api_is_visible(self):
        symbols = self.call("nm", "-D", "--defined-only", self.libraries + "/libtutti.so").split("\n")
        names = [line.split()[-1] for line in symbols if line]
        self.assertIn("tutti_open", names)
        # Weak symbols of the standard library's templates are in every C++ library; ours would be mangled "5tutti".
        self.assertEqual([name for name in names if "5tutti" in name], [])


if __name__ == "__main__":
    unittest.main()
