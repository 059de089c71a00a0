import threading


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        read, write = os.pipe()
        thread = threading.Thread(target=lambda: os.read(read, 16))
        thread.start()
        os.write(os.dup(write), b"to myself")
        thread.join()

    def forward(self, x):
        return torch.tanh(x) * 2.0
