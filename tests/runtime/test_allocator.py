import ctypes
import os
import subprocess
import sys

import pytest

# Eight threads that have all asked for memory, and how many pools there are then.
POOLS = """
import ctypes, sys, threading
from driftopt.runtime import allocator
{first}
begun, over = threading.Barrier(9), threading.Event()
def work():
    kept = bytearray(5000)
    begun.wait()
    over.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
begun.wait()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
stream = libc.fopen(sys.argv[1].encode(), b"w")
libc.malloc_info(0, ctypes.c_void_p(stream))
libc.fclose(ctypes.c_void_p(stream))
over.set()
print(open(sys.argv[1]).read().count("<heap nr="))
"""


def pools(folder, first, **environment):
    kept = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    command = [sys.executable, "-c", POOLS.format(first=first), str(folder / "pools.xml")]
    done = subprocess.run(command, env=kept | environment, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="asks glibc")
def test_threads_share_two_pools_of_memory_unless_the_user_has_said_how_many(tmp_path):
    assert pools(tmp_path, "") > 3  # so that the next line can fail
    assert pools(tmp_path, "assert allocator.share_pools()") <= 2
    assert pools(tmp_path, "assert not allocator.share_pools()", MALLOC_ARENA_MAX="3") == 3
