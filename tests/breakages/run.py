"""Breaks the code in a copy, one breakage after the other, and tells how many fault schedules it takes to notice.

    tests/breakages/run.py [--schedules N] [--list] [name ...]

Each breakage is built and run on its own: some minutes for each. Ends with 1 if one was not noticed."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

from breakages import BREAKAGES

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Target, test, and the variable for the number of runs.
TESTS = {
    "schedules": ("fault_schedule_test", "FaultSchedule.Nothing*", "TUTTI_SCHEDULES"),
    "histories": ("linearizable_test", "Linearizable.Histories*", "TUTTI_HISTORIES"),
}


def replace_once(text, breakage):
    if text.count(breakage.find) != 1:
        sys.exit(f"{breakage.name}: what it breaks is not in {breakage.file} any more: bring breakages.py up to date")
    return text.replace(breakage.find, breakage.put.replace("BROKEN", "true"))


def build(copy, target):
    build_directory = os.path.join(copy, "build", "release")
    if not os.path.isdir(build_directory):
        subprocess.run(["cmake", "--preset", "release"], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["cmake", "--build", build_directory, "-j2", "--target", target], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout[-4000:])
    return next(os.path.join(at, target) for at, _, files in os.walk(os.path.join(build_directory, "tests")) if target in files)


def noticed(program, test, variable, most):
    """The first seed that fails, and what it says; nothing if none of `most` does."""
    count = 100
    while True:
        done = subprocess.run(
            [program, "--gtest_filter=" + test, "--gtest_break_on_failure=0"],
            env={**os.environ, variable: str(count)},
            capture_output=True,
            text=True,
        )
        found = re.search(r"seed (\d+):(?:[^\n]*VIOLATED: )? *([^\n]*)", done.stdout)
        if found and "FAILED" in done.stdout:
            return int(found[1]), found[2]
        if done.returncode != 0:
            return 0, f"it ended with {done.returncode}: {done.stdout[-200:]}"
        if count >= most:
            return None
        count = min(count * 10, most)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=10_000, help="how many before it counts as unnoticed")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    chosen = [each for each in BREAKAGES if not arguments.names or each.name in arguments.names]
    if arguments.list:
        for each in chosen:
            print(f"{each.name:30} {each.what}")
        return 0
    missed = 0
    with tempfile.TemporaryDirectory(prefix="tutti-breakages-") as scratch:
        copy = os.path.join(scratch, "tutti")
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("build", ".git"), symlinks=True)
        for each in chosen:
            path = os.path.join(copy, each.file)
            with open(path, encoding="utf-8") as file:
                whole = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(replace_once(whole, each))
            target, test, variable = TESTS[each.test]
            found = noticed(build(copy, target), test, variable, arguments.schedules)
            missed += found is None
            print(f"{each.name:30}", f"seed {found[0]}: {found[1]}" if found else "NOT NOTICED", flush=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(whole)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
