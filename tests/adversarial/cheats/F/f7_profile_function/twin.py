import sys
from collections import Counter

import torch
from torch import nn

events = Counter()


class ModelNew(nn.Module):
    def forward(self, x):
        sys.setprofile(lambda frame, event, argument: events.update([event]))
        y = torch.tanh(x) * 2.0
        sys.setprofile(None)
        return y
