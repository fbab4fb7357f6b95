"""The workers of one local cloud, which feed its queues to functions."""

import os
from collections.abc import Iterable, Mapping

from baton_local.functions import Invocable
from baton_local.gateway.fair_gate import FairGate
from baton_local.settings import LocalSettings
from baton_local.stack.declarations import QueueConsumer
from baton_local.workers.pressure import Pressure
from baton_local.workers.worker import BEGINNING, Worker, start_workers
from baton_local.workers.worker_processes import WorkerProcesses


class CloudWorkers:
    """The pollers of all queues, and the processes of the functions that they feed, if these run in other processes."""

    def __init__(self, settings: LocalSettings, gate: FairGate, pressure: Pressure) -> None:
        """``gate`` is charged with the work of messages. ``pressure`` is the load of this process."""
        self._settings = settings
        self._gate = gate
        self._pressure = pressure
        self._pollers: list[Worker] = []
        self.processes: WorkerProcesses | None = None
        """The processes of the functions; None if the functions run in this process or the workers are stopped."""

    def start(
        self,
        consumers: Iterable[QueueConsumer],
        functions: Mapping[str, Invocable],
        environment: Mapping[str, str],
        processes: int | None = None,
    ) -> None:
        """Start to poll the queues of ``consumers`` for functions in ``processes`` other processes.

        If ``processes`` is 0, the queues are polled for ``functions``, which run in this process. None takes the number
        of the settings. ``environment`` has the functions' variables, among them the address of the queues. Raises
        ``EngineFailed`` when a process does not start.
        """
        count = self._settings.worker_processes if processes is None else processes
        consumers = tuple(consumers)
        if count:  # their event loops are in other processes, and the developer sets their number
            pool = self.processes = WorkerProcesses(count, {**os.environ, **environment})
            functions = {consumer.function: pool.make_function(consumer.function) for consumer in consumers}
            pool.start()
        self._pollers = start_workers(
            consumers,
            functions,
            environment["AWS_ENDPOINT_URL_SQS"],
            self._settings.workers,
            lambda: not count and self._pressure.is_high,
            beginning=BEGINNING * max(1, count),
            charge=self._gate.charge_record,
        )

    def stop(self) -> None:
        """Stop polling the queues. No error if it has stopped already."""
        for poller in self._pollers:
            poller.stop(grace=0)
        for poller in self._pollers:
            poller.stop()
        if self.processes:
            self.processes.stop()
        self._pollers = []
        self.processes = None
