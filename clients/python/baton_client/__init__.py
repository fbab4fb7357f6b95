"""The Python client of Baton. ``Baton`` and ``AsyncBaton`` have the same methods.

from baton_client import Baton

with Baton("http://127.0.0.1:8080", token="...") as baton:
    with baton.runs.stream("What can you do?") as stream:
        for text in stream.texts():
            print(text, end="", flush=True)
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from baton_client.public import *  # noqa: F403
else:
    # Programs that use single modules, such as the command, start without the models of all answers.
    def __getattr__(name: str) -> object:
        if name.startswith("__") and name not in {"__all__", "__version__"}:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        public = import_module("baton_client.public")
        # It loads modules of this package, which are names here from then on.
        return globals()[name] if name in globals() else getattr(public, name)

    def __dir__() -> list[str]:
        return [*globals(), *__getattr__("__all__")]
