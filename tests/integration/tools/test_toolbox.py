"""The common behaviour of all tools: circuit breakers, secrets as AWS keeps them, the contract of the port."""

from __future__ import annotations

import asyncio
import json

import boto3
import pytest
from moto import mock_aws

from baton.adapters.aws.secrets import ParameterStore, SecretsManager
from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.tools.header_values import HeaderValues
from baton.composition.app import build
from baton.domain.errors import InternalError, NotFound
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.secret import SecretReference
from baton.ports.agents.tools import ToolFailed
from baton_testing.fakes.agents.tools import FakeTools
from tests.contracts.tools import ToolsContract, ToolsUnderTest
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT
from tests.harness.harness import Harness as Talk
from tests.integration.tools.harness import ADA, Harness, agent_with, context, http, mcp
from tests.unit.adapters.egress.serving import serving
from tests.unit.identity.signing import Monotonic


async def test_an_endpoint_that_keeps_failing_is_left_alone_for_a_while(harness: Harness, service: int) -> None:
    time = Monotonic()
    harness.guards = CircuitBreakers(failures=2, monotonic=time)
    agent = agent_with(http(service, "/status/500"), http(service, "/fine", name="other"))

    for _ in range(2):
        with pytest.raises(ToolFailed, match="HTTP 500"):
            await harness.call(agent, "fetch")
    with pytest.raises(ToolFailed, match="not called for now"):
        await harness.call(agent, "other")
    time.pass_(30)
    assert (await harness.call(agent, "other")).text


async def test_refusals_and_local_mistakes_do_not_open_a_circuit(harness: Harness, service: int) -> None:
    harness.guards = CircuitBreakers(failures=1)
    agent = agent_with(http(service, "/status/404"))
    for _ in range(3):
        with pytest.raises(ToolFailed, match="HTTP 404"):
            await harness.call(agent, "fetch")


async def test_an_endpoint_that_hangs_opens_its_circuit(harness: Harness) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    harness.guards = CircuitBreakers(failures=1)
    harness.listing_seconds = 0.1
    async with serving(silent) as port:
        agent = agent_with(mcp(port), http(port, timeout_seconds=0.1))
        [first] = (await harness.toolbox.offered(agent, ADA)).missing
        assert (await harness.toolbox.offered(agent, ADA)).missing == (first,)
        harness.time.pass_(30)
        await harness.toolbox.offered(agent, ADA)
        await harness.toolbox.wait_for_refreshes()
        [then] = (await harness.toolbox.offered(agent, ADA)).missing
        with pytest.raises(ToolFailed, match=r"within 0\.1 seconds|in time"):
            await harness.call(agent, "fetch")
    assert "within 0.1 seconds" in first.reason
    assert "not called for now" in then.reason


async def test_secrets_and_parameters_come_from_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        manager, ssm = boto3.client("secretsmanager"), boto3.client("ssm")
        manager.create_secret(Name="baton/dev/tools/crm", SecretString=json.dumps({"token": "t-123456", "n": 1}))
        ssm.put_parameter(Name="/baton/dev/tools/org", Value="org-7", Type="SecureString")
        values = HeaderValues(SecretsManager(lambda: manager), ParameterStore(lambda: ssm), "dev")

        headers = await values.resolve(
            {
                "Authorization": SecretReference(secret="baton/{stage}/tools/crm", key="token", format="Bearer {}"),
                "X-Org": SecretReference(parameter="/baton/{stage}/tools/org"),
                "Accept": "text/plain",
            }
        )

        assert headers == {"Authorization": "Bearer t-123456", "X-Org": "org-7", "Accept": "text/plain"}
        assert values.redact('{"a": "Bearer t-123456 org-7"}') == '{"a": "Bearer [secret] [secret]"}'
        for reference in (
            SecretReference(secret="baton/dev/tools/crm", key="absent"),
            SecretReference(secret="baton/dev/tools/crm", key="n"),
            SecretReference(secret="baton/dev/tools/none"),
            SecretReference(parameter="/baton/dev/none"),
        ):
            with pytest.raises(NotFound) as failure:
                await values.resolve({"X": reference})
            assert "t-123456" not in str(failure.value.detail)


async def test_a_parameter_that_may_not_be_read_is_an_internal_error() -> None:
    from botocore.exceptions import ClientError

    class Denied:
        def get_parameter(self, **request: object) -> None:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetParameter")

    with pytest.raises(InternalError, match="AccessDeniedException"):
        await asyncio.to_thread(ParameterStore(Denied).get, "/x")


class TestFake(ToolsContract):
    @pytest.fixture
    def tools(self) -> ToolsUnderTest:
        async def hang() -> str:
            await asyncio.sleep(3600)
            return ""

        async def greet(name: str) -> str:
            return f"Hi {name}"

        fake = FakeTools()
        fake.add("greet", greet, parameters={"type": "object", "properties": {"name": {"type": "string"}}})
        fake.add("hang", hang, timeout_seconds=0.2)
        fake.add("guarded", greet, required_permissions=("crm:read",), requires_approval=True)
        fake.lose("mcp:gone", "It cannot be reached.")
        return ToolsUnderTest(fake, agent_with(), context)


class TestToolbox(ToolsContract):
    @pytest.fixture
    def tools(self, harness: Harness) -> ToolsUnderTest:
        def python(name: str, function: str, **more: object) -> dict[str, object]:
            entry = f"tests.integration.tools.functions:{function}"
            return {"type": "python", "name": name, "description": "Does it.", "entry_point": entry, **more}

        agent = agent_with(
            python("greet", "greet"),
            python("hang", "sleeps", timeout_seconds=0.2),
            python("guarded", "greet", required_permissions=["crm:read"], requires_approval=True),
            mcp(9, "gone"),
        )
        return ToolsUnderTest(harness.toolbox, agent, context)


async def test_a_tool_that_hangs_in_turns_opens_the_circuit_of_its_endpoint(harness: Harness) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    harness.guards = CircuitBreakers(failures=2)
    async with serving(silent) as port:
        tools = agent_with(http(port, timeout_seconds=0.2)).tools
        talk = Talk(assistant=ASSISTANT.model_copy(update={"tools": tools}))
        talk.turns = build(talk.with_ports(tools=harness.toolbox)).turns
        talk.model.script(*[Answer.calling(ToolCall(f"c{number}", "fetch", "{}")) for number in range(3)], "Sorry.")
        answer = await talk.say()
    results = [event.body["content"] for event in answer.events if event.type == "TOOL_CALL_RESULT"]
    assert ["not called for now" in result for result in results] == [False, False, True]
