"""Serve all stand-ins: ``python -m tests.models.standins PORT``.

Then, in another terminal, one of these:

    OPENAI_BASE_URL=http://127.0.0.1:PORT/qwen-vllm/v1 OPENAI_API_KEY=any BATON_CHAT_MODEL=qwen3.5 make run
    BATON_BEDROCK_ENDPOINT=http://127.0.0.1:PORT BATON_BEDROCK_REGION=us-east-1 BATON_BEDROCK_PROFILE=stand-in \\
        BATON_CHAT_MODEL=bedrock/us.anthropic.claude-opus-5-5 make run

The profile ``stand-in`` of the AWS configuration has the keys ``AKIASTANDIN`` and ``stand-in-secret``.

``GET /`` lists the dialects of Chat Completions, ``GET /requests`` the last requests and why they were refused.
``POST /faults`` lets the next request fail: ``{"who": "qwen-vllm", "status": 503, "body": {}}``.
"""

import sys

import uvicorn

from tests.models.standins.server import StandIns

if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit(__doc__)
    uvicorn.run(StandIns().app, host="127.0.0.1", port=int(sys.argv[1]), lifespan="off", log_level="warning")
