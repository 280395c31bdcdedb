"""Parity: torch's own layers, given our weights, say the same."""

from __future__ import annotations

import torch

from qkv.model.masks import padding_mask
from qkv.model.transformer import Transformer
from qkv.model.twin import TorchTransformer

BATCH, SOURCE, TARGET = 3, 7, 5


def test_torch_with_our_weights_gives_our_logits_and_gradients() -> None:
    torch.manual_seed(0)
    model = Transformer(13, 17, d_model=12, n_heads=3, d_ff=19, n_layers=2, max_length=11).double()
    twin = TorchTransformer(model)
    source, inputs = torch.randint(13, (BATCH, SOURCE)), torch.randint(17, (BATCH, TARGET))
    for mask in (None, padding_mask(torch.tensor([SOURCE, 2, 4]), SOURCE)):
        ours, theirs = model(source, inputs, mask), twin(source, inputs, mask)
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
        model.zero_grad()
        twin.zero_grad()
        ours.square().sum().backward()
        theirs.square().sum().backward()
        torch.testing.assert_close(model.source_table.grad, twin.source_table.grad)
        torch.testing.assert_close(model.target_table.grad, twin.target_table.grad)


def test_the_twin_has_as_many_parameters() -> None:
    model = Transformer(13, 17, d_model=12, n_heads=3, d_ff=19, n_layers=2)
    assert sum(p.numel() for p in TorchTransformer(model).parameters()) == sum(p.numel() for p in model.parameters())
