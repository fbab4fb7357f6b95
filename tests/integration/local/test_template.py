"""Facts that the local cloud reads out of a template."""

from pathlib import Path

import pytest

from baton_local.errors import TemplateProblem
from baton_local.stack.apis import RestRoute
from baton_local.stack.declarations import Stack, read_stack
from baton_local.stack.template import Endpoints, Template

HERE = Endpoints(
    gateway="http://127.0.0.1:8080",
    sockets="ws://127.0.0.1:8080/ws",
    connections="http://127.0.0.1:8080/local/gateway",
    queues="http://127.0.0.1:9324",
)


@pytest.fixture
def stack(stand_in_template: Path) -> Stack:
    return read_stack(stand_in_template, {"Stage": "local"}, HERE)


def test_variables_name_local_resources(stack: Stack) -> None:
    assert stack.functions["SocketsFunction"].variables == {
        "BATON_TABLE": "baton-Table",
        "BATON_BUCKET": "baton-bucket",
        "BATON_STAGE": "local",
        "BATON_TURNS_QUEUE_URL": "http://127.0.0.1:9324/000000000000/baton-TurnsQueue.fifo",
        "POWERTOOLS_SERVICE_NAME": "sockets",
    }


def test_the_address_of_the_websocket_api_becomes_the_local_management_api(stack: Stack) -> None:
    variables = stack.functions["TurnsFunction"].variables
    assert variables["BATON_CONNECTIONS_URL"] == "http://127.0.0.1:8080/local/gateway"


def test_functions_keep_their_folder_handler_and_timeout(stack: Stack, stand_in_template: Path) -> None:
    dead = stack.functions["DeadTurnsFunction"]
    assert dead.folder == stand_in_template.parent / "functions/turns"
    assert (dead.handler, dead.timeout) == ("dead.handler", 30)
    assert stack.functions["TurnsFunction"].timeout == 900


def test_routes_say_which_function_they_reach_and_whether_it_streams(stack: Stack) -> None:
    assert set(map(repr, stack.rest.routes)) == {
        repr(RestRoute("POST", "/v1/runs", "StreamsFunction", streams=True)),
        repr(RestRoute("GET", "/v1/threads/{thread_id}/events", "StreamsFunction", streams=True)),
        repr(RestRoute("ANY", "/{proxy+}", "HttpFunction")),
    }


def test_the_socket_api_has_routes_and_an_authorizer_behind_aliases(stack: Stack) -> None:
    assert dict(stack.sockets.routes) == dict.fromkeys(("$connect", "$disconnect", "$default"), "SocketsFunction")
    assert stack.sockets.authorizer == "AuthorizerFunction"
    assert stack.sockets.identity_sources == ("route.request.header.Sec-WebSocket-Protocol",)


def test_queues_know_their_dead_letters_and_their_consumers(stack: Stack) -> None:
    queues = {queue.name: queue for queue in stack.queues}
    assert queues["baton-TurnsQueue.fifo"].dead_letters_to == queues["baton-DeadTurnsQueue.fifo"].arn
    assert queues["baton-TurnsQueue.fifo"].receives_before_that == 2
    assert {(consumer.function, consumer.queue_name, consumer.takes_dead_letters) for consumer in stack.consumers} == {
        ("TurnsFunction", "baton-TurnsQueue.fifo", False),
        ("DeadTurnsFunction", "baton-DeadTurnsQueue.fifo", True),
    }


def test_conditions_decide_by_parameters(stand_in_template: Path) -> None:
    protected = read_stack(stand_in_template, {"Protect": "true"}, HERE)
    assert protected.table["DeletionProtectionEnabled"] is True
    assert protected.rest.stage == "dev"


def test_a_rest_api_without_a_stage_is_a_problem(stand_in_template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_type = Template.of_type
    kind = "AWS::ApiGateway::Stage"
    monkeypatch.setattr(Template, "of_type", lambda self, name: iter(()) if name == kind else of_type(self, name))
    with pytest.raises(TemplateProblem, match="one AWS::ApiGateway::Stage in the template and found 0"):
        read_stack(stand_in_template, {"Stage": "local"}, HERE)


def test_a_missing_template_is_a_problem_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(TemplateProblem, match=r"nowhere\.yaml: No such file"):
        read_stack(tmp_path / "nowhere.yaml", {}, HERE)


def test_a_template_that_does_not_translate_says_why(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    path.write_text("Transform: AWS::Serverless-2016-10-31\nResources: {F: {Type: AWS::Serverless::Function}}")
    with pytest.raises(TemplateProblem, match=r"does not translate: .*F"):
        read_stack(path, {}, HERE)


def test_the_product_template_reads(product_stack: Stack) -> None:
    assert product_stack.table["KeySchema"][0]["AttributeName"] == "PK"
    assert {route.function for route in product_stack.rest.routes if route.streams} == {"StreamsFunction"}
    assert {consumer.function for consumer in product_stack.consumers} == {
        "TurnsFunction",
        "DeadTurnsFunction",
        "NotificationsFunction",
        "SweeperFunction",
    }
