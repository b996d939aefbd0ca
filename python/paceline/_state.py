"""What a script keeps of its model."""

from __future__ import annotations

import collections
import copy
from typing import Any, Dict

import torch

from ._wrappers import plain_name


def state_dict(module: torch.nn.Module) -> Dict[str, Any]:
    """As ``module.state_dict()``, but copies, which stay as they are, by the names of the plain module.

    In a job a tensor of `module` is a view of memory that all of them share: what is kept of it goes on changing, and
    torch.save of one writes all. Copies lie on the device of what they are of; tied weights are one tensor here too.
    """
    found = module.state_dict(keep_vars=True)
    copies: Dict[int, torch.Tensor] = {}
    plain: Any = collections.OrderedDict()
    for name, value in found.items():
        if not isinstance(value, torch.Tensor):  # Of get_extra_state.
            plain[plain_name(module, name)] = copy.deepcopy(value)
            continue
        if id(value) not in copies:
            copies[id(value)] = value.detach().clone()
        plain[plain_name(module, name)] = copies[id(value)]
    versions = getattr(found, "_metadata", None)
    if versions is not None:  # load_state_dict asks for them.
        plain._metadata = {plain_name(module, name): of_it for name, of_it in versions.items()}
    return plain
