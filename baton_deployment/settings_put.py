"""The settings document of a deployed stage: printing it, comparing it with the stage's file, and replacing it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from baton.adapters.aws.s3_settings import SETTINGS_KEY
from baton.settings.document import InvalidDocument, check_document
from baton_deployment.account import Account, problems_explained, read_code
from baton_deployment.deployed_stack import read_outputs
from baton_deployment.errors import DeploymentError
from baton_deployment.settings_file import find_settings_file, read_settings_file
from baton_deployment.stage_home import open_account
from baton_deployment.stages import Stage

Write = Callable[[str], None]


@dataclass(frozen=True)
class DeployedSettings:
    """The document in the stack's bucket."""

    text: str
    etag: str


@dataclass(frozen=True)
class SettingsPlan:
    """The settings that a stage would get, and their difference from the deployed ones."""

    bucket: str
    deployed: DeployedSettings | None
    values: Mapping[str, Any] | None
    """The new settings; None if there is nothing to put."""
    difference: tuple[str, ...]
    """Lines of a unified difference."""

    @property
    def replaces(self) -> bool:
        """Whether a deployed document would change."""
        return self.deployed is not None and bool(self.difference)

    @property
    def etag(self) -> str | None:
        """The entity tag of the deployed document; None if there is none."""
        return self.deployed.etag if self.deployed is not None else None


def read_deployed(account: Account, bucket: str) -> DeployedSettings | None:
    """Return the deployed document; None if there is none. Raises ``DeploymentError``."""
    with problems_explained(f"s3://{bucket}/{SETTINGS_KEY} cannot be read"):
        try:
            answer = account.client("s3").get_object(Bucket=bucket, Key=SETTINGS_KEY)
        except ClientError as problem:
            if read_code(problem) == "NoSuchKey":
                return None
            raise
        text = answer["Body"].read().decode("utf-8", "replace")
    return DeployedSettings(text, str(answer["ETag"]))


def show_settings(account: Account, stage: Stage) -> str:
    """Return the text of the deployed document. Raises ``DeploymentError`` if there is none."""
    deployed = read_deployed(account, _find_bucket(account, stage))
    if deployed is None:
        raise DeploymentError(
            f"{stage.stack} has no settings: the defaults hold. `baton settings {stage.name}` puts some."
        )
    return deployed.text.rstrip("\n")


def plan_settings(account: Account, stage: Stage, allowed_hosts: Sequence[str] = ()) -> SettingsPlan:
    """Check the stage's file, and compare it with the deployed settings.

    ``allowed_hosts`` are a project's, which apply if the file has no ``allowedHosts``. Without a file, only they
    change. Raises ``DeploymentError``.
    """
    settings_file = read_settings_file(find_settings_file(stage))
    bucket = _find_bucket(account, stage)
    deployed = read_deployed(account, bucket)
    if settings_file is None and not allowed_hosts:
        return SettingsPlan(bucket, deployed, None, ())
    values = dict(settings_file.values) if settings_file is not None else _read_values(deployed)
    if allowed_hosts and (settings_file is None or "allowedHosts" not in values):
        values["allowedHosts"] = list(allowed_hosts)
    try:
        check_document(values)
    except InvalidDocument as invalid:
        raise DeploymentError(f"The settings of {stage.name} cannot be put: {invalid}") from None
    return SettingsPlan(bucket, deployed, values, tuple(compare(deployed, values)))


def put_settings(
    account: Account,
    stage: Stage,
    write: Write,
    *,
    allowed_hosts: Sequence[str] = (),
    confirm: Callable[[str], bool] = lambda question: True,
    agreed: SettingsPlan | None = None,
) -> None:
    """Check the stage's file, print its difference from the deployed settings, and put it if ``confirm`` agrees.

    ``agreed`` is a plan that an operator has seen. A document that was deployed since is not replaced. Raises
    ``DeploymentError``.
    """
    name = find_settings_file(stage).name
    plan = plan_settings(account, stage, allowed_hosts)
    if plan.values is None:
        write(f"There is no {name}: " + ("the deployed settings stay." if plan.deployed else "the defaults hold."))
        return
    if plan.deployed is not None and not plan.difference:
        write(f"The deployed settings of {stage.stack} stay as they are.")
        return
    write("\n".join(plan.difference))
    if agreed is not None and agreed.etag != plan.etag:
        raise DeploymentError(
            "The deployed settings were changed by somebody else during this deployment, so they were not replaced. "
            "Deploy once more to see the new difference."
        )
    if not confirm("Put these settings?"):
        write("Nothing was put.")
        return
    version = _put(account, plan.bucket, plan.values, plan.deployed)
    write(f"The settings of {stage.stack} are put (version {version}). Functions use them within ten minutes.")


def compare_settings(stage: Stage, write: Write, *, allowed_hosts: Sequence[str] = ()) -> None:
    """Check the stage's file, and print its difference from the deployed settings, if these can be read.

    Raises ``DeploymentError`` if the file is not valid.
    """
    path = find_settings_file(stage)
    if read_settings_file(path) is not None:
        write(f"{path.name} is valid.")
    elif not allowed_hosts:
        write(f"There is no {path.name}, so there is nothing to check.")
        return
    try:
        put_settings(open_account(stage), stage, write, allowed_hosts=allowed_hosts, confirm=lambda question: False)
    except DeploymentError as problem:
        write(f"It is not compared with what is deployed: {problem}")


def compare(deployed: DeployedSettings | None, values: Mapping[str, Any]) -> list[str]:
    """Return the lines of a unified difference; empty if nothing changes."""
    before = _split_lines(deployed.text) if deployed is not None else []
    return list(difflib.unified_diff(before, _to_text(values).splitlines(), "deployed", "new", lineterm="", n=2))


def _put(account: Account, bucket: str, values: Mapping[str, Any], deployed: DeployedSettings | None) -> str:
    """Replace the ``deployed`` document by ``values``, and return its version. Raises ``DeploymentError``."""
    # The condition refuses to replace a document that was put after the comparison.
    condition: dict[str, Any] = {"IfMatch": deployed.etag} if deployed is not None else {"IfNoneMatch": "*"}
    with problems_explained(f"s3://{bucket}/{SETTINGS_KEY} cannot be written"):
        try:
            answer = account.client("s3").put_object(
                Bucket=bucket,
                Key=SETTINGS_KEY,
                Body=_to_text(values).encode(),
                ContentType="application/json",
                **condition,
            )
        except ClientError as problem:
            if read_code(problem) in ("PreconditionFailed", "ConditionalRequestConflict"):
                raise DeploymentError(
                    "The settings were changed meanwhile, so they were not replaced. Repeat the command to see the new "
                    "difference."
                ) from None
            raise
    return str(answer.get("VersionId", ""))


def _read_values(deployed: DeployedSettings | None) -> dict[str, Any]:
    """Return the values of the deployed document; only its version if there is none. Raises ``DeploymentError``."""
    if deployed is None:
        return {"version": 1}
    try:
        values = json.loads(deployed.text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise DeploymentError("The deployed settings are no JSON object. Write a settings file, and put that.")
    return values


def _split_lines(text: str) -> list[str]:
    """Return the lines of a document in the form of ``_to_text``; unchanged lines if the text is not JSON."""
    try:
        return _to_text(json.loads(text)).splitlines()
    except ValueError:
        return text.splitlines()


def _to_text(values: Any) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _find_bucket(account: Account, stage: Stage) -> str:
    return read_outputs(account, stage.stack)["BucketName"]
