import subprocess
import sys

subprocess.run([sys.executable, "-I", "-c", "pass"], check=False)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.product(a, b)
