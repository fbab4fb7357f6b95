"""The page of limits has the code's numbers."""

from __future__ import annotations

import re

from baton.adapters.a2a import cards
from baton.adapters.aws import s3_files
from baton.adapters.documents.document_reader import ATTACHMENTS, INGESTION
from baton.adapters.egress import pool as egress
from baton.adapters.models.attachments import file_types
from baton.adapters.models.attachments import laid_out_attachments as attachments
from baton.adapters.sqlite_index import bounds
from baton.adapters.tools import openapi_document
from baton.agents import answer_sources, attached_files, model_answer
from baton.agents.calls import outside_calls, tool_calls
from baton.agents.prompts import prompt_notes
from baton.api.http import middleware, schemas
from baton.api.runs.runs import TURN_SECONDS
from baton.api.tenants import audit
from baton.domain import json_values, yaml_text
from baton.domain.agents import agent_checks, answer_schema
from baton.domain.agents.agent import MAX_LIBRARIES
from baton.domain.documents import document, source
from baton.domain.handoffs import handoff, workflow_moves
from baton.domain.memory import private_skill, skill_markdown
from baton.domain.runs import conversation_data, run_step, tool_call
from baton.domain.schedules import background_task, recurrence, schedule
from baton.domain.schemas import json_schema, schema_form, schema_validator
from baton.domain.tenants import evaluation, identity, tenant_limits
from baton.domain.threads import branches, content, events, feedback, push_config, thread_title
from baton.knowledge import sources
from baton.knowledge.documents import MAX_IN_LIBRARY
from baton.memory.inspection import inspector
from baton.ports.agents.tools import MAX_ATTACHED_BYTES
from baton.tenants.registry import tenant_agents
from baton.threads.handoffs import forks
from baton.threads.requests import parsing, session_import, waiting_messages
from baton.threads.schedules import schedule_making
from baton.turns import run
from baton_documents.pdf import bounds as pdf_bounds
from tests.unit.docs.pages import ROOT

LIMITS: dict[str, tuple[int, str]] = {
    "ended tasks in the background that a conversation lists": (background_task.MAX_LISTED, ""),
    "the message of such a task with its data, or the arguments of a function in the background": (
        background_task.MAX_INPUT_BYTES,
        "bytes",
    ),
    "the state that tools keep in a conversation": (conversation_data.MAX_DATA_BYTES, "bytes"),
    "files that a call attaches to an answer": (attached_files.MAX_FILES, ""),
    "these files together": (MAX_ATTACHED_BYTES, "bytes"),
    "[steps of agents' code](../how-to/write-branching-agents.md#limits) in one answer": (run_step.MAX_STEPS, ""),
    "the result of such a step": (run_step.MAX_STEP_BYTES, "bytes"),
    "these steps together, with arguments and sources": (run_step.MAX_JOURNAL_BYTES, "bytes"),
    "a computed prompt": (prompt_notes.MAX_COMPUTED, "characters"),
    "a request's body": (middleware.MAX_BODY_BYTES, "bytes"),
    "values in a request's body": (middleware.MAX_BODY_VALUES, ""),
    "members of an object in a request's body or in a frame": (json_values.MAX_MEMBERS, ""),
    "parameters of a request's query": (middleware.MAX_PARAMETERS, ""),
    "headers of a request": (middleware.MAX_HEADERS, ""),
    "a message's text and parts": (content.MAX_CONTENT_BYTES, "bytes"),
    "messages of a conversation that [wait](../how-to/steer-a-running-agent.md)": (waiting_messages.MAX_WAITING, ""),
    "a message that enters a run in progress, as it is queued": (waiting_messages.MAX_KEPT_BYTES, "bytes"),
    "parts of a message": (content.MAX_PARTS, ""),
    "a WebSocket frame, either way": (events.MAX_FRAME_BYTES, "bytes"),
    "an uploaded file": (s3_files.MAX_FILE_BYTES, "bytes"),
    "[a file of the embedded search index](../how-to/run-search.md#choose-an-engine): of an agent, or of a user": (
        bounds.MAX_OWNER_BYTES,
        "bytes",
    ),
    "documents in such a file": (bounds.MAX_OWNER_DOCUMENTS, ""),
    "the fill of such a file from which an alarm goes off and the console warns": (bounds.NEARLY_FULL_PERCENT, "%"),
    "images and documents of one request to a model": (attachments.MAX_HELD_BYTES, "bytes"),
    "the text of a file for a model": (file_types.MAX_CHARACTERS, "characters"),
    "texts of all files of one request to a model": (attachments.MAX_TEXT_CHARACTERS, "characters"),
    "reading the documents of one request to a model": (int(attachments.MAX_READING_SECONDS), "seconds"),
    "a message id": (identity.MAX_MESSAGE_ID, "characters"),
    "a thread id of the host": (identity.MAX_EXTERNAL_ID, "characters"),
    "a user's id": (identity.MAX_USER_ID, "characters"),
    "a conversation's title": (thread_title.MAX_TITLE, "characters"),
    "a comment on an answer": (feedback.MAX_COMMENT, "characters"),
    "audit records of one export": (audit.MAX_EXPORTED, ""),
    "messages of an imported session": (session_import.MAX_MESSAGES, ""),
    "a run over HTTP, after which clients follow its events": (int(TURN_SECONDS), "seconds"),
    "attempts of workers at one run": (run.MAX_ATTEMPTS, ""),
    "tool calls in one answer of the model": (model_answer.MAX_CALLS, ""),
    "a tool's result": (outside_calls.MAX_RESULT, "bytes"),
    "calls of the client's tools that wait at once": (tool_calls.MAX_CLIENT_CALLS, ""),
    "tools that a client offers": (parsing.MAX_TOOLS, ""),
    "descriptions and schemas of these tools together": (parsing.MAX_TOOLS_BYTES, "bytes"),
    "a result of a client's tool": (parsing.MAX_RESULT_BYTES, "bytes"),
    "a response of a tool, a page or a remote agent": (egress.MAX_RESPONSE_BYTES, "bytes"),
    "JSON values of such a response, or of an event of it": (egress.MAX_RESPONSE_VALUES, ""),
    "an OpenAPI document that is fetched": (openapi_document.MAX_FETCHED_BYTES, "bytes"),
    "values of such a document, and of YAML in a request": (yaml_text.MAX_VALUES, ""),
    "a remote agent's card": (cards.MAX_CARD_BYTES, "bytes"),
    "files of a remote agent's answer": (attached_files.MAX_FILES, ""),
    "sources of an answer": (answer_sources.MAX_SOURCES, ""),
    "tools of an agent that a tenant has made": (agent_checks.MAX_TOOLS, ""),
    "an agent's definition": (tenant_agents.MAX_DEFINITION, "bytes"),
    "an agent's `answer_schema`": (answer_schema.MAX_SCHEMA_BYTES, "bytes"),
    "subschemas of a JSON Schema that an agent's definition, an evaluation or a client's tool declares": (
        schema_form.MAX_SUBSCHEMAS,
        "",
    ),
    "characters of a `pattern` in such a schema, and of each name in `patternProperties`": (
        schema_form.MAX_PATTERN,
        "",
    ),
    "schemas inside each other": (schema_form.MAX_DEPTH, ""),
    "[steps](#checks-by-json-schemas) of checking a value by a schema": (schema_validator.MAX_STEPS, ""),
    "such steps for the data of a workflow's move": (json_schema.PROBLEM_STEPS, ""),
    "values of a structured answer": (tool_call.MAX_VALUES, ""),
    "a tenant's definitions together": (tenant_agents.MAX_DEFINITIONS, "bytes"),
    "a tenant's own agents": (tenant_limits.MAX_AGENTS, ""),
    "a workflow's collected data": (workflow_moves.MAX_DATA, "bytes"),
    "a handoff's summary": (handoff.MAX_SUMMARY, "characters"),
    "a note at a desk": (handoff.MAX_SUMMARY, "characters"),
    "a question to the search of episodes or documents": (schemas.MAX_QUERY, "characters"),
    "messages that a fork copies": (forks.MAX_COPIED, ""),
    "branch segments of a conversation": (branches.MAX_SEGMENTS, ""),
    "a document": (document.MAX_DOCUMENT_BYTES, "bytes"),
    "pages of a PDF": (pdf_bounds.MAX_PAGES, ""),
    "memory for reading a document": (INGESTION.memory_bytes, "bytes"),
    "processor time for reading a part of a document": (INGESTION.seconds, "seconds"),
    "memory for reading a document in a message": (ATTACHMENTS.memory_bytes, "bytes"),
    "sources of documents of an agent": (sources.MAX_SOURCES, ""),
    "libraries of an agent": (MAX_LIBRARIES, ""),
    "documents of a library": (MAX_IN_LIBRARY, ""),
    "pages of a source": (source.MAX_SOURCE_PAGES, ""),
    "a procedure as SKILL.md": (skill_markdown.MAX_BYTES, "bytes"),
    "private skills of a user with an agent": (private_skill.MAX_PRIVATE, ""),
    "push configurations of an A2A task": (push_config.MAX_CONFIGS, ""),
    "published evaluations of a tenant": (evaluation.MAX_EVALUATIONS, ""),
    "finished schedules that a user keeps": (schedule_making.MAX_FINISHED, ""),
    "the text of a schedule": (schedule.MAX_TEXT, "characters"),
    "the time after its start in which a schedule has slots": (recurrence.HORIZON.days, "days"),
    "cases of a published evaluation": (evaluation.MAX_CASES, ""),
    "metrics and cases of a published evaluation together": (evaluation.MAX_EVALUATION_BYTES, "bytes"),
    "an inspector record": (inspector.MAX_RECORD_BYTES, "bytes"),
}


def format_number(number: int, unit: str) -> str:
    """A number as a reader counts it."""
    if unit == "bytes":
        for size, name in ((1024 * 1024, "MiB"), (1024, "KiB")):
            if number % size == 0:
                return f"{number // size:,} {name}"
    return f"{number:,} {unit}".strip()


def test_the_console_and_the_alarm_warn_of_the_same_fill() -> None:
    console = (ROOT / "clients/web/console/src/views/documents/index-fill.ts").read_text()
    assert f"const NEARLY_FULL_PERCENT = {bounds.NEARLY_FULL_PERCENT};" in console
    alarm = (ROOT / "template.yaml").read_text().partition("\n  SearchIndexFillAlarm:\n")[2]
    assert f"Threshold: {bounds.NEARLY_FULL_PERCENT}\n" in alarm[:1000]


def test_the_page_of_limits_has_the_codes_numbers() -> None:
    page = (ROOT / "docs" / "reference" / "limits.md").read_text()
    written = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", page.partition("## Fixed limits")[2], re.MULTILINE))
    expected = {subject: format_number(*limit) for subject, limit in LIMITS.items()}
    assert {subject: number for subject, number in written.items() if subject not in {"subject", "---"}} == expected
