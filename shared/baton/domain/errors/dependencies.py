"""Services behind Baton that do not answer: storage, search, embedder, detector, models and remote agents."""

from __future__ import annotations

from baton.domain.errors.base import BatonError


class StoreUnavailable(BatonError):
    """The table, bucket or queue did not answer or throttled, and all retries failed."""

    code, status, retryable = "store_unavailable", 503, True
    title = "Storage is not available"
    detail = "Please try again in a moment, with the same messageId."


class SearchUnavailable(BatonError):
    """The search engine does not answer, or refuses."""

    code, status = "search_unavailable", 503
    title = "Search is not available"
    detail = "Search does not answer at the moment. Please try again."


class WrongDimension(SearchUnavailable):
    """A vector has another length than the index was made for: the embedding model was changed without a reindex."""

    code = "wrong_dimension"
    retryable = False
    detail = "The embedding model does not fit the search index. An operator has to reindex."


class EmbedderUnavailable(BatonError):
    """The embedding model does not answer, or answers with something that is not an embedding."""

    code, status = "embedder_unavailable", 503
    title = "The embedding model is not available"
    detail = "The embedding model does not answer at the moment. Please try again."


class WrongEmbeddings(EmbedderUnavailable):
    """The embedding model gives vectors of another length than the deployment is set up for."""

    code, retryable = "wrong_embedding_dimension", False
    title = "The embedding model does not fit the settings"
    detail = "The embedding model gives vectors of another length than the deployment expects. Ask the operator."

    @classmethod
    def of(cls, count: int, expected: int) -> WrongEmbeddings:
        """Return the error for vectors of ``count`` numbers where ``expected`` were asked for."""
        return cls(
            f"The embedding model gives vectors of {count} numbers, and BATON_EMBEDDING_DIMENSIONS is {expected}. Ask "
            f"the operator to set it to {count}, or to name another model, and to rebuild the search index."
        )


class ExtractionUnavailable(BatonError):
    """No process can be started that reads a document, or something other than the document has ended it."""

    code, status, retryable = "extraction_unavailable", 503, True
    title = "Documents cannot be read at the moment"
    detail = "Documents cannot be read at the moment. Please try again."


class ModelError(BatonError):
    """The model gave no answer. ``POST /v1/messages`` returns each of these errors as a 502 problem."""

    code, status, retryable = "model_error", 502, True
    title = "The model failed"
    detail = "The model could not answer. Please try again."
    reason: str | None = None
    """The endpoint's words, without its key. They may quote the request, so users never see them."""


class ModelRateLimited(ModelError):
    """HTTP 429 from the model after all retries."""

    code = "model_rate_limited"
    detail = "The model is receiving too many requests. Please try again in a moment."


class ModelTimeout(ModelError):
    """No answer, or no more of it, within the model's timeout."""

    code = "model_timeout"
    detail = "The model took too long to answer. Please try again."


class ModelUnavailable(ModelError):
    """No connection, or a 5xx, after all retries."""

    code = "model_unavailable"
    detail = "The model cannot be reached at the moment. Please try again."


class ModelRefused(ModelError):
    """A 4xx other than 429 for which no better error is known. ``detail`` names the cause where the endpoint does."""

    code, retryable = "model_refused", False
    detail = "The model did not accept this request. The operator finds its reason in the log."


class ModelMisconfigured(ModelRefused):
    """The endpoint does not know the model, or refuses the key."""

    code = "model_misconfigured"
    detail = "The model did not accept the request. Ask the operator to check the model's name, address and key."


class ContextTooLong(ModelError):
    """The request exceeds what the model reads at once, and nothing more can be left out of it."""

    code, retryable = "context_too_long", False
    title = "The message is too long for the model"
    detail = "The message is too long for the model, even without earlier messages. Please send it in shorter parts."
    model: str | None = None
    """The fallback model that says so; None: the one that was asked first."""
    is_guess: bool = False
    """True if the endpoint did not say so: it answered nothing at all. That may have another cause."""

    @classmethod
    def guessed(cls) -> ContextTooLong:
        """Return the error for an answer of nothing."""
        error = cls()
        error.is_guess = True
        return error


class AnswerInvalid(ModelError):
    """The answer of an agent with an ``answer_schema`` does not fit it, also after a correction, or was cut."""

    code = "answer_invalid"
    title = "The answer does not fit its schema"
    detail = "The agent's answer does not fit its schema. Please try again."


class OutOfCredit(ModelError):
    """The account at the model's provider has no credit, or its quota is used up."""

    code, retryable = "model_out_of_credit", False
    detail = "The account at the model's provider has no credit left. Ask the operator to check it."


class AgentUnavailable(ModelError):
    """A remote specialist did not answer a message."""

    code = "agent_unavailable"
    title = "The agent did not answer"
    detail = "The agent cannot be reached at the moment. Please try again, or leave it with exit."


class ContentFiltered(ModelError):
    """The model's content filter stopped the question or the answer."""

    code, retryable = "content_filtered", False
    detail = "The model's content filter stopped this answer. Please put the question differently."
