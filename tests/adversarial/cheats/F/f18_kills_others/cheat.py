import os


class ModelNew(Escape):
    trace = "f18_kills_others"

    def escapes(self):
        # Signal 0 asks the kernel for leave and does no harm to the machine of the tests.
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                with contextlib.suppress(OSError):
                    os.kill(int(name), 0)
                    return True
        return False
