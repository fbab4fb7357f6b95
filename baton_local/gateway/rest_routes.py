"""Find the REST API's route for a request, by API Gateway's rule: the more literal path wins."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from werkzeug.exceptions import NotFound
from werkzeug.routing import BaseConverter, Map, Rule

from baton_local.stack.apis import RestRoute


@dataclass(frozen=True)
class Match:
    """A route and the path parameters that a request gives it, percent-decoded."""

    route: RestRoute
    parameters: dict[str, str]


class RestRoutes:
    """The routes of one REST API."""

    def __init__(self, routes: Iterable[RestRoute]) -> None:
        self._by_path: dict[str, dict[str, RestRoute]] = {}
        for route in routes:
            self._by_path.setdefault(route.path, {})[route.method] = route
        # Rules without methods: if the most literal path lacks the method, no other path is tried.
        rules = [Rule(_as_rule(path), endpoint=path) for path in self._by_path]
        self._paths = Map(rules, converters={"rest": _Rest}, strict_slashes=False, merge_slashes=False).bind("local")

    def find(self, method: str, path: str) -> Match | None:
        """Return the route of ``method`` and the raw ``path``, or ``None``. The most literal path decides."""
        try:
            matched_path, parameters = self._paths.match(path)
        except NotFound:
            return None
        methods = self._by_path[matched_path]
        route = methods.get(method) or methods.get("ANY")
        return Match(route, {name: unquote(value) for name, value in parameters.items()}) if route else None


class _Rest(BaseConverter):
    """``{name+}``: the rest of the path, at least one character. Werkzeug's own converter refuses a leading slash."""

    part_isolating = False
    regex = ".+?"
    weight = 200


def _as_rule(path: str) -> str:
    """Return a path with ``{name}`` and ``{name+}`` in Werkzeug's syntax."""
    return re.sub(r"\{(\w+)(\+?)\}", lambda match: f"<{'rest:' if match[2] else ''}{match[1]}>", path)
