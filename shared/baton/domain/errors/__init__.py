"""The errors that callers get, one class a condition.

``code`` is stable and the same in RFC 9457 problem details and in AG-UI ``RUN_ERROR`` events; ``status`` is the HTTP
status; ``retryable`` says whether the same request may succeed later.
"""

from baton.domain.errors.agents import *
from baton.domain.errors.base import *
from baton.domain.errors.conversations import *
from baton.domain.errors.dependencies import *
from baton.domain.errors.requests import *
from baton.domain.errors.spending import *
