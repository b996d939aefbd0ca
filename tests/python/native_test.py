"""The header and what ctypes is told agree, function by function and field by field."""
import ctypes
import re
import unittest
from pathlib import Path

from paceline import _native

HEADER = (Path(__file__).parents[2] / "python" / "native" / "paceline_worker.h").read_text()
PLAIN = re.sub(r"//[^\n]*", "", HEADER)

TYPES = {
    "void": None, "int": ctypes.c_int, "const char*": ctypes.c_char_p, "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64, "int32_t": ctypes.c_int32, "size_t": ctypes.c_size_t, "double": ctypes.c_double,
    "void*": ctypes.c_void_p, "const float*": ctypes.c_void_p, "paceline_session*": ctypes.c_void_p, "paceline_memory*": ctypes.c_void_p,
    "const paceline_memory*": ctypes.c_void_p,
    "const paceline_session*": ctypes.c_void_p, "paceline_session**": ctypes.POINTER(ctypes.c_void_p),
    "uint64_t*": ctypes.POINTER(ctypes.c_uint64), "paceline_tensor*": ctypes.POINTER(_native.Tensor),
    "const paceline_tensor*": ctypes.POINTER(_native.Tensor), "paceline_work*": ctypes.POINTER(_native.Work),
    "const paceline_evaluation*": ctypes.POINTER(_native.Evaluation), "const int64_t*": ctypes.POINTER(ctypes.c_int64),
    "const size_t*": ctypes.POINTER(ctypes.c_size_t), "const float* const*": ctypes.POINTER(ctypes.c_void_p),
    "const uint64_t*": ctypes.POINTER(ctypes.c_uint64), "const uint32_t*": ctypes.POINTER(ctypes.c_uint32), "uint32_t*": ctypes.POINTER(ctypes.c_uint32), "const double*": ctypes.POINTER(ctypes.c_double),
    "const char* const*": ctypes.POINTER(ctypes.c_char_p),
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


class NativeTest(unittest.TestCase):
    def test_every_function_has_the_header_s_types(self):
        found = {name: (TYPES[kind], [TYPES[argument] for argument in arguments])
                 for name, kind, arguments in functions()}
        self.assertGreater(len(found), 20)
        self.assertEqual(found, _native.SIGNATURES)

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
