"""The readers that are compared, each as a function that returns the text of a file.

The functions below import a reader and return it. They raise ``ImportError`` if it is not installed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

Reader = Callable[[Path], str]


def load_baton_documents() -> Reader:
    """Return the reader of this distribution, in the process of the caller."""
    from baton_documents import read

    return lambda file: read(file.read_bytes(), file.name).text


def load_baton_documents_in_a_process() -> Reader:
    """Return the reader of this distribution, in a process for each file."""
    from baton_documents import read_in_process

    return lambda file: read_in_process(file.read_bytes(), file.name).text


def load_kreuzberg() -> Reader:
    """Return Kreuzberg with its default settings (https://kreuzberg.dev)."""
    module = importlib.import_module("kreuzberg")
    return lambda file: str(module.extract_file_sync(str(file)).content)


def load_markitdown() -> Reader:
    """Return Microsoft's MarkItDown with its default settings."""
    converter = importlib.import_module("markitdown").MarkItDown()
    return lambda file: str(converter.convert(str(file)).text_content)


READERS: Mapping[str, Callable[[], Reader]] = {
    "baton-documents": load_baton_documents,
    "baton-documents, in a process": load_baton_documents_in_a_process,
    "kreuzberg": load_kreuzberg,
    "markitdown": load_markitdown,
}
