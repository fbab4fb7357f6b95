#!/bin/sh
# Started by the Lambda Web Adapter, which listens for requests and passes them to this port.
# Lambda puts layers on the path of its own bootstrap only, hence PYTHONPATH here.
export PYTHONPATH="${LAMBDA_TASK_ROOT}:/opt/python:${LAMBDA_RUNTIME_DIR}"
# The supervisor ends the leases of a server that dies at once.
exec python -m baton.adapters.aws.supervisor python -m uvicorn app:app --host 127.0.0.1 --port "${AWS_LWA_PORT:-8000}" --no-access-log
