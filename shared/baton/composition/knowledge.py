"""The use cases of ``knowledge``, joined to ports.

The methods contain their imports, like those of ``App``.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from baton.composition.ports import Ports
    from baton.entry.jobs.ingestion_events import IngestionEvents
    from baton.knowledge.cleaning import Cleaning
    from baton.knowledge.document_records import DocumentRecords
    from baton.knowledge.documents import Documents
    from baton.knowledge.ingestion import Ingestion
    from baton.knowledge.ingestion_starts import IngestionStarts
    from baton.knowledge.knowledge_search import KnowledgeSearch
    from baton.knowledge.source_refresh import SourceRefreshes
    from baton.knowledge.sources import Sources
    from baton.tenants.tenant_copies import CurrentLimits


class KnowledgeUseCases:
    """Use cases that ingest documents, refresh their sources and search them."""

    def __init__(self, ports: Ports, limits: Callable[[], CurrentLimits]) -> None:
        """``limits`` returns the limits of tenants; it is called when a use case needs it."""
        self.ports = ports
        self._limits = limits

    @cached_property
    def ingestion_events(self) -> IngestionEvents:
        """Handles stored documents, and the steps of their pipeline."""
        from baton.entry.jobs.ingestion_events import IngestionEvents

        return IngestionEvents(self.ingestion_starts, self.ingestion, self.cleaning, self.ports.admission)

    @cached_property
    def ingestion_starts(self) -> IngestionStarts:
        """Starts the pipeline that ingests documents."""
        from baton.knowledge.ingestion_starts import IngestionStarts

        return IngestionStarts(
            self.document_records, self.ports.ingestions, self.ports.clock, self.ports.pipelines_since
        )

    @cached_property
    def ingestion(self) -> Ingestion:
        """Makes documents part of agents' knowledge."""
        from baton.knowledge.ingestion import Ingestion

        ports = self.ports
        return Ingestion(
            self.document_records, ports.document_files, ports.extractor, ports.search, ports.embedder, ports.clock
        )

    @cached_property
    def cleaning(self) -> Cleaning:
        """Removes the files and index entries of old versions of documents."""
        from baton.knowledge.cleaning import Cleaning

        ports = self.ports
        wait = timedelta(seconds=ports.forget_wait_seconds)
        return Cleaning(self.document_records, ports.document_files, ports.search, ports.clock, wait)

    @cached_property
    def document_records(self) -> DocumentRecords:
        """Changes records of documents."""
        from baton.knowledge.document_records import DocumentRecords

        return DocumentRecords(self.ports.documents)

    @cached_property
    def documents(self) -> Documents:
        """Takes in, lists and deletes documents of agents."""
        from baton.knowledge.documents import Documents

        ports = self.ports
        return Documents(
            ports.documents, ports.document_files, ports.ingestions, ports.audit, ports.clock, self._limits()
        )

    @cached_property
    def sources(self) -> Sources:
        """Creates, lists and deletes sources of documents."""
        from baton.knowledge.sources import Sources

        ports = self.ports
        return Sources(ports.sources, lambda: ports.source_rules, ports.audit, ports.clock)

    @cached_property
    def source_refreshes(self) -> SourceRefreshes:
        """Reads due sources."""
        from baton.knowledge.page_listing import PageListings
        from baton.knowledge.page_refresh import PageRefreshes
        from baton.knowledge.source_refresh import SourceRefreshes

        ports = self.ports
        return SourceRefreshes(
            ports.sources,
            PageRefreshes(ports.sources, self.documents, ports.web_pages, ports.source_objects),
            PageListings(ports.web_pages, ports.source_objects, lambda: ports.source_rules, ports.extractor),
            ports.clock,
        )

    @cached_property
    def search(self) -> KnowledgeSearch:
        """Searches the documents of agents."""
        from baton.knowledge.knowledge_search import KnowledgeSearch

        return KnowledgeSearch(self.ports.search, self.ports.documents, self.ports.embedder)
