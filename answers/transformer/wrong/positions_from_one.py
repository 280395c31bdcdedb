"""Positions are counted from 1; eos is taken for bos; the shift leaves the last column."""

import math

import torch


def embed(ids, table, positions):
    places = torch.arange(1, ids.shape[-1] + 1, device=ids.device) % len(positions)
    return table[ids] * math.sqrt(table.shape[-1]) + positions[places]


def shift_right(targets, bos):
    inputs = targets.clone()
    inputs[:, :1] = bos
    inputs[:, 1:-1] = targets[:, :-2]
    return inputs


def greedy_decode(step, bos, eos, max_length):
    said = []
    while len(said) < max_length and bos not in said:
        said.append(int(step([bos, *said]).argmax()))
    return said
