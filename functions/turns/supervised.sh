#!/bin/sh
# Lambda starts the runtime by this script (AWS_LAMBDA_EXEC_WRAPPER). The arguments are the path of the interpreter and
# those of the runtime (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-modify.html).
# The supervisor gives the queue record of a process that dies back at once.
# -P, because modules beside the supervisor have names of the standard library.
exec "$1" -P /opt/python/baton/adapters/aws/supervisor.py "$@"
