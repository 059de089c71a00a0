import socket

exec("host = socket.gethostname()")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
