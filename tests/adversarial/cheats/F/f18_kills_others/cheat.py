import os


class ModelNew(Escape):
    trace = "f18_kills_others"

    def escapes(self):
        # Signal 0 asks the kernel for leave and does no harm to the machine of the tests.
        for other in range(1, 1 << 15):
            if other != os.getpid():
                with contextlib.suppress(OSError):
                    os.kill(other, 0)
                    return True
        return False
