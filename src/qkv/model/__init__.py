"""The Transformer, one chapter a file. These are the course's reference implementations, and they import torch alone.

Conventions, once for all chapters:

- Shapes are words, with a leading `...` for any batch dimensions, or none: q `(..., query, d_k)`, k `(..., key, d_k)`,
  v `(..., key, d_v)`. q, k and v have equal leading dimensions.
- A mask is bool and broadcasts to `(..., query, key)`. True means "may attend", as in torch's own fused attention.
  A row that allows nothing is undefined everywhere but in `masked_softmax`.
- Positions count from 0. Token ids and lengths are int64. `generator` is a `torch.Generator`.
- Sizes of 1 occur in every dimension.
- Functions do not change their inputs, are deterministic, give the same values under `torch.no_grad()`, and are
  differentiable in every floating input (gradients written by hand, `adam_step`, `clip_gradients` and decoding are not
  asked to be). The result has the device and dtype of the floating inputs, float16 and bfloat16 included; without
  floating inputs float32 or `torch.get_default_dtype()`, both are right.
- Computing in float32 inside and casting back is right: with float64 inputs about six digits suffice.
- All projections are `nn.Linear`, with bias unless said otherwise. Parameter names are fixed, their creation order is
  not.
- Bad input is refused by the decorator `expects`, which says what was expected, what came, and what to do.
"""
