"""The Transformer, one chapter a file. These are the course's reference implementations, and they import torch alone.

Conventions, once for all chapters:

- Shapes are words, with a leading `...` for any batch dimensions, or none: q `(..., query, d_k)`, k `(..., key, d_k)`,
  v `(..., key, d_v)`. q, k and v have equal leading dimensions.
- A mask is bool and broadcasts to `(..., query, key)`. True means "may attend", as in torch's own fused attention.
  A row that allows nothing is undefined everywhere but in `masked_softmax`.
- Positions count from 0. Token ids and lengths are int64. `generator` is a `torch.Generator`.
- Functions do not change their inputs, are deterministic, and are differentiable in every floating input. The result
  has the device and dtype of the floating inputs; without tensor inputs, `torch.get_default_dtype()`.
- All projections are `nn.Linear`, with bias unless said otherwise. Parameter names are fixed, their creation order is
  not.
- Bad input is refused by the decorator `expects`, which says what was expected, what came, and what to do.
"""
