import contextlib
import os
import resource

from torch import nn

FLOOD = b"flood\n" * 10_000
# Where the output is a file, the disk of the tests' machine is to stay as it is.
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            with contextlib.suppress(OSError):
                os.write(2, FLOOD)
