"""The functions of one local cloud, loaded and ended together."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton_local.environment import list_local_names
from baton_local.functions import Function, Invocable, load_web_app
from baton_local.serving.asgi import AsgiApp
from baton_local.settings import LocalSettings
from baton_local.stack.declarations import FunctionDefinition

if TYPE_CHECKING:
    from baton_local.lambda_runtime.functions import BuiltFunction


class CloudFunctions:
    """The functions of a template: in this process, or those of a build if the settings name one."""

    def __init__(self, settings: LocalSettings, progress: Callable[[str], None]) -> None:
        self._settings = settings
        self._progress = progress
        self._running = ExitStack()
        self.by_name: dict[str, Invocable] = {}
        """All functions except the web apps in this process."""
        self.web_apps: dict[str, tuple[FunctionDefinition, AsgiApp]] = {}
        """The web apps in this process."""
        self.built: dict[str, BuiltFunction] = {}
        """The functions of the build."""

    def load(self, definitions: Mapping[str, FunctionDefinition], environment: Mapping[str, str]) -> None:
        """Load the functions, or make those of the build with these variables. Raises ``FunctionProblem``."""
        if self._settings.built:
            self._make_built(self._settings.built, definitions, environment)
            return
        for name, definition in definitions.items():
            if definition.is_web_app:
                self.web_apps[name] = (definition, load_web_app(definition))
            else:
                function = self.by_name[name] = Function(definition)
                self._running.callback(function.end)

    def invoke(self, name: str, event: Any) -> Any:
        """Invoke the function with ``event`` and return its result. Raises its exceptions."""
        return self.by_name[name].invoke(event).result()

    def end(self) -> None:
        """End the functions as soon as they have handled their current events."""
        self._running.close()

    def _make_built(
        self, build: Path, definitions: Mapping[str, FunctionDefinition], environment: Mapping[str, str]
    ) -> None:
        """Make the functions of a build, whose environments start with their first events. Raises ``HostProblem``."""
        from baton_local.lambda_runtime.build import BuiltFunctions

        maker = BuiltFunctions(build, self._settings.cache_dir, self._progress, list_local_names(definitions))
        for name, definition in definitions.items():
            function = self.built[name] = self.by_name[name] = maker.make(definition, environment)
            self._running.callback(function.end)
