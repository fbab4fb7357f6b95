"""Stand-ins for the endpoints of models, which refuse what the real ones refuse.

```python
with StandIns() as stand_ins:
    ...  # talk to stand_ins.base_url("groq"), or to Bedrock at stand_ins.url
    assert not stand_ins.journal.refused
```

``python -m tests.models.standins PORT`` serves all of them, to try the product by hand. The words of the last user
message decide what the models answer: see ``steering``. What each endpoint refuses is in ``endpoints/``, in the
``HOSTS`` of ``responses_rules`` and in ``bedrock_families``.
"""

from tests.models.standins.fixtures import stand_in_server, stand_ins
from tests.models.standins.journal import Fault, Journal, Received
from tests.models.standins.server import StandIns

__all__ = ["Fault", "Journal", "Received", "StandIns", "stand_in_server", "stand_ins"]
