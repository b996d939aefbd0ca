#!/usr/bin/env python3
"""Writes tiny.safetensors beside itself with Python's safetensors, for lib/store/safetensors_test.cc.

Needs the packages safetensors (0.8 was used) and numpy.
"""
import pathlib

import numpy
from safetensors.numpy import save_file

TENSORS = {
    "weight": numpy.array([[0.5, -1.25, 3.0], [0.0, -0.0, 1e-30]], dtype=numpy.float32),
    "bias": numpy.array([1.5, 2.5], dtype=numpy.float32),
    "steps": numpy.array(7, dtype=numpy.int64),
    "loss": numpy.array([2.5], dtype=numpy.float64),
    "half": numpy.array([1.0, -2.0], dtype=numpy.float16),
    "empty": numpy.zeros((0, 3), dtype=numpy.int32),
    "short": numpy.array([-3], dtype=numpy.int16),
    "signed": numpy.array([-1, 1], dtype=numpy.int8),
    "bytes": numpy.array([1, 2, 3], dtype=numpy.uint8),
    "flags": numpy.array([True, False, True]),
    'na"me.é': numpy.array([9], dtype=numpy.int32),
}

save_file(TENSORS, pathlib.Path(__file__).with_name("tiny.safetensors"), metadata={"format": "pt"})
