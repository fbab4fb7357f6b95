"""``python -m baton_documents`` is the command ``baton-documents``."""

from baton_documents.command import main

main()
