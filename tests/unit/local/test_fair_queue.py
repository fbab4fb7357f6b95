"""The local queue serves tenants in turn, however many groups of one wait."""

from __future__ import annotations

from baton_local.engines.queues.fifo import FifoQueue, Message, Rules

RULES = Rules(visibility=30.0)


def message(group: str, number: int = 1) -> Message:
    name = f"{group}-{number}"
    return Message(0, name, name, {}, group, name, sent_at=0.0)


def receive(queue: FifoQueue, count: int) -> list[str]:
    """The groups of the next messages, received one by one."""
    groups = []
    for _ in range(count):
        messages, _ = queue.receive(1, now=1.0)
        groups += [message.group for message in messages]
    return groups


def test_another_tenant_is_served_next_although_many_groups_wait() -> None:
    queue = FifoQueue(RULES)
    for number in range(50):
        queue.send(message(f"flood#{number}"), now=0.0)
    assert receive(queue, 3) == ["flood#0", "flood#1", "flood#2"]
    queue.send(message("quiet#1"), now=0.5)
    queue.send(message("quiet#2"), now=0.5)
    assert receive(queue, 4) == ["quiet#1", "flood#3", "quiet#2", "flood#4"]


def test_a_group_comes_once_in_an_answer_even_if_its_messages_stay_visible() -> None:
    queue = FifoQueue(RULES)
    queue.send(message("acme#1"), now=0.0)
    messages, _ = queue.receive(10, now=1.0, visibility=0.0)
    assert [message.group for message in messages] == ["acme#1"]
