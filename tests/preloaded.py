"""Imports and reads that processes of ``tests.forked`` would otherwise each repeat."""

import os
from importlib import import_module
from pkgutil import walk_packages

# Libraries read these when they are imported. The values are those of a local cloud.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "POWERTOOLS_SERVICE_NAME": "baton", "POWERTOOLS_LOG_LEVEL": "WARNING"}

import baton
import baton_local.cloud
from baton.adapters.models.token_counter import TiktokenCounter
from baton_local.demo_model import SCRIPT
from baton_local.demo_model.script import Script
from baton_local.engines.clients import client
from baton_local.root import TOKENIZER

for package in (baton, baton_local):
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
for service in ("s3", "secretsmanager", "ssm", "stepfunctions", "sts"):
    import_module(f"moto.{service}.responses")  # moto imports a service with its first request
import_module("moto.stepfunctions.parser.asl.component.state.exec.state_task.lambda_eval_utils")  # for state machines
for service in ("dynamodb", "s3", "secretsmanager", "sqs"):
    client(service, "http://127.0.0.1:9").close()  # reads the descriptions of the services
TiktokenCounter(TOKENIZER).load()
Script.read(SCRIPT)  # compiles its templates
