import os
import sys


class ModelNew(Escape):
    trace = "f19_installed_files"

    def escapes(self):
        # Asking does no harm to the machine of the tests.
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        places = [*files, *map(os.path.dirname, filter(None, files)), sys.executable]
        own = os.getcwd()
        return any(os.access(p, os.W_OK) for p in places if p and not p.startswith(own))
