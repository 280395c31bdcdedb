"""A checkpoint by saved-tensor hooks: what would be kept is forgotten, and made again when asked for."""

import torch
from torch.autograd.graph import saved_tensors_hooks


def checkpointed(function, *inputs):
    state = torch.get_rng_state()
    made = {}
    count = iter(range(10**9))

    def again():
        here = torch.get_rng_state()
        torch.set_rng_state(state)
        kept = []
        with torch.enable_grad(), saved_tensors_hooks(lambda x: kept.append(x.detach()), lambda x: x):
            function(*(x.detach().requires_grad_(x.requires_grad) for x in inputs))
        torch.set_rng_state(here)
        made.update(enumerate(kept))

    def unpack(number):
        if number not in made:
            again()
        return made[number]

    with saved_tensors_hooks(lambda x: next(count), unpack):
        return function(*inputs)
