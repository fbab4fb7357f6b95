"""Faults injected one at a time, each of which the tests of a usual run must find: ``make mutations``.

Run it before and after tests are thinned. A mutation names a text that occurs once in the product, so it survives moves
of the code. ``python -m tests.mutations WORD...`` tries those whose text or tests contain a word.
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

PRODUCT = ("shared", "baton_local", "clients/web/widget/src", "clients/web/client/src", "template.yaml")
LINKED = (".venv", ".baton", "clients/web/node_modules")
FOUND = 1
"""The exit code of pytest when tests have failed."""


class MutationError(Exception):
    """A text that is not there once, or tests that could not be run."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A fault: ``old`` is replaced by ``new``, and a test of ``tests`` must fail."""

    old: str
    new: str
    tests: str


MUTATIONS = (
    # Handoffs.
    Mutation("if target_id == source.id:", "if not target_id:", "tests/unit/domain/handoffs/test_handoff.py"),
    Mutation('SECOND_WORKFLOW: "busy"', 'SECOND_WORKFLOW: "forbidden"', "tests/unit/domain/handoffs/test_handoff.py"),
    Mutation(
        "for permission in (*target.required_permissions, *handoff.required_permissions):",
        "for permission in handoff.required_permissions:",
        "tests/unit/domain/handoffs/test_handoff.py",
    ),
    Mutation("\nGAP = 3\n", "\nGAP = 30\n", "tests/unit/domain/handoffs/test_triggers.py"),
    # Recall.
    Mutation("item.cosine >= floor)", "item.cosine >= 0)", "tests/unit/memory/test_selecting.py"),
    Mutation("if match.score >= least]", "if match.score >= 0]", "tests/unit/memory/test_selecting.py"),
    # Turns and documents.
    Mutation("if known.digest != call.request.digest:", "if not known.digest:", "tests/unit/turns/test_turns.py"),
    Mutation("at_once=CONCURRENT,\n", "at_once=1_000,\n", "tests/unit/knowledge/test_source_refresh.py"),
    # Adapters of models.
    Mutation(
        '"length": FinishReason.LENGTH', '"length": FinishReason.STOP', "tests/models/test_conformance_refusals.py"
    ),
    Mutation(
        "if len(points) > most else ():", "if len(points) > 99 else ():", "tests/models/test_conformance_content.py"
    ),
    Mutation(
        'if temperature is not None and ("temperature" in profile.dropped or draft.thinking.budget):',
        "if temperature is not None and draft.thinking.budget:",
        "tests/models/test_conformance_refusals.py",
    ),
    Mutation(
        'if "cachePoint" in block or "reasoningContent" in block:',
        'if "cachePoint" in block:',
        "tests/unit/adapters/models",
    ),
    # Tenants, users and fences.
    Mutation(
        "may_read = owner.user_id == scope.user_id or scope.has(Permission.THREAD_READ_ALL)",
        "may_read = True",
        "tests/unit/api/runs/test_approvals.py",
    ),
    Mutation(
        "return user_id == scope.user_id or scope.has(Permission.THREAD_READ_ALL)",
        "return True",
        "tests/unit/api/a2a/test_a2a_tasks.py",
    ),
    Mutation('return f"{scope.tenant_id}#~AGENTS"', 'return "~AGENTS"', "tests/unit/adapters/dynamodb/test_keys.py"),
    Mutation(
        "attribute_not_exists(PK) OR fence <= :fence",
        "attribute_not_exists(PK) OR fence >= :fence",
        "tests/integration/store/test_thread_store.py tests/integration/store/test_writers_at_once.py",
    ),
    # The API.
    Mutation('"malformed_json", 400, False', '"malformed", 400, False', "tests/e2e/test_socket_refusals.py"),
    # The widget.
    Mutation(
        "const canExit = !isClosed &&", "const canExit = isClosed &&", "tests/browser/test_events_in_the_widget.py"
    ),
    # What is packed and deployed.
    Mutation('cp -R $(AGENTS)/. "$(ARTIFACTS_DIR)/agents/"', "true", "tests/infrastructure/test_shared_layer.py"),
    Mutation(
        "PointInTimeRecoveryEnabled: true", "PointInTimeRecoveryEnabled: false", "tests/infrastructure/test_template.py"
    ),
)


def main(words: list[str]) -> int:
    """Try the mutations and return how many no test has found."""
    survived = 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as name:
        folder = Path(name)
        copy_project(folder)
        for mutation in MUTATIONS:
            if words and not any(word in f"{mutation.old} {mutation.tests}" for word in words):
                continue
            was_found = is_found(folder, mutation)
            survived += not was_found
            print(f"{'found' if was_found else 'SURVIVED'}: {mutation.old.strip()!r} by {mutation.tests}", flush=True)
    return survived


def copy_project(folder: Path) -> None:
    """Copy the files of the project as they are, and link what is installed."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for line in listed.stdout.decode().splitlines():
        if (ROOT / line).is_file():
            (folder / line).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / line, folder / line)
    for line in LINKED:
        if (ROOT / line).exists():
            (folder / line).symlink_to(ROOT / line)


def is_found(folder: Path, mutation: Mutation) -> bool:
    """Inject a fault into the copy, run its tests, and take the fault out. Raises ``MutationError``."""
    places = [path for path in _sources(folder) if mutation.old in path.read_text(encoding="utf-8")]
    if len(places) != 1 or places[0].read_text(encoding="utf-8").count(mutation.old) != 1:
        raise MutationError(f"{mutation.old!r} is not there exactly once: {places}. Write the mutation afresh.")
    [place] = places
    original = place.read_text(encoding="utf-8")
    place.write_text(original.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        done = subprocess.run(
            [ROOT / ".venv/bin/pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *mutation.tests.split()],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{folder / 'shared'}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        place.write_text(original, encoding="utf-8")
    if done.returncode not in (0, FOUND):
        raise MutationError(f"The tests of {mutation.old!r} could not be run:\n{done.stdout[-3000:]}{done.stderr}")
    return done.returncode == FOUND


def _sources(folder: Path) -> Iterator[Path]:
    for name in PRODUCT:
        found = [folder / name] if (folder / name).is_file() else (folder / name).rglob("*")
        yield from (path for path in found if path.suffix in (".py", ".ts", ".yaml") or path.name == "Makefile")


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
