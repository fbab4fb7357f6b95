"""Functions of a build: their folders, layers and variables, as the built template declares them."""

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from baton_local.lambda_runtime import host
from baton_local.lambda_runtime.environments import Code
from baton_local.lambda_runtime.functions import BuiltFunction
from baton_local.stack.declarations import FunctionDefinition

OWN_PREFIXES = ("POWERTOOLS_", "TIKTOKEN_", "AWS_LWA_", "AWS_LAMBDA_")
"""Prefixes of variables that keep the template's values in the local cloud."""


class BuiltFunctions:
    """The functions of the build at ``folder`` (``.aws-sam/build``)."""

    def __init__(
        self, folder: Path, cache_dir: Path, progress: Callable[[str], None], local_names: Collection[str] = ()
    ) -> None:
        """``local_names`` are the names of variables that the local cloud adds. Raises ``HostProblem``."""
        self._folder = folder
        self._local_names = local_names
        self._cache_dir = cache_dir
        self._progress = progress
        self._namespace = host.find_namespace()
        self._python = host.find_python()
        self._client = host.find_runtime_client(cache_dir)

    def make(self, definition: FunctionDefinition, local: Mapping[str, str]) -> BuiltFunction:
        """Return the built function. ``local`` has this machine's values of variables. Raises ``HostProblem``."""
        layers = [layer for reference in definition.layers for layer in self._find_layer_folders(reference)]
        code = Code(
            name=definition.name,
            layers=tuple(layers),
            variables=self._make_variables(definition, local),
            timeout=definition.timeout,
            log_level=definition.log_level,
            namespace=self._namespace,
        )
        return BuiltFunction(code)

    def _find_layer_folders(self, layer: str) -> list[Path]:
        """Return a layer's folder, and, if needed, a folder with this machine's versions of its compiled files."""
        if "LambdaAdapterLayer" in layer:
            return [host.make_adapter_layer(self._cache_dir, self._progress)]
        folder = self._folder / layer
        if not folder.is_dir():
            raise host.HostProblem(f"The build at {self._folder} has no layer {layer}: `make build` makes it.")
        native = host.make_native_layer(folder, self._cache_dir)
        return [folder, native] if native else [folder]

    def _make_variables(self, definition: FunctionDefinition, local: Mapping[str, str]) -> dict[str, str]:
        """Return the function's variables: its own, the SDKs', the local cloud's, and Lambda's reserved ones."""
        own = {
            name: value if value.startswith("/opt/") or name.startswith(OWN_PREFIXES) else local.get(name, value)
            for name, value in definition.variables.items()
        }
        aws = {
            name: value
            for name, value in local.items()
            if name.startswith("AWS_") and not name.startswith(OWN_PREFIXES)  # those belong to other functions
        }
        added = {name: local[name] for name in self._local_names if name in local}
        task = definition.folder.resolve()
        reserved = {
            "_HANDLER": definition.handler,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{host.PYTHON}",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(definition.memory),
            "AWS_LAMBDA_FUNCTION_NAME": definition.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{definition.name}",
            "AWS_LAMBDA_LOG_LEVEL": definition.log_level,
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "LAMBDA_RUNTIME_DIR": str(self._client),
            "LAMBDA_TASK_ROOT": str(task),
            "LANG": "C.UTF-8",
            "PATH": f"{self._python}{os.pathsep}{os.defpath}",
            "PYTHONPATH": str(self._client),
            "TZ": ":UTC",
        }
        return {**aws, **added, **own, **reserved}
