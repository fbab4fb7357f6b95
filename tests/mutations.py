"""Faults that are injected one at a time, and that the tests of a usual run must find: ``make mutations``.

Run it before and after tests are removed. A mutation names a text that occurs once in the product, and the names of the
files of its tests, so that files may move. The mutated file must belong to the closure of these tests
(``tests.closures``), so that they are not skipped as unchanged. ``python -m tests.mutations WORD...`` tries the
mutations whose text or tests contain a word.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from baton_local.root import ROOT
from tests.closures import Project, conftests

PRODUCT = (
    *("shared", "extraction", "baton_local", "baton_testing", "clients/python", "template.yaml"),
    *("clients/web/widget/src", "clients/web/client/src"),
)
LINKED = (".venv", ".baton", "clients/web/node_modules")
ENVIRONMENT = {"BATON_TESTS": "usual", "PYTHONDONTWRITEBYTECODE": "1"}
FOUND = 1
"""The exit code of pytest if tests have failed."""


class MutationError(Exception):
    """The text of a mutation does not occur exactly once, or its tests could not be run."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A fault: ``old`` is replaced by ``new``, and a test in the files named ``tests`` must fail."""

    old: str
    new: str
    tests: str


MUTATIONS = (
    # Handoffs.
    Mutation("if target_id == source.id:", "if not target_id:", "test_handoff.py"),
    Mutation('SECOND_WORKFLOW: "busy"', 'SECOND_WORKFLOW: "forbidden"', "test_handoff.py"),
    Mutation(
        "for permission in (*target.required_permissions, *handoff.required_permissions):",
        "for permission in handoff.required_permissions:",
        "test_handoff.py",
    ),
    Mutation("\nGAP = 3\n", "\nGAP = 30\n", "test_triggers.py"),
    # Recall.
    Mutation("item.cosine >= floor)", "item.cosine >= 0)", "test_selecting.py"),
    Mutation("if match.score >= least]", "if match.score >= 0]", "test_selecting.py"),
    # Turns and documents.
    Mutation("if record.digest != call.request.digest:", "if not record.digest:", "test_turns.py"),
    Mutation("at_once=CONCURRENT,\n", "at_once=1_000,\n", "test_source_refresh.py"),
    # Adapters of models.
    Mutation('"length": FinishReason.LENGTH', '"length": FinishReason.STOP', "test_conformance_refusals.py"),
    Mutation("if len(points) > limit:", "if len(points) > 99:", "test_bedrock_requests.py"),
    Mutation(
        'if temperature is not None and ("temperature" in profile.dropped or draft.thinking.budget):',
        "if temperature is not None and draft.thinking.budget:",
        "test_conformance_refusals.py",
    ),
    Mutation(
        'if "cachePoint" in block or "reasoningContent" in block:',
        'if "cachePoint" in block:',
        "test_bedrock_requests.py",
    ),
    # Tenants, users and fences.
    Mutation(
        "may_read = owner.user_id == scope.user_id or scope.has(Permission.THREAD_READ_ALL)",
        "may_read = True",
        "unit/api/**/test_approvals.py",
    ),
    Mutation(
        'thread_item["user_id"] == scope.user_id or scope.has(Permission.THREAD_READ_ALL)',
        "True",
        "integration/store/test_thread_store.py",
    ),
    Mutation('return f"{scope.tenant_id}#~{self.name}"', 'return f"~{self.name}"', "test_keys.py"),
    Mutation(
        "OR fence <= :fence", "OR fence >= :fence", "integration/store/test_thread_store.py test_writers_at_once.py"
    ),
    # The API.
    Mutation('BatonError, code="malformed_json"', 'BatonError, code="malformed"', "test_socket_refusals.py"),
    # What comes from outside.
    Mutation("if address.ipv4_mapped is not None:", "if False:", "test_policy.py"),
    Mutation("EMBED_AUDIENCE if has_audience else None", "None", "test_embed_tokens.py"),
    # Events and evaluations.
    Mutation("            if seq > after\n", "            if seq >= after\n", "test_replay_limits.py"),
    Mutation("share, square = passes / runs, _Z * _Z", "share, square = passes / runs, _Z", "test_intervals.py"),
    # The widget.
    Mutation("const canExit = !isClosed &&", "const canExit = isClosed &&", "test_events_in_the_widget.py"),
    # What is packed and deployed.
    Mutation('cp -R $(AGENTS)/. "$(ARTIFACTS_DIR)/agents/"', "true", "test_shared_layer.py"),
    Mutation("PointInTimeRecoveryEnabled: true", "PointInTimeRecoveryEnabled: false", "test_template.py"),
)


def main(words: list[str]) -> int:
    """Try the mutations, and return the number of those that no test has found."""
    survived = 0
    project = Project(ROOT)
    with tempfile.TemporaryDirectory(prefix="mutations-") as name:
        folder = Path(name)
        copy_project(folder)
        for mutation in MUTATIONS:
            if words and not any(word in f"{mutation.old} {mutation.tests}" for word in words):
                continue
            location = place_of(folder, mutation)
            tests = tests_of(folder, mutation)
            result = "found" if is_found(location, tests, folder, mutation) else "SURVIVED"
            if not any(is_reached(project, location.relative_to(folder).as_posix(), test) for test in tests):
                result = "SKIPPED AS UNCHANGED"
            survived += result != "found"
            print(f"{result}: {mutation.old.strip()!r} by {' '.join(tests)}", flush=True)
    return survived


def place_of(folder: Path, mutation: Mutation) -> Path:
    """Return the file that contains the text of a mutation. Raises ``MutationError``."""
    places = [path for path in list_sources(folder) if mutation.old in path.read_text(encoding="utf-8")]
    if len(places) != 1 or places[0].read_text(encoding="utf-8").count(mutation.old) != 1:
        raise MutationError(f"{mutation.old!r} is not there exactly once: {places}. Write the mutation afresh.")
    return places[0]


def tests_of(folder: Path, mutation: Mutation) -> list[str]:
    """Return the paths of the tests that a mutation names. Raises ``MutationError`` if none exists."""
    files = [path for name in mutation.tests.split() for path in sorted((folder / "tests").rglob(name))]
    if not files:
        raise MutationError(f"There are no tests {mutation.tests}. Write the mutation afresh.")
    return [path.relative_to(folder).as_posix() for path in files]


def is_reached(project: Project, name: str, test: str) -> bool:
    """Return whether a test is run again after a change of the file ``name``."""
    closure = project.closure([test, *conftests(test)])
    return closure is None or name in closure


def copy_project(folder: Path) -> None:
    """Copy the present files of the project, and link the installed ones."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for line in listed.stdout.decode().splitlines():
        if (ROOT / line).is_file():
            (folder / line).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / line, folder / line)
    for line in LINKED:
        if (ROOT / line).exists():
            (folder / line).symlink_to(ROOT / line)


def is_found(location: Path, tests: list[str], folder: Path, mutation: Mutation) -> bool:
    """Return whether the tests find a fault in the copy of the project. Raises ``MutationError``."""
    original = location.read_text(encoding="utf-8")
    location.write_text(original.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        done = subprocess.run(
            [ROOT / ".venv/bin/pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests],
            cwd=folder,
            env={
                **os.environ,
                "BATON_TESTS": "usual",
                "PYTHONPATH": f"{folder / 'shared'}:{folder}",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        location.write_text(original, encoding="utf-8")
    if done.returncode not in (0, FOUND):
        raise MutationError(f"The tests of {mutation.old!r} could not be run:\n{done.stdout[-3000:]}{done.stderr}")
    return done.returncode == FOUND


def list_sources(folder: Path) -> Iterator[Path]:
    """Yield the files of the product in which faults are injected."""
    for name in PRODUCT:
        results = [folder / name] if (folder / name).is_file() else (folder / name).rglob("*")
        yield from (path for path in results if path.suffix in (".py", ".ts", ".yaml") or path.name == "Makefile")


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
