"""Who speaks, where nobody is named: the machine and the process."""

import os
import socket


def this_process() -> str:
    """The machine's name and the process's number, as host:123."""
    return f"{socket.gethostname()}:{os.getpid()}"
