"""Find the REST API's route for a request, by API Gateway's rule: the more literal path wins."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from local.stack import RestRoute


@dataclass(frozen=True)
class Match:
    """A route and the path parameters that a request gives it, percent-decoded."""

    route: RestRoute
    parameters: dict[str, str]


class RestRoutes:
    """The routes of one REST API."""

    def __init__(self, routes: Iterable[RestRoute]) -> None:
        by_path: dict[str, dict[str, RestRoute]] = {}
        for route in routes:
            by_path.setdefault(route.path, {})[route.method] = route
        self._paths = [(_pattern(path), by_path[path]) for path in sorted(by_path, key=_literalness)]

    def find(self, method: str, path: str) -> Match | None:
        """Return the route of ``method`` and the raw ``path``, or ``None``.

        The most literal path decides; another path that also fits is not asked when that one lacks the method.
        """
        for pattern, methods in self._paths:
            if match := pattern.fullmatch(path):
                route = methods.get(method) or methods.get("ANY")
                return (
                    Match(route, {key: unquote(value) for key, value in match.groupdict().items()}) if route else None
                )
        return None


def _literalness(path: str) -> list[tuple[int, str]]:
    """Order literal segments before ``{parameter}``, and that before ``{proxy+}``."""
    return [
        (2 if part.endswith("+}") else 1 if part.startswith("{") else 0, part) for part in path.strip("/").split("/")
    ]


def _pattern(path: str) -> re.Pattern[str]:
    def segment(part: str) -> str:
        if part.endswith("+}"):
            return rf"(?P<{part[1:-2]}>.+)"
        return rf"(?P<{part[1:-1]}>[^/]+)" if part.startswith("{") else re.escape(part)

    return re.compile("/".join(segment(part) for part in path.rstrip("/").split("/")) + "/?")
