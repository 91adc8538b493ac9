"""Becomes a service's command, so that the command dies when the process that started it dies.

Run as `python -I -S launcher.py kernel|watcher PARENT_PID PIPE_FD COMMAND...`, with nothing of Mars imported,
so that it costs some 30 ms. The command keeps this process's id.
"""

import ctypes
import os
import select
import signal
import sys

PR_SET_PDEATHSIG = 1
POLL_S = 1.0


def main() -> None:
    way, parent_pid, pipe_fd, *command = sys.argv[1:]
    if way == "kernel":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(parent_pid):  # it died before the kernel was asked
            sys.exit(1)
    elif os.fork() == 0:
        watch(int(pipe_fd))
    os.set_inheritable(int(pipe_fd), False)
    os.execvp(command[0], command)


def watch(pipe_fd: int) -> None:
    """Kills this process group once the starter is gone, which ends the pipe. Ends with the command."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the signal is meant for the command, which then ends by itself
    command_pid = os.getppid()
    while os.getppid() == command_pid:
        readable, _, _ = select.select([pipe_fd], [], [], POLL_S)
        if readable:
            os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
