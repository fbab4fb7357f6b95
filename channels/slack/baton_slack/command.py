"""The command ``baton-slack``."""

from __future__ import annotations

import argparse
import logging
import sqlite3
import sys
from pathlib import Path

import uvicorn

from baton_slack.channel import Channel
from baton_slack.configuration import ConfigurationError, read_configuration
from baton_slack.server import make_app
from baton_slack.storage import SqliteStorage


def main() -> int:
    """Serve the channel until it is stopped. Return the exit status: 2 if it cannot begin."""
    parser = argparse.ArgumentParser(prog="baton-slack", description="Serve Slack as a channel of Baton.")
    parser.add_argument("configuration", type=Path, help="the YAML file; secrets come from the environment")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=3000)
    parser.add_argument("--data", type=Path, default=Path("baton-slack.sqlite"), help="the file of jobs and links")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs addresses of files, which are signed
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        configuration = read_configuration(arguments.configuration)
        storage = SqliteStorage(arguments.data)
        app = make_app(Channel(configuration, storage, storage), storage)
    except ConfigurationError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    except (OSError, sqlite3.Error) as problem:
        sys.stderr.write(f"{arguments.data} cannot be used: {problem}. Name another file with --data.\n")
        return 2
    uvicorn.run(app, host=arguments.host, port=arguments.port, log_level="warning")
    return 0
