"""A question for approval with a misspelt placeholder."""

from __future__ import annotations

MISSPELT = (
    "order_status cannot be used: order_status: asks has {nubmer}, which is no argument of the tool "
    "(did you mean number?)."
)
"""The text of `baton check` and of a reload about a question for approval."""
