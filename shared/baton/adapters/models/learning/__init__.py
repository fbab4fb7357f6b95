"""Lessons of refusals: the form in which an endpoint takes a request that it has refused in another form."""

from baton.adapters.models.learning.adaptation import MAX_ADAPTATIONS, adapted
from baton.adapters.models.learning.request_form import TOOLS_EFFORT, RequestForm, SentFeatures
from baton.adapters.models.learning.request_words import RequestWords, content_size

__all__ = ["MAX_ADAPTATIONS", "TOOLS_EFFORT", "RequestForm", "RequestWords", "SentFeatures", "adapted", "content_size"]
