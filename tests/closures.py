"""The closure of a module of tests: all files of the project that it depends on.

A closure consists of the imported modules (found by grimp), their parent packages, the modules that a text names (for
processes and lazy imports), the files beside these modules that are not Python, and the folders of the project that a
text names. If a rule is uncertain, it includes too many files. ``None`` means everything: the files cannot be computed
for a module that starts processes or walks through the project.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from baton_local.root import ROOT

if TYPE_CHECKING:
    import grimp

TESTS = "tests"
SOURCES = ("", "shared", "channels/slack", "clients/python", "extraction")
"""The folders that contain packages."""
NO_INPUTS = frozenset({"__pycache__", "node_modules", "dist", ".venv", ".git", ".baton", ".aws-sam", ".hypothesis"})
"""Names of folders with files that tools create."""
ON_DEMAND = frozenset({"docs", "clients", "examples", "benchmarks", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"})
"""Files and folders whose files that are not Python belong only to the closures that name them. All others of that kind
belong to every closure."""
NAMED_ELSEWHERE = frozenset({"baton", "baton_testing", "tests.conftest"})
"""Modules whose texts are not searched for names. The packages import for typing what they load on demand, and the last
one names all plugins, although a test depends only on the fixtures that it uses."""
LOADED_ON_DEMAND = frozenset({"baton_testing"})
"""Packages whose imports are not followed, because they import for typing what tests may use."""
PROCESSES = frozenset({"multiprocessing", "runpy", "subprocess"})
UNKNOWN_REACH = re.compile(r"spec_from_file_location|walk_packages|iter_modules|\bROOT\.(?:r?glob|iterdir|walk)")
"""Expressions that reach modules and files without naming them."""
UNKNOWN_TEST_REACH = re.compile(
    r"create_subprocess|getfixturevalue|\bos\.(?:fork|posix_spawn|walk)|cwd=ROOT|\.r?glob\(|\.iterdir\(|listdir|scandir"
)
"""Further such expressions in tests. The product uses them for other programs, and names its own."""
PATHS = re.compile(r"\bROOT\b|__file__|\bPath\(|\bopen\(|chdir")
"""Expressions that build paths below the root."""


class Project:
    """The present files of a project."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digest of each file, by its path below the root."""
        return {name: hashlib.sha256((self._root / name).read_bytes()).hexdigest() for name in self._names()}

    def closure(self, files: Iterable[str], *, follows_processes: bool = False) -> frozenset[str] | None:
        """Return the files on which modules of tests or fixtures depend, or ``None`` for everything.

        Use ``follows_processes`` for tests whose processes only run what their modules import or name.
        """
        modules = self._all_reached(frozenset(self._modules[file] for file in files))
        if not follows_processes and modules & self._unknown:
            return None
        sources = {self._files[module] for module in modules}
        folders = {file.rpartition("/")[0] for file in sources if file.partition("/")[0] in ON_DEMAND}
        beside = {name for name in self._on_demand if any(name.startswith(f"{folder}/") for folder in folders)}
        named = (self._below_top[top] for top in set().union(*(self._named_tops[module] for module in modules)))
        return self._common.union(sources, beside, *named)

    def digest(self, closure: frozenset[str]) -> str:
        """Return a digest of the contents of files."""
        number = self._numbers.__getitem__
        common = self._common_sum if self._common <= closure else sum(map(number, self._common & closure))
        return f"{common + sum(map(number, closure - self._common)):x}"

    def below(self, folders: Iterable[str]) -> frozenset[str]:
        """Return the files with these paths, and those below them."""
        return frozenset(name for name in self.digests for folder in folders if f"{name}/".startswith(f"{folder}/"))

    def texts_with(self, word: str) -> list[str]:
        """Return the files of tests whose texts contain a word."""
        modules = (module for module, text in self._texts.items() if word in text)
        return [file for file in map(self._files.__getitem__, modules) if file.startswith(f"{TESTS}/")]

    def _names(self) -> Iterable[str]:
        for folder, folders, files in os.walk(self._root):
            folders[:] = [name for name in folders if name not in NO_INPUTS and not name.startswith(".")]
            for name in files:
                if not name.startswith(".") or (Path(folder) == self._root and name not in NO_INPUTS):
                    yield (Path(folder) / name).relative_to(self._root).as_posix()

    @cached_property
    def _common(self) -> frozenset[str]:
        """The files that belong to every closure."""
        names = (name for name in self.digests if not name.endswith(".py"))
        return frozenset(name for name in names if name.partition("/")[0] not in ON_DEMAND)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """A number for each file and its content. The sum of numbers identifies a set of files."""
        return {
            name: int.from_bytes(hashlib.sha256(f"{name} {digest}".encode()).digest())
            for name, digest in self.digests.items()
        }

    @cached_property
    def _common_sum(self) -> int:
        return sum(map(self._numbers.__getitem__, self._common))

    @cached_property
    def _on_demand(self) -> frozenset[str]:
        return frozenset(name for name in self.digests if not name.endswith(".py")) - self._common

    @cached_property
    def _below_top(self) -> dict[str, set[str]]:
        below: defaultdict[str, set[str]] = defaultdict(set)
        for name in self.digests:
            below[name.partition("/")[0]].add(name)
        return below

    @cache  # noqa: B019 - a project lives as long as a run
    def _all_reached(self, modules: frozenset[str]) -> frozenset[str]:
        reached: set[str] = set()
        waiting = list(modules)
        while waiting:
            module = waiting.pop()
            if module not in reached:
                reached.add(module)
                waiting += self._reached[module] - reached
        return frozenset(reached)

    @cached_property
    def _files(self) -> dict[str, str]:
        """The files of modules, by the modules' names."""
        modules = {}
        for name in self.digests:
            if name.endswith(".py"):
                source = next(folder for folder in reversed(SOURCES) if not folder or name.startswith(f"{folder}/"))
                dotted = name.removesuffix(".py").removesuffix("/__init__")
                modules[dotted.removeprefix(f"{source}/").replace("/", ".")] = name
        return modules

    @cached_property
    def _modules(self) -> dict[str, str]:
        return {file: module for module, file in self._files.items()}

    @cached_property
    def _packages(self) -> tuple[str, ...]:
        return tuple(sorted({module.partition(".")[0] for module in self._files if "." in module}))

    @cached_property
    def _graph(self) -> grimp.ImportGraph:
        import grimp

        packages = [name for name in self._packages if name.isidentifier() and name not in ("docs", "examples")]
        return grimp.build_graph(*packages, include_external_packages=True, cache_dir=None)

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {module: (self._root / file).read_text(encoding="utf-8") for module, file in self._files.items()}

    @cached_property
    def _reached(self) -> dict[str, set[str]]:
        """For each module, the modules that it imports or names, and the packages that contain it."""
        name = re.compile(rf"\b(?:{'|'.join(self._packages)})(?:\.\w+)*(?:\.\w+|\.(?=\{{))")
        existing = set(self._files)
        reached = {}
        for module, text in self._texts.items():
            imported = set()
            if module in self._graph.modules and module not in LOADED_ON_DEMAND:
                imported = self._graph.find_modules_directly_imported_by(module) & existing
            named = set() if module in NAMED_ELSEWHERE else set(name.findall(text))
            for dotted in named:
                imported |= self._below(dotted) if dotted.endswith(".") else self._longest(dotted)
            parents = {parent for other in (*imported, module) for parent in _parents(other)}
            reached[module] = (imported | {parent for parent in parents if parent in existing}) - {module}
        return reached

    def _below(self, prefix: str) -> set[str]:
        return {module for module in self._files if module.startswith(prefix)}

    def _longest(self, dotted: str) -> set[str]:
        while dotted and dotted not in self._files:
            dotted = dotted.rpartition(".")[0]
        return {dotted} if dotted else set()

    @cached_property
    def _unknown(self) -> set[str]:
        """The modules that reach files which they do not name, and all modules of tests that start processes."""
        unknown = {module for module, text in self._texts.items() if UNKNOWN_REACH.search(text)}
        for module in self._graph.modules & self._files.keys():
            starts = self._graph.find_modules_directly_imported_by(module) & (PROCESSES | LOADED_ON_DEMAND)
            if module.startswith(f"{TESTS}.") and (starts or UNKNOWN_TEST_REACH.search(self._texts[module])):
                unknown.add(module)
        return unknown

    @cached_property
    def _named_tops(self) -> dict[str, set[str]]:
        """For each module that builds paths, the names in its text of top-level files and folders."""
        quoted = re.compile(rf"""["'](?:\.\./)*({"|".join(map(re.escape, sorted(self._below_top)))})["'/]""")
        return {
            module: set(quoted.findall(text)) if PATHS.search(text) else set() for module, text in self._texts.items()
        }


def _parents(module: str) -> Iterable[str]:
    while module := module.rpartition(".")[0]:
        yield module


def conftests(file: str) -> list[str]:
    """Return the ``conftest`` files that apply to a file of tests."""
    above = (folder / "conftest.py" for folder in (ROOT / file).parents if folder.is_relative_to(ROOT / TESTS))
    return [path.relative_to(ROOT).as_posix() for path in above if path.is_file()]
