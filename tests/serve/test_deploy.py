"""The files in deploy/ can be read, and name files, options and addresses that exist. They are not run here."""

import configparser
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from hark.cli import app

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
GROUP: Any = typer.main.get_command(app)


def check_command(words: list[str]) -> None:
    """A command of hark whose verb and options exist."""
    assert words[0] == "serve"
    GROUP.get_command(None, "serve").make_context("serve", words[1:])


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def test_the_image() -> None:
    found = instructions()
    for name, rest in found:
        if name == "COPY" and "--from" not in rest:
            for source in shlex.split(rest)[:-1]:
                assert (ROOT / source).exists(), source
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert not {"src", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"} & set(ignored)
    commands = {name: rest for name, rest in found if name in ("ENTRYPOINT", "CMD", "USER", "STOPSIGNAL")}
    assert commands["ENTRYPOINT"] == '["hark"]'
    check_command(yaml.safe_load(commands["CMD"]))
    assert commands["USER"] not in ("root", "0")
    assert "[serve]" in dict(found)["RUN"] or any("[serve]" in rest for _, rest in found)
    (health,) = [rest for name, rest in found if name == "HEALTHCHECK"]
    check = yaml.safe_load(health.partition("CMD ")[2])
    assert check[:2] == ["python", "-c"]
    compile(check[2], "health check", "exec")
    assert ":8000/health/ready" in check[2]


def test_the_health_check_fails_until_the_server_is_ready(server: Any) -> None:
    (health,) = [rest for name, rest in instructions() if name == "HEALTHCHECK"]
    code = yaml.safe_load(health.partition("CMD ")[2])[2].replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")
    exec(code, {})
    with pytest.raises(OSError, match="404"):
        exec(code.replace("/health/ready", "/nothing"), {})


def test_compose() -> None:
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["hark"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    check_command(service["command"])
    assert service["ports"] == ["127.0.0.1:8000:8000"]


def test_the_unit_of_systemd() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None, delimiters="=")
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "hark.service")
    command = shlex.split(unit["Service"]["ExecStart"])
    assert command[0].endswith("/bin/hark")
    check_command(command[1:])
    assert unit["Service"]["DynamicUser"] == "yes"
    grace = int(unit["Service"]["TimeoutStopSec"])
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["hark"]["stop_grace_period"]
    from hark.serve.settings import ServeSettings

    assert min(grace, int(re.sub(r"\D", "", compose))) > ServeSettings().shutdown_seconds
