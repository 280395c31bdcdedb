"""Uses the weights and forgets the biases."""

from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        return self.activation(x @ self.up.weight.T) @ self.down.weight.T
