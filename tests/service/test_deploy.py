"""What lies in deploy/ fits the server: options that exist, nobody is root, a health check that is there."""

import inspect
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from driftopt.cli.serve import serve
from support.servers import serving, settings

DEPLOY = Path(__file__).parents[2] / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
UNIT = (DEPLOY / "driftopt.service").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", [CONTAINER, UNIT], ids=["container", "systemd"])
def test_every_option_is_one_of_the_command(text):
    options = {f"--{name.replace('_', '-')}" for name in inspect.signature(serve).parameters}
    (command, *_) = [line for line in re.findall(r"[^\n]*studies\.db[^\n]*", text) if "--" in line]
    assert set(re.findall(r"--[a-z-]+", command)) <= options


@pytest.fixture
def certificate(tmp_path):
    """A certificate for a name that is not this machine's address: (its file, its key's)."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    files = tmp_path / "cert.pem", tmp_path / "key.pem"
    req = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=shop.example"
    subprocess.run([*req.split(), "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_the_container_is_healthy_while_its_database_answers(tmp_path, certificate, monkeypatch, tls):
    """The command of HEALTHCHECK, against a server with and without TLS."""
    how = dict(zip(("certfile", "keyfile"), certificate, strict=True)) if tls else {}

    def code(port):
        monkeypatch.setattr(sys, "argv", ["health.py", port])
        with pytest.raises(SystemExit) as stop:
            runpy.run_path(str(DEPLOY / "health.py"), run_name="__main__")
        return stop.value.code

    with serving(settings(tmp_path / "a.db", tls=tls), **how) as (address, running):
        assert address.startswith("https" if tls else "http:")
        port = address.rsplit(":", 1)[1]
        assert code(port) == 0
        running._service.stopping.set()
        assert code(port) == 1
    assert code(port) == 1  # nobody is there


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_can_read_the_units(tmp_path):
    for path in DEPLOY.glob("driftopt*"):
        text = path.read_text(encoding="utf-8").replace("/opt/driftopt/bin/driftopt", "/bin/true")
        (tmp_path / path.name).write_text(text)
    files = sorted(map(str, tmp_path.glob("driftopt*")))
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_can_read_its_example(tmp_path, certificate):
    server = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for file, there in zip(("shop.example.pem", "shop.example.key"), certificate, strict=True):
        server = server.replace(f"/etc/ssl/{file}", str(there))
    path = tmp_path / "nginx.conf"
    path.write_text(f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}} http {{ {server} }}")
    done = subprocess.run(["nginx", "-t", "-c", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("caddy") is None, reason="Caddy is not installed")
def test_caddy_can_read_its_example():
    command = ["caddy", "adapt", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
