#!/usr/bin/env python3
"""Builds a library that needs two others, takes those away, and asks whether it can be loaded with stand-ins for them."""
import ctypes
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import stub_libraries  # noqa: E402

GENERATOR = Path(__file__).parent / "stub_libraries.py"
USER = """
#include <stdlib.h>
int fooAdd(int); int fooDrop(int); int BarOpen(void); int barUnversioned(void); int present(void);
int calls_foo(void) { return fooAdd(1) + fooDrop(2); }
int calls_bar(void) { return BarOpen() + barUnversioned(); }
int calls_none(void) { return atoi("7") + present(); }
"""


class Stubs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def build(self, soname, code, *options):
        source = self.folder / "source.c"
        source.write_text(code)
        library = self.folder / soname
        subprocess.run(["gcc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", library, source, *options], check=True)
        return library

    def user_of_absent_libraries(self):
        """libuser.so, which needs libpresent.so (there), libfoo.so.3 (versioned) and libbar_host.so.1 (not)."""
        (self.folder / "versions").write_text("FOO_3 { global: fooAdd; }; libfoo.so.3 { global: fooDrop; };")
        foo = self.build("libfoo.so.3", "int fooAdd(int a) { return a; } int fooDrop(int a) { return a; }",
                         f"-Wl,--version-script={self.folder}/versions")
        bar = self.build("libbar_host.so.1", "int BarOpen(void) { return 1; } int barUnversioned(void) { return 2; }")
        present = self.build("libpresent.so", "int present(void) { return 1; }")
        user = self.build("libuser.so", USER, foo, bar, present, "-Wl,-rpath,$ORIGIN")
        foo.unlink()
        bar.unlink()
        return user

    def generate(self, library):
        return subprocess.run([sys.executable, GENERATOR, library, self.folder], capture_output=True, text=True, check=True)

    def in_a_process(self, code, user):
        """RTLD_NOW, so that each symbol has to be found."""
        start = f"import ctypes, os; user = ctypes.CDLL({str(user)!r}, os.RTLD_NOW)\n"
        return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True)

    def test_a_library_loads_with_stand_ins_and_without_them_does_not(self):
        user = self.user_of_absent_libraries()
        self.assertIn("libfoo.so.3", self.in_a_process("", user).stderr)
        self.assertEqual(self.generate(user).stdout, "libbar_host.so.1: 2 symbols\nlibfoo.so.3: 2 symbols\n")
        loaded = self.in_a_process("print(user.calls_none())", user)
        self.assertEqual((loaded.stdout, loaded.stderr, loaded.returncode), ("8\n", "", 0))

    def test_a_call_says_which_library_is_none_and_aborts(self):
        user = self.user_of_absent_libraries()
        self.generate(user)
        for function, soname in (("calls_foo", "libfoo.so.3"), ("calls_bar", "libbar_host.so.1")):
            called = self.in_a_process(f"user.{function}()", user)
            self.assertEqual(called.returncode, -6)
            self.assertIn(f"{soname} is a stand-in", called.stderr)

    def test_versions_are_those_that_are_asked_for(self):
        user = self.user_of_absent_libraries()
        self.generate(user)
        said = subprocess.run(["readelf", "--dyn-syms", "--wide", self.folder / "libfoo.so.3"], capture_output=True, text=True)
        self.assertRegex(said.stdout, r"\bfooAdd@@FOO_3\b")
        self.assertRegex(said.stdout, r"\bfooDrop@@libfoo\.so\.3")

    def test_nothing_is_written_where_nothing_is_missing(self):
        library = self.build("libwhole.so", "int whole(void) { return 1; }")
        before = sorted(self.folder.iterdir())
        self.assertEqual(self.generate(library).stdout, "")
        self.assertEqual(sorted(self.folder.iterdir()), before)
        self.assertEqual(ctypes.CDLL(str(library)).whole(), 1)

    def test_the_longest_name_that_fits_is_the_family(self):
        sonames = ["libcublas.so.13", "libcublasLt.so.13", "libcufile.so.0"]
        for symbol, wanted in (("cublasLtCreate", "libcublasLt.so.13"), ("cublasCreate", "libcublas.so.13"),
                               ("cuFileOpen", "libcufile.so.0"), ("PyErr_Clear", None)):
            self.assertEqual(stub_libraries.family(symbol, sonames), wanted, symbol)


if __name__ == "__main__":
    unittest.main()
