"""The process tree of one device: supervisor, zygote, judge and runners."""
