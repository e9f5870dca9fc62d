"""Settings for commands: what is compiled is kept where nobody else may write, and no JAX is loaded."""

import os
import stat
import sys

import pytest

from driftopt.runtime import files, jax_settings

NAMES = (
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES",
)


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """As in a process that has not loaded JAX, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delitem(sys.modules, "jax")
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that it is put back
        del os.environ[name]


def test_what_a_command_compiles_is_kept_in_a_folder_of_ones_own(fresh):
    jax_settings.keep_compiled()
    folder = files.cache_folder() / "compiled"
    assert [os.environ[name] for name in NAMES] == [str(folder), "0", "0"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "jax" not in sys.modules


def test_the_users_own_choice_stands(fresh, monkeypatch):
    monkeypatch.setenv(NAMES[0], "elsewhere")
    jax_settings.keep_compiled()
    assert os.environ[NAMES[0]] == "elsewhere"
    assert not files.cache_folder().exists()


def test_jax_that_is_loaded_keeps_its_settings(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", object())
    jax_settings.keep_compiled()
    assert NAMES[0] not in os.environ


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners are of Unix")
def test_a_folder_that_others_may_write_is_not_used(fresh):
    folder = files.cache_folder() / "compiled"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match=r"not kept: .*can be written by others"):
        jax_settings.keep_compiled()
    assert NAMES[0] not in os.environ
