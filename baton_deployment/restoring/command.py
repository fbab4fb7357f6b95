"""``baton restore``: a plan, a question, the restore, repeated requests to forget, and checks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from baton.adapters.aws.step_functions import StepFunctionsForgettings
from baton.adapters.dynamodb.table import Table
from baton.domain.errors import StoreUnavailable
from baton.ports.clock import SystemClock
from baton_deployment.account import Account, problems_explained
from baton_deployment.deployed_stack import read_outputs
from baton_deployment.errors import DeploymentError
from baton_deployment.restoring.choice import Choice
from baton_deployment.restoring.conversation_check import ConversationCheck
from baton_deployment.restoring.counts import Counts
from baton_deployment.restoring.forgotten import ForgottenSince
from baton_deployment.restoring.object_versions import ObjectVersions
from baton_deployment.restoring.progress import Progress, ProgressFile
from baton_deployment.restoring.repeated_requests import RepeatedRequests
from baton_deployment.restoring.restoration import Position, Report, Restoration, Stores
from baton_deployment.restoring.restored_table import RestoredTable, make_restored_table, read_restored_table
from baton_deployment.search import FUNCTION_SECONDS, SearchRequest, administer, is_sound
from baton_deployment.stages import Stage

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

Write = Callable[[str], None]
REQUEST_SECONDS = 120.0
"""The time limit of one request to the table, including retries while the table throttles."""
REPORT_SECONDS = 5.0
"""The time between two lines of progress."""
INDEX_SECONDS = 10.0
"""The time between two comparisons of the search indices, while documents are being indexed."""
INDEX_ATTEMPTS = 60
"""The most comparisons of the search indices."""
NOT_RESTORED = (
    "Not in the table, and not restored: secrets (a lost push key makes push configurations useless: clients set them "
    "again), the settings document (`~settings/`), queued messages, connections, logs of the last day, the search "
    "indices (they are rebuilt)."
)


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """The options of the command."""

    choice: Choice
    at: datetime | None = None
    """The time to restore; None for the time of ``table``."""
    table: str | None = None
    """An existing restored table; None to create one."""
    bucket: str | None = None
    """Another bucket than the stage's, with the files of that time."""
    files: bool = True
    """Whether files are restored."""
    only_plans: bool = False
    """Whether nothing is written."""
    from_start: bool = False
    """Whether to ignore the progress of an interrupted restore."""


def restore(
    account: Account,
    stage: Stage,
    request: RestoreRequest,
    folder: Path,
    *,
    confirm: Callable[[str], bool],
    write: Write,
) -> None:
    """Restore the chosen data into a deployed stage. ``folder`` gets the file with the progress.

    Raises ``DeploymentError``, for instance if items are missing afterwards.
    """
    request.choice.check()
    if request.table is None and request.at is None:
        raise DeploymentError("Name the time to restore (--at 2026-11-26T09:30:00Z), or a restored table (--from).")
    outputs = read_outputs(account, stage.stack)
    with problems_explained("The restore has stopped. The same command goes on where it was"):
        try:
            _Command(account, stage, request, folder, outputs, confirm, write).run()
        except StoreUnavailable as problem:
            raise DeploymentError(
                f"The restore has stopped: {problem} The same command goes on where it was."
            ) from problem


class _Command:
    """One run of the command."""

    def __init__(
        self,
        account: Account,
        stage: Stage,
        request: RestoreRequest,
        folder: Path,
        outputs: Mapping[str, str],
        confirm: Callable[[str], bool],
        write: Write,
    ) -> None:
        self.account, self.stage, self.request, self.outputs = account, stage, request, outputs
        self.confirm, self.write = confirm, write
        self.live_name = outputs["TableName"]
        self.progress_path = folder / f"restore-{stage.name}.json"
        self.clock = SystemClock()

    def run(self) -> None:
        """Plan, ask for confirmation, restore and check. Raises ``DeploymentError``."""
        source = self._find_source()
        progress_file = ProgressFile(self.progress_path, self.live_name, source, self.request.choice)
        self.write(
            f"Restoring {self.request.choice.description} from {source.name}, {source.at:%Y-%m-%d %H:%M:%S} UTC,\n"
            f"into {self.live_name}.\n"
        )
        asyncio.run(self._restore(source, progress_file))

    async def _restore(self, source: RestoredTable, progress_file: ProgressFile) -> None:
        """Show the plan or the progress, ask, restore, and check the result. Raises ``DeploymentError``."""
        stores = self._open_stores(source)
        progress = None if self.request.from_start else progress_file.read()
        if progress is not None:
            self.write("An earlier restore was interrupted here:")
            self._write_lines(progress.counts, planned=False)
        else:
            planned = await Restoration(stores, self.request.choice, writes=False).run(self._make_reporter("compared"))
            self.write("Plan:")
            self._write_lines(planned, planned=True)
        self.write(f"\n{NOT_RESTORED}")
        if self.request.only_plans or not self.confirm("Go on with it?" if progress else "Carry this out?"):
            self.write("\nNothing was written.")
            return
        tenants = await self._carry_out(stores, progress_file, progress)
        await self._repeat_requests(stores, tenants)
        self._rebuild_indices()
        is_complete = await self._verify(stores)
        is_complete = await self._verify_indices() and is_complete
        delete = f"aws dynamodb delete-table --table-name {source.name} --region {self.account.region}"
        self.write(f"\nWhen nothing is missing any more: {delete}")
        if not is_complete:
            raise DeploymentError("Something is still missing: see above.")

    async def _carry_out(self, stores: Stores, progress_file: ProgressFile, progress: Progress | None) -> set[str]:
        """Restore, from ``progress`` on if there is any, and return the tenants of the restored data."""
        if progress is None:
            progress_file.remove()  # of another restore, or of this one before ``--from-start``
        restoration = Restoration(stores, self.request.choice, writes=True)
        restoration.tenants |= progress.tenants if progress is not None else set()
        show = self._make_reporter("restored")

        async def report(counts: Counts, position: Position | None) -> None:
            if position is not None:
                progress_file.write(Progress(counts, position, frozenset(restoration.tenants)))
            await show(counts, position)

        counts = await restoration.run(
            report,
            counts=progress.counts if progress is not None else None,
            after=progress.position if progress is not None else None,
        )
        progress_file.remove()
        self.write("\nDone:")
        self._write_lines(counts, planned=False)
        return restoration.tenants

    async def _repeat_requests(self, stores: Stores, tenants: set[str]) -> None:
        """Repeat the requests to forget that were made since the restored time."""
        forgettings = StepFunctionsForgettings(self.account.client("stepfunctions"), self.outputs["ForgetUserArn"])
        requests = RepeatedRequests(stores.live, stores.forgotten, forgettings, self.clock)
        count = await requests.repeat(tenants, self.request.choice)
        self.write(f"\n{count} requests to forget since then are repeated, each with its own cut-off.")

    def _rebuild_indices(self) -> None:
        """Rebuild the search indices of the chosen tenant, or of all tenants."""
        if "SearchFunctionName" not in self.outputs:
            self.write("Search is off: there are no indices to rebuild.")
            return
        client, tenants = self._prepare_search()
        rebuilt = administer(client, self.outputs, SearchRequest("rebuild", tenants))
        administer(client, self.outputs, SearchRequest("repair", tenants))
        self.write(
            f"Indices: {rebuilt.get('episodes_indexed', 0)} episodes indexed; {rebuilt.get('documents_started', 0)} "
            "documents are being indexed by the pipeline."
        )

    async def _verify(self, stores: Stores) -> bool:
        """Compare again, and check the messages and files of every conversation. Return whether nothing is missing."""
        restoration = Restoration(
            stores,
            replace(self.request.choice, replaces=False),
            writes=False,
            check=ConversationCheck(stores.live, stores.objects),
        )
        counts = await restoration.run(self._make_reporter("verified"))
        self.write(f"\nVerified: {counts.checked:,} conversations with {counts.messages:,} messages.")
        missing = {
            "items and files are still missing (repeat the command)": counts.items.total() + counts.files,
            "messages are missing in both tables": counts.lost_messages,
            "large bodies are missing in the bucket": counts.lost_bodies,
        }
        for text, count in missing.items():
            if count:
                self.write(f"{count:>9,} {text}")
        return not any(missing.values())

    async def _verify_indices(self) -> bool:
        """Compare the search indices with the stored data, at most ``INDEX_ATTEMPTS`` times, until they agree.

        Return whether they agree; true without search.
        """
        if "SearchFunctionName" not in self.outputs:
            return True
        client, tenants = self._prepare_search()
        for attempt in range(INDEX_ATTEMPTS):
            if is_sound(administer(client, self.outputs, SearchRequest("verify", tenants))):
                self.write("Indices: they agree with what is stored.")
                return True
            if attempt == 0:
                self.write("Waiting for the pipeline that indexes documents")
            await asyncio.sleep(INDEX_SECONDS)
        self.write(
            "The indices still differ from what is stored. Failed documents are named by: "
            f"baton search {self.stage.name} verify"
        )
        return False

    # Parts

    def _prepare_search(self) -> tuple[LambdaClient, list[str]]:
        """Return the client for the search function, and the chosen tenant; an empty list for all."""
        client = self.account.client("lambda", wait_seconds=FUNCTION_SECONDS)
        tenant_id = self.request.choice.tenant_id
        return client, [tenant_id] if tenant_id is not None else []

    def _find_source(self) -> RestoredTable:
        """Return the restored table, which is made if the request names none. Raises ``DeploymentError``."""
        client = self.account.client("dynamodb")
        request = self.request
        if request.table is not None:
            return read_restored_table(client, request.table, request.at, self.live_name)
        assert request.at is not None  # noqa: S101 - checked by ``restore``
        return make_restored_table(client, self.live_name, request.at, self.write)

    def _open_stores(self, source: RestoredTable) -> Stores:
        """Return the tables and the bucket of the restore."""
        client = self.account.client("dynamodb", patient=True)
        session = self.account.session
        source_table, live_table = (
            replace(Table.sent_directly(client, name, session), seconds=REQUEST_SECONDS)
            for name in (source.name, self.live_name)
        )
        objects = None
        if self.request.files:
            live_bucket = self.outputs["BucketName"]
            s3 = self.account.client("s3", patient=True)
            objects = ObjectVersions(s3, self.request.bucket or live_bucket, live_bucket, source.at)
        forgotten = ForgottenSince(source_table, live_table, source.at, self.clock)
        return Stores(source_table, live_table, objects, forgotten, self.clock)

    def _make_reporter(self, verb: str) -> Report:
        """Return a function that prints counts, at most every ``REPORT_SECONDS``."""
        last = time.monotonic()

        async def report(counts: Counts, position: Position | None) -> None:
            nonlocal last
            if time.monotonic() - last >= REPORT_SECONDS:
                last = time.monotonic()
                self.write(
                    f"{counts.conversations.total():>9,} conversations {verb}, {counts.items.total():,} items and "
                    f"{counts.files:,} files to put back so far"
                )

        return report

    def _write_lines(self, counts: Counts, *, planned: bool) -> None:
        lines = list(counts.lines(planned=planned)) or ["        0 conversations and records"]
        for line in lines:
            self.write(line)
