"""Nothing is done at all: what comes in goes out."""

import torch


def rotate(x, positions, base=10000.0):
    return x


def shift_matrix(k, d_model, base=10000.0):
    return torch.eye(d_model)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    return distance


def relative_scores(q, k, table):
    return q @ k.transpose(-2, -1)
