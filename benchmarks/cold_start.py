"""CPU time of cold starts and first requests: ``python -m benchmarks.cold_start [--runs 5] [--only http,turns]``.

Each run starts a new process with the environment of a function in Lambda: its folder, the layers as their makefiles
build them (for this machine's processor), and the template's variables. A local cloud replaces AWS. The process loads
the handler and answers a first request, if the function has a usual one. Results are the user and system CPU times of
the whole process, including the interpreter's start, so that work that moves to the first request is counted there. The
smallest result of the runs is shown, because load on the machine can only add time. The numbers of loaded modules do
not depend on the machine. A second table shows the sizes of the layers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from baton_local.cloud import LocalCloud
from baton_local.root import ROOT, TOKENIZER
from baton_local.stack.declarations import FunctionDefinition
from benchmarks.instruments.report import format_table

LAYERS = {"DependenciesLayer": ROOT / "layers/dependencies", "SharedLayer": ROOT / "shared"}
OTHER_LAYERS = {"ExtractionLayer": ROOT / "layers/extraction"}
PROCESS = Path(__file__).with_name("cold_start_process.py")
TENANT, USER = "acme", "ada"


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="starts of each function (default: %(default)s)")
    parser.add_argument("--python", default="python3.13", help="the interpreter to start; Lambda's is 3.13")
    parser.add_argument("--only", default="", help="names of functions, separated by commas")
    parser.add_argument("--sizes", action="store_true", help="the sizes of the layers only")
    arguments = parser.parse_args()
    ask = [arguments.python, "-c", "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2])"]
    python, version = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()
    with tempfile.TemporaryDirectory() as folder:
        layers = _build(Path(folder), python, version)
        if not arguments.sizes:
            _report_starts(python, version, layers, arguments.runs, set(filter(None, arguments.only.split(","))))
        print(format_table(("layer", "MB", "MB zipped"), _measure_sizes(layers)))


def _report_starts(python: str, version: str, layers: Mapping[str, Path], runs: int, only: set[str]) -> None:
    """Print a table of the starts of the functions named in ``only``, or of all if it is empty."""
    path = [layers[name] / "python" for name in LAYERS]
    rows = []
    with _cloud() as cloud:
        for logical_id, function in sorted(cloud.stack.functions.items()):
            name = logical_id.removesuffix("Function").lower()
            if only and name not in only:
                continue
            environment = _make_environment(cloud, function, path)
            reports = [_run(python, function, environment, _make_request(cloud, name)) for _ in range(runs)]
            bare = _run(python, function, environment, None, "-X", f"pycache_prefix={path[0]}/none")
            first = min((report["first"] for report in reports), key=lambda seconds: seconds or 0.0)
            rows.append(
                (
                    name,
                    f"{min(report['start'] for report in reports):.2f}",
                    f"{first:.2f}" if first is not None else "",
                    reports[0]["modules"],
                    reports[0]["later"] if first is not None else "",
                    f"{bare['start']:.2f}",
                )
            )
    print(f"CPU seconds, {platform.machine()}, Python {version}, smallest of {runs}\n")
    print(format_table(("function", "start", "first request", "modules", "more for the request", "no bytecode"), rows))
    print()


@contextmanager
def _cloud() -> Iterator[LocalCloud]:
    """Run the services that functions call, without workers for turns."""
    cloud = LocalCloud(port=0, workers=0, sweep_seconds=0, documentation=False, traces=False, reload=False)
    cloud.start()
    try:
        yield cloud
    finally:
        cloud.stop()


def _make_environment(cloud: LocalCloud, function: FunctionDefinition, path: list[Path]) -> dict[str, str]:
    """Return a function's variables from the template, with this machine's addresses, and its Python path."""
    here = cloud.environment
    own = {name: here.get(name, value) for name, value in function.variables.items()}
    aws = {name: value for name, value in here.items() if name.startswith(("AWS_", "OPENAI_"))}
    return {
        **own,
        **aws,
        "BATON_AGENTS_DIR": str(ROOT / "agents"),
        # No layer contains the local cloud's embedding model.
        "BATON_EMBEDDING_MODEL": "",
        "BATON_TRACES_ENDPOINT": "",
        "BATON_TOOL_PACKAGES": "",
        "BATON_STAGE": "local",
        "TIKTOKEN_CACHE_DIR": str(TOKENIZER),
        "POWERTOOLS_METRICS_DISABLED": "true",
        "PYTHONPATH": os.pathsep.join(map(str, [function.folder, *path])),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _make_request(cloud: LocalCloud, name: str) -> Any:
    """Return the usual first request of a function; None if it has no usual one."""
    token = cloud.token(TENANT, USER)
    thread_id = str(uuid.uuid4())
    match name:
        case "authorizer":
            event = _read_sample("authorizer_request")
            event["multiValueHeaders"]["Sec-WebSocket-Protocol"] = [f"baton.v1, {token}"]
        case "http":
            event = _read_sample("rest_http") | {"path": "/v1/threads", "httpMethod": "GET"}
            event["multiValueHeaders"]["Authorization"] = [f"Bearer {token}"]
        case "sockets":
            event = _read_sample("websocket_default")
            event["requestContext"]["authorizer"] |= {"tenant": TENANT, "expires": "4102444800"}
        case "streams":
            message = {"id": "m-1", "role": "user", "content": "Hello"}
            event = {
                "path": "/v1/runs",
                "headers": {"authorization": f"Bearer {token}"},
                "body": {"threadId": thread_id, "runId": "r-1", "messages": [message], "tools": [], "context": []},
            }
        case "sweeper":
            event = _read_sample("schedule_sweeper")
        case "turns":
            event = _read_sample("sqs_turns")
            body = json.loads(event["Records"][0]["body"]) | {"tenantId": TENANT, "threadId": thread_id}
            event["Records"][0]["body"] = json.dumps(body)
        case _:
            return None
    return event


def _read_sample(name: str) -> Any:
    return json.loads((ROOT / "events" / f"{name}.json").read_text())


def _run(python: str, function: FunctionDefinition, environment: dict[str, str], request: Any, *options: str) -> Any:
    """Start a function once in a new process, and return its report."""
    module = Path(function.handler).stem if function.handler.endswith(".sh") else function.handler.rpartition(".")[0]
    command = [python, "-P", *options, str(PROCESS), "app" if module == "run" else module, json.dumps(request)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _build(folder: Path, python: str, version: str) -> dict[str, Path]:
    """Build the layers for this machine, and return their folders, which Lambda puts into ``/opt``."""
    layers = {}
    for layer, source in {**LAYERS, **OTHER_LAYERS}.items():
        layers[layer] = folder / layer
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
    return layers


def _measure_sizes(layers: Mapping[str, Path]) -> list[tuple[str, str, str]]:
    """Return the names of layers with their sizes in MB, unpacked and zipped."""
    rows = []
    for name, folder in layers.items():
        files = [path for path in folder.rglob("*") if path.is_file()]
        with tempfile.TemporaryFile() as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in files:
                    archive.write(path, path.relative_to(folder))
            zipped = file.tell()
        unpacked = sum(path.stat().st_size for path in files)
        rows.append((name.removesuffix("Layer").lower(), f"{unpacked / 1e6:.1f}", f"{zipped / 1e6:.1f}"))
    return rows


if __name__ == "__main__":
    main()
