"""Errors of services that Baton depends on: storage, search, embedder, detector, models and remote agents."""

from __future__ import annotations

from baton.domain.errors.base import BatonError


class StoreUnavailable(BatonError, code="store_unavailable", status=503, title="Storage is not available"):
    """The table, bucket or queue did not answer or throttled, and all retries failed."""

    detail = "Please try again in a moment, with the same messageId."


class SearchUnavailable(BatonError, code="search_unavailable", status=503, title="Search is not available"):
    """The search engine does not answer, or refuses the request."""

    detail = "Search does not answer at the moment. Please try again."


class WrongDimension(SearchUnavailable, code="wrong_dimension", retryable=False):
    """A vector whose length differs from that of the index: the embedding model was changed without a reindex."""

    detail = "The embedding model does not fit the search index. An operator has to reindex."


class SearchIndexFull(SearchUnavailable, code="search_index_full", title="The search index is full", retryable=False):
    """The embedded index of a user, or of a tenant's agent, has reached its largest size."""

    detail = (
        "There is no room for more in the embedded search index: remove documents, or divide them among several "
        "agents. An operator can move them to OpenSearch."
    )


class SearchIndexDamaged(
    SearchUnavailable, code="search_index_damaged", title="The search index is damaged", retryable=False
):
    """A file of the embedded index cannot be read."""

    detail = "The search index is damaged. An operator has to rebuild it from what is stored: `search rebuild`."


class SearchMoved(SearchUnavailable, code="search_moved"):
    """An owner's documents were moved to OpenSearch, which this function does not know."""

    detail = (
        "These documents were moved to OpenSearch, and search does not use it: an operator has to name it in "
        "OpenSearchEndpoint again, or to bring them back with `search rebuild`."
    )


class SearchMoveClaimed(SearchUnavailable, code="search_move_claimed", title="Another move is in progress"):
    """Another command moves owners of search documents."""

    detail = "Another command moves documents to OpenSearch. Wait until it has ended."


class EmbedderUnavailable(
    BatonError, code="embedder_unavailable", status=503, title="The embedding model is not available"
):
    """The embedding model does not answer, or answers with something that is not an embedding."""

    detail = "The embedding model does not answer at the moment. Please try again."


class WrongEmbeddings(
    EmbedderUnavailable,
    code="wrong_embedding_dimension",
    title="The embedding model does not fit the settings",
    retryable=False,
):
    """The embedding model gives vectors whose length differs from the deployment's setting."""

    detail = "The embedding model gives vectors of another length than the deployment expects. Ask the operator."

    @classmethod
    def of(cls, count: int, expected: int) -> WrongEmbeddings:
        """Return the error for vectors that have ``count`` numbers in place of ``expected``."""
        return cls(
            f"The embedding model gives vectors of {count} numbers, and BATON_EMBEDDING_DIMENSIONS is {expected}. Ask "
            f"the operator to set it to {count}, or to name another model, and to rebuild the search index."
        )


class ExtractionUnavailable(
    BatonError, code="extraction_unavailable", status=503, title="Documents cannot be read at the moment"
):
    """The process that reads documents cannot be started, or was ended by something other than the document."""

    detail = "Documents cannot be read at the moment. Please try again."


class ModelError(BatonError, code="model_error", status=502, title="The model failed"):
    """The model gave no answer. Subclasses for spending limits have other statuses than 502."""

    detail = "The model could not answer. Please try again."
    reason: str | None = None
    """The endpoint's words, without its key. They may quote the request, so users never see them."""


class ModelRateLimited(ModelError, code="model_rate_limited"):
    """HTTP 429 from the model after all retries."""

    detail = "The model is receiving too many requests. Please try again in a moment."


class ModelTimeout(ModelError, code="model_timeout"):
    """No answer, or no further part of one, within the model's timeout."""

    detail = "The model took too long to answer. Please try again."


class ModelUnavailable(ModelError, code="model_unavailable"):
    """No connection, or a 5xx, after all retries."""

    detail = "The model cannot be reached at the moment. Please try again."


class ModelRefused(ModelError, code="model_refused", retryable=False):
    """A 4xx other than 429 for which no better error is known. ``detail`` names the cause where the endpoint does."""

    detail = "The model did not accept this request. The operator finds its reason in the log."


class ModelMisconfigured(ModelRefused, code="model_misconfigured"):
    """The endpoint does not know the model, or refuses the key."""

    detail = "The model did not accept the request. Ask the operator to check the model's name, address and key."


class ContextTooLong(
    ModelError, code="context_too_long", title="The message is too long for the model", retryable=False
):
    """The request exceeds what the model reads at once, and nothing more can be left out of it."""

    detail = "The message is too long for the model, even without earlier messages. Please send it in shorter parts."
    model: str | None = None
    """The fallback model that reports it; None for the model that was asked first."""
    is_guess: bool = False
    """True if the endpoint did not report this but sent an empty answer, which may have another cause."""

    @classmethod
    def of_empty_answer(cls) -> ContextTooLong:
        """Return the error for an empty answer."""
        error = cls()
        error.is_guess = True
        return error


class AnswerInvalid(ModelError, code="answer_invalid", title="The answer does not fit its schema"):
    """The answer of an agent with an ``answer_schema`` does not fit it, even after a correction, or was cut."""

    detail = "The agent's answer does not fit its schema. Please try again."


class OutOfCredit(ModelError, code="model_out_of_credit", retryable=False):
    """The account at the model's provider has no credit, or its quota is used up."""

    detail = "The account at the model's provider has no credit left. Ask the operator to check it."


class AgentUnavailable(ModelError, code="agent_unavailable", title="The agent did not answer"):
    """A remote specialist did not answer a message."""

    detail = "The agent cannot be reached at the moment. Please try again, or leave it with exit."


class ContentFiltered(ModelError, code="content_filtered", retryable=False):
    """The model's content filter stopped the question or the answer."""

    detail = "The model's content filter stopped this answer. Please put the question differently."
