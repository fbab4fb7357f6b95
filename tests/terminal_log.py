"""Logs to the terminal in processes of ``tests.forked``, as ``make run`` does before it imports the product.

Powertools keeps the loggers of its service from the handlers that are there when it is imported.
"""

import logging

logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
