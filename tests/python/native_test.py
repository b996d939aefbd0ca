"""The header and what ctypes is told agree, function by function and field by field."""
import ctypes
import gc
import os
import re
import subprocess
import sys
import unittest
import weakref
from pathlib import Path
from types import SimpleNamespace

import torch

from paceline import _joined, _native

HEADER = (Path(__file__).parents[2] / "python" / "native" / "paceline_worker.h").read_text()
PLAIN = re.sub(r"//[^\n]*", "", HEADER)

TYPES = {
    "void": None, "int": ctypes.c_int, "const char*": ctypes.c_char_p, "const char**": ctypes.POINTER(ctypes.c_char_p), "int*": ctypes.POINTER(ctypes.c_int), "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64, "int32_t": ctypes.c_int32, "size_t": ctypes.c_size_t, "double": ctypes.c_double,
    "void*": ctypes.c_void_p, "const float*": ctypes.c_void_p, "paceline_session*": ctypes.c_void_p, "paceline_memory*": ctypes.c_void_p,
    "const paceline_memory*": ctypes.c_void_p,
    "const paceline_session*": ctypes.c_void_p, "paceline_session**": ctypes.POINTER(ctypes.c_void_p),
    "uint64_t*": ctypes.POINTER(ctypes.c_uint64), "paceline_tensor*": ctypes.POINTER(_native.Tensor),
    "const paceline_tensor*": ctypes.POINTER(_native.Tensor), "paceline_work*": ctypes.POINTER(_native.Work),
    "const paceline_evaluation*": ctypes.POINTER(_native.Evaluation), "const int64_t*": ctypes.POINTER(ctypes.c_int64),
    "const size_t*": ctypes.POINTER(ctypes.c_size_t), "const float* const*": ctypes.POINTER(ctypes.c_void_p),
    "const uint64_t*": ctypes.POINTER(ctypes.c_uint64), "const uint32_t*": ctypes.POINTER(ctypes.c_uint32), "uint32_t*": ctypes.POINTER(ctypes.c_uint32), "const double*": ctypes.POINTER(ctypes.c_double),
    "const char* const*": ctypes.POINTER(ctypes.c_char_p), "paceline_read": _native.READ, "paceline_take": _native.TAKE,
}


def split(declaration):
    """The type and the name of `const char* name`."""
    kind, name = re.fullmatch(r"\s*(.*?)\s*(\w+)\s*", declaration, re.DOTALL).groups()
    return re.sub(r"\s+", " ", kind), name


def functions():
    for kind, name, arguments in re.findall(r"PACELINE_API\s+([\w\s*]*?)(paceline_\w+)\(([^)]*)\);", PLAIN):
        kinds = [] if arguments.strip() == "void" else [split(argument)[0] for argument in arguments.split(",")]
        yield name, re.sub(r"\s+", " ", kind).strip(), kinds


def structs():
    for body, name in re.findall(r"typedef struct \{([^}]*)\} (\w+);", PLAIN):
        yield name, [split(field) for field in body.split(";") if field.strip()]


# A session whose coordinator takes its connection and never says a word, closed before it has ended.
NEVER_ANSWERED = """
import ctypes, json, os, socket, tempfile
from paceline import _native
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as job:
    json.dump({"apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "t"},
               "spec": {"training": {"globalBatchSize": 4, "learningRate": {"base": 0.1}, "stop": {"maxEpochs": 1}},
                        "workers": {"command": ["python"]}}}, job)
os.environ.update(PACELINE_JOB=job.name, PACELINE_COORDINATOR="127.0.0.1:%d" % listener.getsockname()[1])
library = _native.library()
shape = (ctypes.c_int64 * 1)(4)
tensor = (_native.Tensor * 1)(_native.Tensor(name=b"w", shape=shape, dimensions=1))
total = ctypes.c_uint64()
_native.check(library.paceline_arrange(tensor, 1, ctypes.byref(total)))
values, session = ctypes.create_string_buffer(total.value), ctypes.c_void_p()
_native.check(library.paceline_open(tensor, 1, values, total.value, None, ctypes.byref(session)))
_native.check(library.paceline_start(session, 100, b"cpu", 1, None))
listener.settimeout(30)
taken = listener.accept()  # Before that, there is nothing yet that could not end.
print("closed:", library.paceline_close(session, 0), flush=True)
os.unlink(job.name)
os._exit(0)
"""


class ClosingTest(unittest.TestCase):
    """What the library's own thread may write to yet is not given back."""

    def test_a_session_that_does_not_end_in_time_says_so(self):
        ended = subprocess.run([sys.executable, "-c", NEVER_ANSWERED], capture_output=True, text=True, timeout=60, check=False)
        self.assertIn(f"closed: {_native.LOST}", ended.stdout, ended.stderr)

    def test_its_values_stay(self):
        for code, stay in ((_native.OK, False), (_native.LOST, True)):
            session = object.__new__(_joined.Session)
            session._library = SimpleNamespace(paceline_close=lambda handle, timeout_ms, code=code: code)
            session._handle, session._process = ctypes.c_void_p(1), os.getpid()
            session._model = SimpleNamespace(values=torch.zeros(4))
            values = weakref.ref(session._model.values)
            session.close()
            del session
            gc.collect()
            self.assertEqual(values() is not None, stay, code)


class NativeTest(unittest.TestCase):
    def test_every_function_has_the_header_s_types(self):
        found = {name: (TYPES[kind], [TYPES[argument] for argument in arguments])
                 for name, kind, arguments in functions()}
        self.assertGreater(len(found), 20)
        self.assertEqual(found, _native.SIGNATURES)

    def test_what_is_called_back_has_the_header_s_type(self):
        kind, arguments = re.search(r"typedef (\w+) \(\*paceline_read\)\(([^)]*)\);", PLAIN).groups()
        self.assertEqual((_native.READ._restype_, list(_native.READ._argtypes_)),
                         (TYPES[kind], [TYPES[split(argument)[0]] for argument in arguments.split(",")]))

    def test_every_structure_has_the_header_s_fields(self):
        ours = {"paceline_tensor": _native.Tensor, "paceline_work": _native.Work,
                "paceline_evaluation": _native.Evaluation}
        found = dict(structs())
        self.assertEqual(found.keys(), ours.keys())
        for name, fields in found.items():
            self.assertEqual([(field, TYPES[kind]) for kind, field in fields], ours[name]._fields_, name)

    def test_every_constant_has_the_header_s_value(self):
        values = {name: int(value) for name, value in re.findall(r"PACELINE_(\w+) = (\d+)", PLAIN)}
        values["ABI"] = int(re.search(r"#define PACELINE_ABI (\d+)", PLAIN).group(1))
        self.assertGreater(len(values), 15)
        for name, value in values.items():
            self.assertEqual(getattr(_native, name), value, name)

    def test_the_library_shows_the_interface_and_nothing_else(self):
        import subprocess
        shown = subprocess.run(["nm", "-D", "--defined-only", _native._path()], capture_output=True, text=True, check=True)
        names = {line.split()[-1] for line in shown.stdout.splitlines()}
        self.assertEqual(names, set(_native.SIGNATURES))


if __name__ == "__main__":
    unittest.main()
