"""Functions of this process."""

from __future__ import annotations

from pathlib import Path

from baton_local.functions import Function
from baton_local.stack.declarations import FunctionDefinition

PATIENCE_SECONDS = 30.0


def test_a_function_goes_on_after_a_caller_was_cancelled(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def handle(event, context):\n    return event\n")
    function = Function(FunctionDefinition("Echo", tmp_path, "app.handle", timeout=3, memory=128, variables={}))
    try:
        function.invoke(1).cancel()
        assert [function.invoke(number).result(PATIENCE_SECONDS) for number in (2, 3)] == [2, 3]
    finally:
        function.end()
