"""A torch module whose parameters and buffers lie in one flat piece of memory, as Paceline arranges them."""

from __future__ import annotations

import ctypes
from typing import Callable, Dict, Iterator, List, Optional, Tuple

import torch

from . import _native
from ._errors import Misuse
from ._frozen import Freezing, Frozen, is_own
from ._idioms import Watch
from ._memory import take_memory
from ._words import encoded
from ._wrappers import is_sharded, keep_gradients, plain_name, refuse_what_moves

_ALIGNMENT_BYTES = 64
_LOOKED_AT = 64  # Steps: what may have changed unseen is looked at in one of so many, and in more of the first ones.
_TYPES = {torch.float32: _native.FLOAT32, torch.int64: _native.INT64}


class GivenUp(Exception):
    """Ends a backward pass whose step nobody wants any more. Never leaves the package."""


def _warn(words: str) -> None:
    _native.library().paceline_log(1, encoded(words))


class _Member:
    """One tensor of the model, and where it lies. `owner`: of a buffer, whose own it is."""

    def __init__(self, name: str, tensor: torch.Tensor, kind: int, owner: Optional[torch.nn.Module] = None):
        self.name, self.tensor, self.kind, self.owner = name, tensor, kind, owner
        self.key = name.rpartition(".")[2]
        self.home = tensor  # The view that is its data, once it is bound.


def _find(model: torch.nn.Module, are_averaged: bool) -> Tuple[List[_Member], List[Frozen]]:
    """What is trained or averaged, and what is this worker's own: what is frozen, but where those that can be are averaged, which count as
    buffers then; and buffers of floats that no shard can average. What is not in the state_dict is nobody's."""
    refuse_what_moves(model)
    members: List[_Member] = []
    own: List[Frozen] = []
    where: Dict[int, str] = {}
    modules = dict(model.named_modules())
    for name_there, parameter in model.named_parameters():
        name = plain_name(model, name_there)
        if is_own(parameter, are_averaged):
            own.append(Frozen(name, parameter, modules[name_there.rpartition(".")[0]]))
            continue
        if parameter.dtype != torch.float32:
            raise Misuse(f"parameter {name} is {parameter.dtype}, want torch.float32: compute in other precisions with "
                         "torch.autocast, which leaves parameters as they are; what is not to be trained is "
                         "requires_grad_(False) before paceline.worker, and may have any type")
        memory = parameter.to_local() if is_sharded(parameter) else parameter
        if memory.numel() and where.setdefault(memory.data_ptr(), name) != name:
            raise Misuse(f"parameters {where[memory.data_ptr()]} and {name} share memory without being one "
                         "parameter: tie them as `a.weight = b.weight`")
        members.append(_Member(name, parameter, _native.PARAMETER if parameter.requires_grad else _native.BUFFER))
    persistent = {plain_name(model, name) for name in model.state_dict(keep_vars=True)}
    for name_there, buffer in model.named_buffers():
        name = plain_name(model, name_there)
        if name not in persistent:
            continue
        owner = modules[name_there.rpartition(".")[0]]
        if buffer.dtype not in _TYPES:
            if buffer.is_floating_point() or buffer.is_complex():
                own.append(Frozen(name, buffer, owner))
            continue  # A mask, say: a constant.
        members.append(_Member(name, buffer, _native.BUFFER, owner))
    _refuse_shared(members, own)
    return members, own


def _place(tensor: torch.Tensor) -> Tuple[int, int]:
    """Where its memory begins and ends; two zeros where that cannot be told."""
    if is_sharded(tensor) or tensor.layout != torch.strided or hasattr(tensor, "__tensor_flatten__") or not tensor.numel():
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


def _refuse_shared(members: List[_Member], own: List[Frozen]) -> None:
    """Misuse of a frozen tensor whose memory is that of one that is trained or averaged: there they would part."""
    places = sorted([(*_place(member.tensor), member.name, False) for member in members] +
                    [(*_place(one.tensor), one.name, True) for one in own])
    ends = {True: (0, ""), False: (0, "")}  # Of those so far: the furthest, of either kind.
    for begin, end, name, is_own_one in places:
        reach, other = ends[not is_own_one]
        if begin and begin < reach:
            frozen, trained = (name, other) if is_own_one else (other, name)
            raise Misuse(f"frozen parameter {frozen} shares memory with {trained}, which is not frozen, without being one parameter: "
                         "tie them as `a.weight = b.weight`, or give the frozen one a copy (clone())")
        ends[is_own_one] = max(ends[is_own_one], (end, name))


def _apart(view: torch.Tensor) -> torch.Tensor:
    """The same memory, with a storage of its own. Where torch.compile finds tensors of one storage and one of them is written to, as
    buffers of a batch norm are, it takes them for each other's aliases and gives up."""
    return torch.from_dlpack(view) if view.numel() else view


class FlatModel:
    """Binds `model` to one flat memory, in place: its parameters become views.

    ``values`` is a uint8 tensor on the CPU; for a model on another device the views are into a copy there, which
    `fetch` refreshes. `are_averaged`: frozen parameters of float32 are. `freezing`: what the job's groups freeze, undone with the
    rest. `memory`: the library's handle for `values`, where it made them.
    """

    memory: Optional[int] = None

    def __init__(self, model: torch.nn.Module, are_averaged: bool = False, freezing: Optional[Freezing] = None):
        self.model = model
        self.freezing = freezing or Freezing(model)
        self._are_averaged, self._checks = are_averaged, 0
        self._members, self.frozen = _find(model, are_averaged)
        self._owned = [member for member in self._members if member.owner is not None]
        devices = {member.tensor.device for member in self._members}
        if len(devices) > 1:
            raise Misuse(f"the model lies on several devices ({', '.join(sorted(map(str, devices)))}): want one")
        self.device = devices.pop() if devices else torch.device("cpu")
        self._native = self._describe()
        total = ctypes.c_uint64()
        _native.check(_native.library().paceline_arrange(self._native, len(self._members), ctypes.byref(total)))
        self.values = self._make_values(total.value)
        self._there = self._make_there()
        self._buffers_from = min((tensor.offset_bytes for tensor in self._native if tensor.kind == _native.BUFFER),
                                 default=total.value)
        self._bind()
        self._trained = [i for i, member in enumerate(self._members) if member.kind == _native.PARAMETER]
        self.trained_bytes = sum(4 * self._members[i].tensor.numel() for i in self._trained)
        self._handles = [self._members[i].tensor.register_post_accumulate_grad_hook(self._hook(i))
                         for i in self._trained]
        self.freezing.finish()
        self._give_back_gradients = keep_gradients(model)
        self.watch = Watch({self._members[i].name: self._members[i].tensor for i in self._trained}, _warn, is_in_job=True)
        self._landing: Optional[torch.Tensor] = None  # Pinned, arranged as `values`: gradients of another device.
        self._landed: List[Tuple[int, torch.Tensor, torch.cuda.Event]] = []  # On their way there, in order.
        # Takes the gradient of the member of that index; raises GivenUp. None: nobody wants gradients yet.
        self.on_gradient: Optional[Callable[[int, torch.Tensor], None]] = None

    @property
    def native(self) -> ctypes.Array:
        return self._native

    def __len__(self) -> int:
        return len(self._members)

    def _describe(self) -> ctypes.Array:
        described = (_native.Tensor * len(self._members))()
        self._kept = []  # ctypes arrays point to these.
        for tensor, member in zip(described, self._members):
            shape = (ctypes.c_int64 * member.tensor.dim())(*member.tensor.shape)
            self._kept.append(shape)
            tensor.name = encoded(member.name)
            tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
            tensor.dimensions = member.tensor.dim()
            tensor.type = _TYPES[member.tensor.dtype]
            tensor.kind = member.kind
        return described

    def _make_values(self, size: int) -> torch.Tensor:
        for member in self._members:
            if is_sharded(member.tensor):
                raise Misuse(f"parameter {member.name} is sharded over processes, and this worker is one: start it with torchrun "
                             "(WORLD_SIZE > 1)")
        if self.device.type != "cpu":
            return self._pinned(size)
        self.memory, values = take_memory(size)
        return values

    def _make_there(self) -> torch.Tensor:
        return self.values.to(self.device)

    @staticmethod
    def _pinned(size: int) -> torch.Tensor:
        memory = torch.zeros(size + _ALIGNMENT_BYTES, dtype=torch.uint8, pin_memory=True)
        return memory.narrow(0, -memory.data_ptr() % _ALIGNMENT_BYTES, size)

    def _view(self, values: torch.Tensor, index: int) -> torch.Tensor:
        tensor = self._members[index].tensor
        size = tensor.numel() * tensor.element_size()
        return values.narrow(0, self._native[index].offset_bytes, size).view(tensor.dtype).view(tensor.shape)

    @torch.no_grad()
    def _bind(self) -> None:
        for index, member in enumerate(self._members):
            view = self._view(self._there, index)
            view.copy_(member.tensor)
            member.tensor.data = member.home = view if member.owner is None else _apart(view)
        self.store()

    def fetch(self) -> None:
        """What is in `values` is what the model computes on."""
        for member, _ in self._bound_anew():
            setattr(member.owner, member.key, member.tensor)
        if self._there is not self.values:
            self._there.copy_(self.values, non_blocking=True)  # Written to again only after the step that waits for this.

    def _bound_anew(self) -> Iterator[Tuple[_Member, Optional[torch.Tensor]]]:
        """Buffers in whose place a forward pass has put another tensor, as `self.mean = ...` does; and that tensor."""
        for member in self._owned:
            bound = getattr(member.owner, member.key, None)
            if bound is not member.tensor:
                yield member, bound

    @torch.no_grad()
    def _keep_what_is_bound_anew(self) -> None:
        for member, bound in self._bound_anew():
            if bound is None:
                raise Misuse(f"buffer {member.name} is gone: the model had it when paceline.worker was given it")
            if bound.shape != member.tensor.shape:
                raise Misuse(f"buffer {member.name} has shape {list(bound.shape)} now, it had {list(member.tensor.shape)}")
            member.tensor.copy_(bound)
            setattr(member.owner, member.key, member.tensor)

    def store(self) -> None:
        """What the model has is in `values`."""
        self._keep_what_is_bound_anew()
        if self._there is not self.values:
            self.values.copy_(self._there)

    def store_buffers(self) -> None:
        """What a forward pass may have changed is in `values`. Misuse, by name, where a buffer is not what it was."""
        self._keep_what_is_bound_anew()
        if self._there is not self.values:
            self.values[self._buffers_from:].copy_(self._there[self._buffers_from:])

    def land(self, index: int, gradient: torch.Tensor) -> None:
        """Sends a GPU's gradient to the host's memory, without waiting for it."""
        if self._landing is None:
            self._landing = self._pinned(self._buffers_from)
        home = self._landing.narrow(0, self._native[index].offset_bytes, 4 * gradient.numel()).view(torch.float32)
        home = home.view(gradient.shape)
        home.copy_(gradient, non_blocking=True)
        there = torch.cuda.Event()
        there.record()
        self._landed.append((index, home, there))

    def landed(self, is_to_wait: bool) -> Iterator[Tuple[int, torch.Tensor]]:
        """Those that are there by now, in the order in which they were sent; all of them, where it waits."""
        while self._landed and (is_to_wait or self._landed[0][2].query()):
            index, home, there = self._landed.pop(0)
            there.synchronize()
            yield index, home

    def forget_landed(self) -> None:
        """Of a step that nobody wants."""
        self._landed.clear()

    def check(self) -> None:
        """Misuse, by name, if a tensor does not lie where it did, has a gradient that it should not have, or is frozen and has changed."""
        for member in self._members:
            if member.tensor.data_ptr() != member.home.data_ptr() or member.tensor.dtype != member.home.dtype:
                raise Misuse(f"{member.name} does not lie any more where paceline.worker put it: half(), to(), "
                             "vector_to_parameters() and assignments to .data move it; do that before")
        self.freezing.again()
        self._checks += 1
        is_due = self._checks % _LOOKED_AT == 0 or self._checks & (self._checks - 1) == 0
        if is_due:
            self._refuse_replaced()
        for one in self.frozen:
            one.check(is_due)
        self.watch.check()

    def _refuse_replaced(self) -> None:
        there = {id(tensor) for tensor in self.model.parameters()}
        for one in [*self._members, *self.frozen]:
            if isinstance(one.tensor, torch.nn.Parameter) and id(one.tensor) not in there and not is_sharded(one.tensor):
                raise Misuse(f"{one.name} is another parameter than the model had when paceline.worker was given it: put it in its place before that")

    def said_at_the_end(self) -> str:
        """Of frozen tensors that have changed since they were looked at."""
        try:
            self._refuse_replaced()
            for one in self.frozen:
                one.check(is_due=True)
        except Misuse as error:
            return f"what this worker has trained with is not what others had: {error}"
        return ""

    def begin(self) -> None:
        """Training does, with what the script has put into the model until now."""
        self.store()
        self._find_frozen_anew()

    def _find_frozen_anew(self) -> None:
        """What the script has put in the place of frozen tensors since the model was given. Misuse, by name, of what is no such tensor."""
        _, found = _find(self.model, self._are_averaged)
        here = {one.name: one for one in found}
        for one in self.frozen:
            now = here.get(one.name)
            if now is None or now.type != one.type:
                raise Misuse(f"frozen parameter {one.name} was {one.type} when paceline.worker was given the model, and is "
                             f"{'not there or trained' if now is None else now.type} now: put it in its place before that")
        self.frozen = [here[one.name] for one in self.frozen]
        self._refuse_replaced()

    def _hook(self, index: int) -> Callable[[torch.Tensor], None]:
        def on_ready(parameter: torch.Tensor) -> None:
            if self.on_gradient is not None:
                self.on_gradient(index, self._as_handed(parameter.grad))
            else:
                self.watch.note(self._members[index].name)
        return on_ready

    def leftover(self) -> List[int]:
        """Trained members that have a gradient: of passes before, or none of this one's."""
        return [i for i in self._trained if self._members[i].tensor.grad is not None]

    def gradient(self, index: int) -> torch.Tensor:
        return self._as_handed(self._members[index].tensor.grad)

    def _as_handed(self, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.to_dense() if gradient.is_sparse else gradient

    def drop_gradient(self, index: int) -> None:
        self._members[index].tensor.grad = None

    def drop_gradients(self) -> None:
        for i in self._trained:
            self._members[i].tensor.grad = None
        self.watch.forget()

    def release(self) -> None:
        """The model is an ordinary one again, each tensor with memory of its own; its values stay."""
        for member in self._members:
            member.tensor.data = member.tensor.data.clone()
        self._let_go()

    def _let_go(self) -> None:
        self.freezing.undo()
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._give_back_gradients()
        self.watch.close()
        self.on_gradient = None
