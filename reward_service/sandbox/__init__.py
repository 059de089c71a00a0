"""Runs foreign code with as little power as it can do its work with.

    isolation   which layers work on this machine, found out by trying them
    confine     takes a freshly forked process's powers away, in a fixed order
    reach       the files that a confined process reaches; `trees` finds those of this machine
    landlock    holds it to these
    seccomp     refuses the system calls of `syscalls`
    mounts      lets another uid reach an interpreter that lives under a closed directory
    uids        leases user ids to processes, and kills all that a user id runs
    run         starts a command inside, bounded in time, output and memory
    launch      the small script that `run` starts; it confines itself and execs

Nothing here imports torch, and `launch`, `confine` and all that they import take the standard
library only, so that a start costs milliseconds.
"""
