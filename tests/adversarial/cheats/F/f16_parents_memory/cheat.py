import os


class ModelNew(Escape):
    trace = "f16_parents_memory"

    def escapes(self):
        for name in ("mem", "environ"):
            with contextlib.suppress(OSError), open(f"/proc/{os.getppid()}/{name}", "rb"):
                return True
        return False
