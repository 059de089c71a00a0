"""The problems that the service has: its own suite, and directories in KernelBench's layout."""
