"""The resources of one local cloud: table, queues, buckets, secrets, search indices and state machines."""

import logging
from collections.abc import Callable, Mapping

from baton.settings.document import SettingsDocument
from baton_local import former_index, resources
from baton_local.engines import state_machines
from baton_local.engines.clients import client
from baton_local.engines.moto import MotoServer
from baton_local.errors import LocalCloudError
from baton_local.project.secrets_file import put_parameters, read_secrets
from baton_local.project.settings_document import put_document
from baton_local.settings import LocalSettings
from baton_local.stack.declarations import Stack

logger = logging.getLogger("baton_local")


class CloudResources:
    """The resources that the template declares, with the values of the developer's files."""

    def __init__(self, settings: LocalSettings, stack: Stack, variables: Mapping[str, str]) -> None:
        """``variables`` are those of the functions, among them the addresses of services."""
        self._settings = settings
        self._stack = stack
        self._variables = variables

    def create(self, embed_keys: str) -> SettingsDocument:
        """Create all resources except search indices and state machines. Return the settings document.

        Without a settings file, no document is put, and the defaults are returned. ``embed_keys`` is the value of the
        secret with the keys of tenants. Raises ``LocalCloudError`` if a file of the developer is wrong.
        """
        variables, settings = self._variables, self._settings
        embed_name, model_name = (
            variables.get("BATON_EMBED_KEYS_SECRET", ""),
            variables.get("BATON_MODEL_KEY_SECRET", ""),
        )
        own = {embed_name: embed_keys, model_name: variables["OPENAI_API_KEY"]}
        secret_values = read_secrets(settings.secrets_file, {*own, *self._stack.secrets})
        put_parameters(client("ssm", variables["AWS_ENDPOINT_URL"]), secret_values)
        secrets = own | {name: value for name, value in secret_values.items() if not name.startswith("/")}
        resources.create_all(self._stack, variables, secrets, visibility_seconds=settings.visibility_seconds)
        s3 = client("s3", variables["AWS_ENDPOINT_URL_S3"])
        return put_document(s3, self._stack.bucket, settings.settings_file)

    def make_indices(self) -> None:
        """Make the search indices as a deployment does. Raises ``LocalCloudError``."""
        from baton.composition.startup import event_loop
        from baton.domain.errors import SearchUnavailable
        from baton_local.project import checks

        try:
            for line in event_loop.run(checks.make_indices()):
                logger.warning("%s", line)
        except SearchUnavailable as problem:
            raise LocalCloudError(f"The search indices cannot be made: {problem}") from problem
        data_dir = self._settings.data_dir
        if data_dir is not None and (data_dir / former_index.FORMER).is_dir():
            from baton.composition import deployed_ports

            former_index.carry_over(data_dir, deployed_ports().owner_files)

    def prepare_state_machines(self, moto: MotoServer, endpoint: str, load: Callable[[], None]) -> None:
        """Read the definitions now, so that an unreadable one stops the start, and create the machines at first use.

        ``endpoint`` is the address of ``moto``, and ``load`` loads its interpreter of state machines. Raises
        ``TemplateProblem``.
        """
        definitions = [(machine, machine.read_definition()) for machine in self._stack.state_machines]

        def create() -> None:
            load()
            state_machines.keep_parsed_definitions()
            machines = client("stepfunctions", endpoint)
            for machine, definition in definitions:
                resources.create_state_machine(machines, machine, definition)

        moto.create_state_machines = create
