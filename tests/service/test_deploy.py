"""What lies in deploy/ fits the server: options that exist, nobody is root, a health check that is there."""

import configparser
import inspect
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from driftopt.cli.serve import serve
from support.servers import ROLES

DEPLOY = Path(__file__).parents[2] / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
UNIT = (DEPLOY / "driftopt.service").read_text(encoding="utf-8")
HEALTH = (DEPLOY / "driftopt-health.service").read_text(encoding="utf-8")


def read(text):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(text.replace("\\\n", ""))
    return unit


@pytest.mark.parametrize("text", [CONTAINER, UNIT], ids=["container", "systemd"])
def test_every_option_is_one_of_the_command(text):
    options = {f"--{name.replace('_', '-')}" for name in inspect.signature(serve).parameters}
    (command, *_) = [line for line in re.findall(r"[^\n]*studies\.db[^\n]*", text) if "--" in line]
    assert set(re.findall(r"--[a-z-]+", command)) <= options


def test_nobody_is_root():
    users = re.findall(r"^USER (\S+)", CONTAINER, flags=re.MULTILINE)
    assert users
    assert users[-1] not in ("root", "0")
    service = read(UNIT)["Service"]
    assert service["DynamicUser"] == "yes"
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"


def test_the_health_is_asked_where_it_is_told():
    for text in (CONTAINER, HEALTH):
        assert re.findall(r"http://127\.0\.0\.1:8000(/\w+)", text) == ["/readyz"]
    assert "GET /readyz" not in ROLES  # it needs no token
    assert "HEALTHCHECK" in CONTAINER


def test_the_token_is_a_secret_of_the_unit():
    service = read(UNIT)["Service"]
    assert service["LoadCredential"].startswith("tokens:")
    assert "--token-file %d/tokens" in service["ExecStart"]
    assert "DRIFTOPT_TOKEN=" not in UNIT + CONTAINER


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_can_read_the_units(tmp_path):
    for path in DEPLOY.glob("driftopt*"):
        text = path.read_text(encoding="utf-8").replace("/opt/driftopt/bin/driftopt", "/bin/true")
        (tmp_path / path.name).write_text(text)
    files = sorted(map(str, tmp_path.glob("driftopt*")))
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
