"""Files that Paceline reads and writes: models, data sets, trained values."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Tuple

import torch
from safetensors.torch import load_file, save_file
from torch.utils.data import Dataset

from ._errors import Misuse

_LOSSES = {torch.nn.CrossEntropyLoss: "CrossEntropy", torch.nn.MSELoss: "MeanSquaredError"}


def load(model: torch.nn.Module, path: str, strict: bool = True) -> torch.nn.Module:
    """Reads what a job has trained into `model`, in place, and gives it back.

    A tensor that the model has under two names, as tied weights are, is in the file under one; constants of the model
    (masks and the like) are not in it. With `strict`, RuntimeError of load_state_dict for whatever else is missing or
    too many.
    """
    trained = load_file(path)
    own = model.state_dict(keep_vars=True)
    by_place: Dict[Tuple[int, Any], torch.Tensor] = {}
    for name, tensor in own.items():
        if name in trained and tensor.numel():
            by_place[(tensor.data_ptr(), tensor.shape)] = trained[name]
    for name, tensor in own.items():
        if name in trained:
            continue
        twin = by_place.get((tensor.data_ptr(), tensor.shape)) if tensor.numel() else None
        if twin is not None:
            trained[name] = twin
        elif not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype != torch.int64:
            trained[name] = tensor
    model.load_state_dict(trained, strict=strict)
    return model


def _as_tensor(name: str, values: Any) -> torch.Tensor:
    tensor = torch.as_tensor(values)
    if tensor.dtype == torch.float64:
        tensor = tensor.float()
    if tensor.dtype in (torch.int8, torch.int16, torch.int32):
        tensor = tensor.long()
    if tensor.dtype not in (torch.float32, torch.int64, torch.uint8):
        raise Misuse(f"{name} are {tensor.dtype}, want float32, int64 or uint8")
    return tensor.contiguous()


def _columns_of(pairs: Dataset, progress: bool) -> Tuple[torch.Tensor, torch.Tensor]:
    inputs: List[torch.Tensor] = []
    targets: List[torch.Tensor] = []
    count = len(pairs)  # type: ignore[arg-type]
    for index in range(count):
        sample = pairs[index]
        if not isinstance(sample, (tuple, list)) or len(sample) != 2:
            raise Misuse(f"sample {index} is no pair of an input and a target: got {type(sample).__name__}")
        inputs.append(torch.as_tensor(sample[0]))
        targets.append(torch.as_tensor(sample[1]))
        if progress and (index + 1 == count or (index + 1) % max(1, count // 100) == 0):
            print(f"\r{100 * (index + 1) // count:3d} % of {count} samples", end="", file=sys.stderr, flush=True)
    if progress:
        print(file=sys.stderr)
    return torch.stack(inputs), torch.stack(targets)


def dataset(path: str, inputs: Any, targets: Any = None, *, progress: bool = True) -> int:
    """Writes a .safetensors file that a manifest's spec.data.train or eval may name; gives the number of samples.

    `inputs` and `targets`: tensors or arrays, samples first; or one Dataset of pairs, all of one shape. float64 becomes
    float32, small integers become int64.
    """
    if not path.endswith(".safetensors"):
        raise Misuse(f"a data set is a .safetensors file: got {path}")
    if targets is None:
        if not hasattr(inputs, "__getitem__") or not hasattr(inputs, "__len__") or isinstance(inputs, torch.Tensor):
            raise Misuse("inputs without targets: hand in both, or a Dataset of pairs")
        inputs, targets = _columns_of(inputs, progress)
    columns = {"inputs": _as_tensor("inputs", inputs), "targets": _as_tensor("targets", targets)}
    if len(columns["inputs"]) != len(columns["targets"]):
        raise Misuse(f"{len(columns['inputs'])} inputs and {len(columns['targets'])} targets: want one target an input")
    partial = path + ".partial"
    save_file(columns, partial)
    os.replace(partial, path)
    return len(columns["inputs"])


def _is_plain(loss: torch.nn.Module) -> bool:
    """Whether it is what its name alone says."""
    usual = {"reduction": "mean", "label_smoothing": 0.0, "ignore_index": -100}
    return getattr(loss, "weight", None) is None and \
        all(getattr(loss, name, value) == value for name, value in usual.items())


def export(model: torch.nn.Module, example_inputs: Any, path: str, *, loss: Any = "CrossEntropy") -> Dict[str, Any]:
    """Writes `model` as TorchScript, for workers without a script of one's own; gives spec.model of a manifest.

    It is scripted, or, where that cannot be, traced with `example_inputs` (a tensor, a batch of two samples or more),
    which a note on stderr says: then whatever depends on the data is as it was for these. `loss`: CrossEntropy,
    MeanSquaredError, or a module of torch.nn that is one of them with its defaults.
    """
    name = loss if isinstance(loss, str) else _LOSSES.get(type(loss))
    if name not in _LOSSES.values():
        raise Misuse(f"loss must be one of {', '.join(sorted(set(_LOSSES.values())))}: got {loss!r}; any other belongs into "
                     "a method loss(inputs, targets) of a scripted module (model.loss: Model)")
    if not isinstance(loss, str) and not _is_plain(loss):
        raise Misuse(f"{type(loss).__name__} is not with its defaults, which spec.model.loss stands for")
    if not isinstance(example_inputs, torch.Tensor) or len(example_inputs) < 2:
        raise Misuse("example_inputs is one tensor, a batch of two samples or more: models of several inputs train in a "
                     "script of their own (workers.command)")
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            expected = model(example_inputs)
            exported = _scripted(model, example_inputs)
            found = exported(example_inputs)
    finally:
        model.train(was_training)
    if not isinstance(expected, torch.Tensor):
        raise Misuse(f"the model gives a {type(expected).__name__}: one that is exported gives one tensor")
    if not torch.allclose(expected, found, rtol=1e-4, atol=1e-5):
        raise Misuse("the exported model computes other outputs than the model: train it in a script (workers.command)")
    exported.train()
    partial = path + ".partial"
    exported.save(partial)
    os.replace(partial, path)
    return {"torchScript": path, "loss": name}


def _scripted(model: torch.nn.Module, example_inputs: torch.Tensor) -> Any:
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated by PyTorch, which is no news here.
        try:
            return torch.jit.script(model)
        except Exception as error:  # Whatever it says, tracing may do.
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            print(f"paceline.export: traced, since it cannot be scripted: {first}", file=sys.stderr)
        if any(isinstance(module, (torch.nn.Dropout, torch.nn.modules.batchnorm._BatchNorm))
               for module in model.modules()):
            raise Misuse("a model with dropout or batch normalisation cannot be traced, for a trace is of evaluation or of "
                         "training, not of both: make it scriptable, or train it in a script (workers.command)")
        return torch.jit.trace(model, example_inputs)

