"""The offline demo model: a stand-in for a language model that plays a script, so that Baton runs without one.

It speaks the OpenAI HTTP API, so the product's own model adapter calls it. It answers by the rules of
``script.yaml`` and from the data of the request: the user's words, the tools, their results, the metadata. It reads no
system message and no tool's description. When asked, it says that it is a demo model.
"""

from pathlib import Path

SCRIPT = Path(__file__).parent / "script.yaml"
"""The script that is played unless ``BATON_DEMO_SCRIPT`` names another file."""
