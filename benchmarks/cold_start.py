"""CPU time of each function's cold start: ``python -m benchmarks.cold_start [--runs 5]``.

Each run starts a new process with what a function has in Lambda: its folder, the layers as their makefiles build them
(for this machine's processor), and the template's variables. The process loads the handler and ends. The result is the
CPU time of the whole process, user and system, including the interpreter's start. The smallest result of the runs is
shown, because load on the machine can only add time. The second column is the same without the layers' bytecode.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from baton_local.root import ROOT
from baton_local.stack import FunctionDefinition, read_stack
from baton_local.template import Endpoints
from benchmarks.report import table

LAYERS = {"DependenciesLayer": ROOT / "layers/dependencies", "SharedLayer": ROOT / "shared"}
ENDPOINTS = Endpoints(
    gateway="https://api.test", sockets="https://s.test", connections="https://c.test", queues="https://q.test"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to start; Lambda's is 3.13")
    arguments = parser.parse_args()
    ask = [arguments.python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    functions = read_stack(ROOT / "template.yaml", {"Stage": "dev"}, ENDPOINTS).functions
    with tempfile.TemporaryDirectory() as folder:
        path = _layers(Path(folder), arguments.python, version)
        rows = []
        for name, function in sorted(functions.items()):
            with_bytecode, without = (
                min(_cpu_seconds(arguments.python, function, path, options) for _ in range(arguments.runs))
                for options in ([], ["-X", f"pycache_prefix={folder}/none"])
            )
            rows.append((name.removesuffix("Function").lower(), f"{with_bytecode:.2f}", f"{without:.2f}"))
    print(f"CPU seconds of a cold start, {platform.machine()}, Python {version}, smallest of {arguments.runs}\n")
    print(table(("function", "bytecode", "no bytecode"), rows))


def _layers(folder: Path, python: str, version: str) -> list[Path]:
    """Build the layers for this machine, and return the folders that Lambda would add to the path."""
    for layer, source in LAYERS.items():
        variables = {
            "ARTIFACTS_DIR": str(folder / layer),
            "PYTHON_VERSION": version,
            "PYTHON_PLATFORM": f"{platform.machine()}-manylinux_2_28" if sys.platform == "linux" else "macos",
        }
        (folder / layer).mkdir()
        subprocess.run(
            ["make", "--silent", f"build-{layer}", *(f"{name}={value}" for name, value in variables.items())],
            cwd=source,
            env={**os.environ, "LAYER_PYTHON": python, "BATON_REQUIRE_BYTECODE": "1"},
            check=True,
        )
    return [folder / layer / "python" for layer in LAYERS]


def _cpu_seconds(python: str, function: FunctionDefinition, path: list[Path], options: list[str]) -> float:
    module = Path(function.handler).stem if function.handler.endswith(".sh") else function.handler.rpartition(".")[0]
    environment = {
        **function.variables,
        "PYTHONPATH": os.pathsep.join(map(str, [function.folder, *path])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "BATON_AGENTS_DIR": str(path[-1].parent / "agents"),
        "TIKTOKEN_CACHE_DIR": str(ROOT / "layers/tokenizer"),
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
    }
    command = [python, *options, "-c", f"import {'app' if module == 'run' else module}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
