"""A model endpoint that misbehaves on purpose: a real HTTP server whose behaviour is scripted request by request.

```python
with FaultModel() as model:
    model.script(rate_limited(retry_after="0"), answers("Hello there."))
    ...  # talk to model.base_url
    assert model.bodies[0]["messages"][0]["content"] == "Hi"
```

Requests take the script's behaviours in order of arrival; when it is empty, ``model.otherwise`` (an echo of the last
user message) answers. Everything received is kept in ``requests``; ``hangups`` counts the streams that clients left.
Baton asks ``LIGHT_MODEL`` by itself, at unplanned times: these requests take nothing of the script.
"""

from tests.fault_model.breakdowns import (
    breaks_after,
    breaks_in_a_call,
    endless,
    ends_after,
    error_after,
    filtered_answer,
    hangs_after,
    sends,
)
from tests.fault_model.chunks import Json, chunk, tool_delta, usage_chunk, words_of
from tests.fault_model.exchange import Behaviour, Broken, Exchange, Received
from tests.fault_model.floods import (
    HUNDRED_MEGABYTES,
    Flood,
    arguments_flood,
    brackets_flood,
    calls_flood,
    compressed_flood,
    empty_flood,
    error_flood,
    line_flood,
    newline_flood,
    reasoning_flood,
    text_flood,
)
from tests.fault_model.healthy import answers, calls_tools, echo, tokens
from tests.fault_model.refusals import (
    filtered_prompt,
    html,
    invalid_json,
    rate_limited,
    refused_connection,
    refuses_parameter,
    silence,
    status,
    unauthorized,
    unavailable,
)
from tests.fault_model.server import LIGHT_MODEL, FaultModel, ThreadedServer, fault_model, fault_model_server

__all__ = [
    "HUNDRED_MEGABYTES",
    "LIGHT_MODEL",
    "Behaviour",
    "Broken",
    "Exchange",
    "FaultModel",
    "Flood",
    "Json",
    "Received",
    "ThreadedServer",
    "answers",
    "arguments_flood",
    "brackets_flood",
    "breaks_after",
    "breaks_in_a_call",
    "calls_flood",
    "calls_tools",
    "chunk",
    "compressed_flood",
    "echo",
    "empty_flood",
    "endless",
    "ends_after",
    "error_after",
    "error_flood",
    "fault_model",
    "fault_model_server",
    "filtered_answer",
    "filtered_prompt",
    "hangs_after",
    "html",
    "invalid_json",
    "line_flood",
    "newline_flood",
    "rate_limited",
    "reasoning_flood",
    "refused_connection",
    "refuses_parameter",
    "sends",
    "silence",
    "status",
    "text_flood",
    "tokens",
    "tool_delta",
    "unauthorized",
    "unavailable",
    "usage_chunk",
    "words_of",
]
