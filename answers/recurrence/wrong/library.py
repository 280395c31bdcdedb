"""The exercise handed to torch."""

import torch


def rnn_step(x, h, w_x, w_h, b):
    flat = x.reshape(-1, x.shape[-1]), h.reshape(-1, h.shape[-1])
    return torch.rnn_tanh_cell(*flat, w_x.T, w_h.T, b, torch.zeros_like(b)).reshape(h.shape)


def lstm_step(x, h, c, w_x, w_h, b):
    cell = torch.nn.LSTMCell(x.shape[-1], h.shape[-1]).to(x)
    with torch.no_grad():
        cell.weight_ih.copy_(w_x.T)
        cell.weight_hh.copy_(w_h.T)
        cell.bias_ih.copy_(b)
        cell.bias_hh.zero_()
    return cell(x, (h, c))
