"""The offline demo model: a rule-based stand-in for a language model, so that Baton runs without one.

It speaks the OpenAI HTTP API, so the product's own model adapter is what talks to it, and answers from a short list of
rules (``rules.py``) and from nothing but the messages of the request. It says what it is when asked.
"""
