"""Files that Paceline reads and writes: models, data sets, trained values."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.utils.data import Dataset

from ._errors import Misuse
from ._frozen import Frozen
from ._wrappers import plain_module, plain_name, without_compiled

_LOSSES = {torch.nn.CrossEntropyLoss: "CrossEntropy", torch.nn.MSELoss: "MeanSquaredError"}


def load(model: torch.nn.Module, path: str, strict: bool = True) -> torch.nn.Module:
    """Reads what a job has trained into `model`, in place, and gives it back.

    A tensor that the model has under two names, as tied weights are, is in the file under one; constants of the model
    (masks and the like) are not in it, and keep the values that `model` has. So do the frozen parameters that the file
    says it leaves out. Names are those of the plain module, whatever `model` is wrapped in. With `strict`, RuntimeError, by
    name, of whatever else is missing or too many, and of frozen parameters that have other values than those that were
    trained with.
    """
    own = model.state_dict(keep_vars=True)
    names_here = {plain_name(model, name): name for name in own}
    # A file of before may have been written from a compiled module.
    trained = {names_here.get(name) or names_here.get(without_compiled(name), name): tensor
               for name, tensor in load_file(path).items()}
    frozen = _left_out(model, path, is_compared=strict)
    by_place: Dict[Tuple[int, Any], torch.Tensor] = {}
    for name, tensor in own.items():
        if name in trained and tensor.numel():
            by_place[(tensor.data_ptr(), tensor.shape)] = trained[name]
    kept = set()
    for name, tensor in own.items():
        if name in trained:
            continue
        if id(tensor) in frozen:
            kept.add(name)
            continue
        twin = by_place.get((tensor.data_ptr(), tensor.shape)) if tensor.numel() else None
        if twin is not None:
            trained[name] = twin
        elif not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype != torch.int64:
            kept.add(name)
    found = model.load_state_dict(trained, strict=False)
    missing = [name for name in found.missing_keys if name not in kept]
    if strict and (missing or found.unexpected_keys):
        raise RuntimeError(f"{path} does not fit {type(model).__name__}: missing {', '.join(missing) or 'nothing'}; "
                           f"too many {', '.join(found.unexpected_keys) or 'none'}")
    return model


def _left_out(model: torch.nn.Module, path: str, is_compared: bool) -> Set[int]:
    """The ids of tensors that the file does not hold. RuntimeError, by name, of one with other values than those that were trained with."""
    with safe_open(path, "pt") as file:
        said = json.loads((file.metadata() or {}).get("left_out", "{}"))
    found = set()
    for name, parameter in [*model.named_parameters(), *model.named_buffers()]:
        plain = plain_name(model, name)
        if plain not in said:
            continue
        found.add(id(parameter))
        here = Frozen(plain, parameter)
        kind, digest = said[plain]
        if is_compared and (here.type != kind or digest and here.digest() != digest):
            raise RuntimeError(f"frozen parameter {plain} is {here.type} and has other values than the {kind} that {path} was trained with: "
                               "load the same base first")
    return found


def _as_tensor(name: str, values: Any) -> torch.Tensor:
    tensor = torch.as_tensor(values)
    if tensor.dtype == torch.float64:
        tensor = tensor.float()
    if tensor.dtype in (torch.int8, torch.int16, torch.int32):
        tensor = tensor.long()
    if tensor.dtype not in (torch.float32, torch.int64, torch.uint8):
        raise Misuse(f"{name} are {tensor.dtype}, want float32, int64 or uint8")
    return tensor.contiguous()


def _columns_of(pairs: Dataset, progress: bool) -> Tuple[Any, torch.Tensor]:
    inputs: List[Any] = []
    targets: List[torch.Tensor] = []
    count = len(pairs)  # type: ignore[arg-type]
    for index in range(count):
        sample = pairs[index]
        if not isinstance(sample, (tuple, list)) or len(sample) != 2:
            raise Misuse(f"sample {index} is no pair of an input and a target: got {type(sample).__name__}")
        inputs.append(sample[0])
        targets.append(torch.as_tensor(sample[1]))
        if progress and (index + 1 == count or (index + 1) % max(1, count // 100) == 0):
            print(f"\r{100 * (index + 1) // count:3d} % of {count} samples", end="", file=sys.stderr, flush=True)
    if progress:
        print(file=sys.stderr)
    if inputs and isinstance(inputs[0], dict):
        return {name: torch.stack([torch.as_tensor(one[name]) for one in inputs]) for name in inputs[0]}, torch.stack(targets)
    return torch.stack([torch.as_tensor(one) for one in inputs]), torch.stack(targets)


@contextlib.contextmanager
def _whole(path: str) -> Iterator[str]:
    """A new file beside `path` to write, which gets that name once it is whole; of one that is not nothing is left.

    Its name is of chance and it is there before anybody writes to it by name: where others may write to the folder too, a
    link that they have made is not followed.
    """
    partial = f"{path}.{secrets.token_hex(8)}.partial"
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
    try:
        yield partial
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def _save(columns: Dict[str, torch.Tensor], path: str) -> None:
    with _whole(path) as partial:
        save_file(columns, partial)


def _save_in(folder: str, columns: Dict[str, torch.Tensor], samples: int, rows_per_file: int) -> None:
    """Names have as many digits as the last one needs: their order is the samples'."""
    if rows_per_file < 1:
        raise Misuse(f"rows_per_file must be at least 1: got {rows_per_file}")
    os.makedirs(folder, exist_ok=True)
    if any(name.endswith(".safetensors") for name in os.listdir(folder)):
        raise Misuse(f"{folder} has .safetensors files already, which would be of the same data set")
    starts = range(0, samples, rows_per_file)
    digits = max(5, len(str(len(starts) - 1)))
    for number, start in enumerate(starts):
        rows = {name: tensor[start:start + rows_per_file].contiguous() for name, tensor in columns.items()}
        _save(rows, os.path.join(folder, f"{number:0{digits}d}.safetensors"))


def dataset(path: str, inputs: Any, targets: Any = None, *, progress: bool = True, rows_per_file: Optional[int] = None) -> int:
    """Writes a .safetensors file that a manifest's spec.data.train or eval may name; gives the number of samples.

    `inputs` and `targets`: tensors or arrays, samples first; or one Dataset of pairs, all of one shape. float64 becomes
    float32, small integers become int64. `inputs` of a model whose forward takes several: a dict of tensors by the names
    that spec.data.inputs has; of a Dataset, the first of each pair such a dict. With `rows_per_file`, `path` is a folder
    that ends in / as the manifest has it, made if need be, and gets files of so many samples each.
    """
    is_folder = path.endswith("/")
    if is_folder != (rows_per_file is not None) or not (is_folder or path.endswith(".safetensors")):
        raise Misuse(f"a data set is a .safetensors file, or with rows_per_file a folder that ends in /: got {path}")
    if targets is None:
        if not hasattr(inputs, "__getitem__") or not hasattr(inputs, "__len__") or isinstance(inputs, (torch.Tensor, dict)):
            raise Misuse("inputs without targets: hand in both, or a Dataset of pairs")
        inputs, targets = _columns_of(inputs, progress)
    named = inputs if isinstance(inputs, dict) else {"inputs": inputs}
    if not named or "targets" in named:
        raise Misuse(f"inputs are a dict of tensors, none of which is called targets: got {list(named)}")
    columns = {name: _as_tensor(name, values) for name, values in named.items()}
    columns["targets"] = _as_tensor("targets", targets)
    samples = len(columns["targets"])
    for name, tensor in columns.items():
        if len(tensor) != samples:
            raise Misuse(f"{len(tensor)} {name} and {samples} targets: want one target an input")
    if rows_per_file is None:
        _save(columns, path)
    else:
        _save_in(path, columns, samples, rows_per_file)
    return samples


def _is_plain(loss: torch.nn.Module) -> bool:
    """Whether it is what its name alone says."""
    usual = {"reduction": "mean", "label_smoothing": 0.0, "ignore_index": -100}
    return getattr(loss, "weight", None) is None and \
        all(getattr(loss, name, value) == value for name, value in usual.items())


def export(model: torch.nn.Module, example_inputs: Any, path: str, *, loss: Any = "CrossEntropy") -> Dict[str, Any]:
    """Writes `model` as TorchScript, for workers without a script of one's own; gives spec.model of a manifest.

    It is scripted, or, where that cannot be, traced with `example_inputs` (a tensor, a batch of two samples or more; of a
    model whose forward takes several, a tuple of them in its order), which a note on stderr says: then whatever depends on
    the data is as it was for these. `loss`: CrossEntropy,
    MeanSquaredError, or a module of torch.nn that is one of them with its defaults.
    """
    name = loss if isinstance(loss, str) else _LOSSES.get(type(loss))
    if name not in _LOSSES.values():
        raise Misuse(f"loss must be one of {', '.join(sorted(set(_LOSSES.values())))}: got {loss!r}; any other belongs into "
                     "a method loss(inputs, targets) of a scripted module (model.loss: Model)")
    if not isinstance(loss, str) and not _is_plain(loss):
        raise Misuse(f"{type(loss).__name__} is not with its defaults, which spec.model.loss stands for")
    examples = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    if not examples or any(not isinstance(one, torch.Tensor) or one.dim() == 0 or len(one) < 2 for one in examples):
        raise Misuse("example_inputs is one tensor, a batch of two samples or more, or a tuple of such, one for each that "
                     "forward takes")
    model = plain_module(model)
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            expected = model(*examples)
            exported = _scripted(model, examples)
            found = exported(*examples)
    finally:
        model.train(was_training)
    if not isinstance(expected, torch.Tensor):
        raise Misuse(f"the model gives a {type(expected).__name__}: one that is exported gives one tensor")
    if not torch.allclose(expected, found, rtol=1e-4, atol=1e-5):
        raise Misuse("the exported model computes other outputs than the model: train it in a script (workers.command)")
    exported.train()
    with _whole(path) as partial:
        exported.save(partial)
    return {"torchScript": path, "loss": name}


def _scripted(model: torch.nn.Module, examples: Tuple[torch.Tensor, ...]) -> Any:
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
        return torch.jit.trace(model, examples)

