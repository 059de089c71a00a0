import time


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            write_to(outlets(), b"\0")
            time.sleep(0.05)
