"""Logging to the terminal in processes of ``tests.forked``, set up before the product is imported, as by ``make run``.

Powertools' loggers do not use the handlers that exist when Powertools is imported.
"""

import logging

logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
