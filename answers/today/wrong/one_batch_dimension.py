"""Takes the shape apart."""

from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        batch, seq, d = x.shape
        z = self.gate(x.reshape(batch * seq, d))
        return self.down(z * z.sigmoid() * self.up(x.reshape(batch * seq, d))).view(batch, seq, d)
