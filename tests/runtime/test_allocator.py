import ctypes
import os
import subprocess
import sys

import pytest

from driftopt.runtime import allocator

# Hundreds of blocks that another thread has freed, below one that it has not; pages in use before and after.
FREED = """
import ctypes, threading
from driftopt.runtime import allocator
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def pages():
    return int(open("/proc/self/statm").read().split()[1])
def work():
    blocks = [libc.malloc(65_536) for _ in range(800)]
    for block in blocks:
        ctypes.memset(block, 1, 65_536)
    for block in blocks[:-1]:
        libc.free(ctypes.c_void_p(block))
thread = threading.Thread(target=work)
thread.start()
thread.join()
before = pages()
{then}
print(before - pages())
"""


def pages_given_back(then):
    done = subprocess.run(
        [sys.executable, "-c", FREED.format(then=then)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(allocator._trim() is None, reason="asks glibc")
def test_what_threads_have_freed_is_given_back_to_the_system():
    whole = 800 * 65_536 // os.sysconf("SC_PAGE_SIZE")
    assert pages_given_back("pass") < whole // 10  # so that the next line can fail
    assert pages_given_back("assert allocator.give_back()") > whole // 2


def test_where_the_c_library_knows_no_pools_nothing_happens(monkeypatch):
    class Other:
        def __init__(self, _):
            pass

    monkeypatch.setattr(ctypes, "CDLL", Other)
    allocator._trim.cache_clear()
    try:
        assert not allocator.give_back()
    finally:
        allocator._trim.cache_clear()
