"""Resources: opened once for all who ask, given by type, and closed in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import ModuleType
from typing import Any

import pytest

from baton import CallContext, resource
from baton.authoring.errors import CannotLoad
from baton.authoring.functions import AGENTS_PACKAGE, Functions
from baton.authoring.resources import OpenResources, Resource
from baton.authoring.signatures import read_signature
from baton.domain.tenants.identity import Scope

CONTEXT = CallContext(Scope("acme", "ada"), "t1", "r1", "desk", "c1", "k1")
Declare = Callable[..., Functions]


class Pool:
    """A pool that knows whether it is open."""

    def __init__(self) -> None:
        self.is_open = True


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Declare:
    """Return a function that makes resources those of a module of agents, and returns what calls functions."""

    def declare(*resources: Resource[..., Any]) -> Functions:
        module = ModuleType(f"{AGENTS_PACKAGE}.shared")
        vars(module).update({f"resource{number}": item for number, item in enumerate(resources)})
        monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
        return Functions()

    return declare


def count_uses(opened: list[Pool]) -> Resource[..., Any]:
    @resource
    async def pool() -> AsyncIterator[Pool]:
        await asyncio.sleep(0)
        opened.append(Pool())
        yield opened[-1]
        opened[-1].is_open = False

    return pool


async def ask(pool: Pool) -> Pool:
    return pool


async def test_a_resource_is_opened_once_for_all_who_ask_and_closed_in_the_end(declare: Declare) -> None:
    opened: list[Pool] = []
    functions = declare(count_uses(opened))
    first, second = await asyncio.gather(*(functions.call(ask, CONTEXT, {}) for _ in range(2)))
    assert opened == [first]
    assert first is second
    assert first.is_open
    await functions.aclose()
    assert not first.is_open


async def test_a_resource_whose_module_was_imported_again_is_closed_when_no_call_uses_it(declare: Declare) -> None:
    opened: list[Pool] = []
    functions, gate = declare(count_uses(opened)), asyncio.Event()

    async def work(pool: Pool) -> bool:
        await gate.wait()
        return pool.is_open

    working = asyncio.ensure_future(functions.call(work, CONTEXT, {}))
    await functions.call(ask, CONTEXT, {})
    declare(count_uses(opened))  # in the same module
    await functions.close_replaced()
    gate.set()
    assert await working
    assert not opened[0].is_open
    newer = await functions.call(ask, CONTEXT, {})
    await functions.close_replaced()
    assert newer.is_open
    await functions.aclose()
    assert not newer.is_open


async def test_a_replaced_resource_that_cannot_be_closed_hinders_nothing(declare: Declare) -> None:
    @resource
    async def fail_to_close() -> AsyncIterator[Pool]:
        yield Pool()
        raise ConnectionError("down")

    functions = declare(fail_to_close)
    await functions.call(ask, CONTEXT, {})
    declare(count_uses([]))
    await functions.close_replaced()
    assert isinstance(await functions.call(ask, CONTEXT, {}), Pool)


async def test_the_model_does_not_see_a_parameter_that_a_resource_fills(declare: Declare) -> None:
    def find(number: int, pool: Pool, context: CallContext) -> str:
        return f"{number} {type(pool).__name__} {context.user}"

    functions = declare(count_uses([]))
    filled = functions.find_filled(find)
    assert list(read_signature(find, filled.names).schema["properties"]) == ["number"]
    assert await functions.call(find, CONTEXT, {"number": 7}, filled) == "7 Pool ada"


def generator() -> Iterator[Pool]:
    yield Pool()


async def coroutine() -> Pool:
    return Pool()


def plain() -> Pool:
    return Pool()


def manager() -> AbstractAsyncContextManager[Pool]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Pool]:
        yield Pool()

    return opened()


@pytest.mark.parametrize("function", [generator, coroutine, plain, manager], ids=lambda function: function.__name__)
async def test_resources_may_be_functions_of_every_kind(declare: Declare, function: Callable[..., Any]) -> None:
    functions = declare(resource(function))
    assert isinstance(await functions.call(ask, CONTEXT, {}), Pool)
    await functions.aclose()


async def test_a_resource_that_cannot_be_opened_is_tried_again(declare: Declare) -> None:
    attempts: list[int] = []

    @resource
    async def pool() -> Pool:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError("down")
        return Pool()

    functions = declare(pool)
    with pytest.raises(ConnectionError):
        await functions.call(ask, CONTEXT, {})
    assert isinstance(await functions.call(ask, CONTEXT, {}), Pool)


async def test_a_retry_is_closed_in_the_end_although_another_call_had_waited_for_the_failure(declare: Declare) -> None:
    opened: list[Pool] = []
    attempts: list[int] = []

    @resource
    async def pool() -> AsyncIterator[Pool]:
        attempts.append(1)
        await asyncio.sleep(0)
        if len(attempts) == 1:
            raise ConnectionError("down")
        opened.append(Pool())
        yield opened[-1]
        opened[-1].is_open = False

    functions = declare(pool)

    async def call_twice() -> Pool:
        try:
            return await functions.call(ask, CONTEXT, {})
        except ConnectionError:
            return await functions.call(ask, CONTEXT, {})

    await asyncio.gather(call_twice(), functions.call(ask, CONTEXT, {}), return_exceptions=True)
    await functions.aclose()
    assert [item.is_open for item in opened] == [False]


def test_a_resource_whose_annotation_names_nothing_is_refused(declare: Declare) -> None:
    def pool() -> asyncio.Nothing:  # type: ignore[name-defined]
        return Pool()

    with pytest.raises(CannotLoad, match="its annotations cannot be read"):
        _ = resource(pool).kind


async def test_a_caller_that_gives_up_does_not_stop_the_opening_for_others(declare: Declare) -> None:
    gate = asyncio.Event()

    @resource
    async def pool() -> Pool:
        await gate.wait()
        return Pool()

    functions = declare(pool)
    first = asyncio.ensure_future(functions.call(ask, CONTEXT, {}))
    second = asyncio.ensure_future(functions.call(ask, CONTEXT, {}))
    await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert isinstance(await second, Pool)
    assert first.cancelled() or first.cancelling()


def test_two_resources_of_one_type_are_refused(declare: Declare) -> None:
    with pytest.raises(CannotLoad, match="are resources of one type"):
        declare(resource(coroutine), resource(plain)).find_filled(ask)


def test_a_resource_says_its_type() -> None:
    @resource
    def nothing():  # type: ignore[no-untyped-def]
        return Pool()

    with pytest.raises(CannotLoad, match="nothing: a resource names its type as what it returns"):
        _ = nothing.kind


def test_modules_of_others_have_no_resources_for_agents() -> None:
    assert OpenResources(list).map_by_type() == {}
