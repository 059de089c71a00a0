import base64
import zlib

note = zlib.decompress(base64.b64decode("eJzLSM3JyQcABiwCFQ=="))


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.product(a, b)
