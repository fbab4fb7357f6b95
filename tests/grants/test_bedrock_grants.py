"""The parameters that name models on Amazon Bedrock grant these models to the functions that ask them, and no other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from baton_local.account import ACCOUNT, REGION
from baton_local.roles.policies import Policies
from baton_local.roles.requests import Request
from tests.grants.declared import roles, searching, template
from tests.grants.simulator import Asked, decide

pytestmark = pytest.mark.nightly

STREAM, INVOKE, GUARD = "bedrock:InvokeModelWithResponseStream", "bedrock:InvokeModel", "bedrock:ApplyGuardrail"
CHATTING = ["TurnsRole", "StreamsRole", "HttpRole", "ClosingRole", "LearningRole"]
EMBEDDING = ["SearchRole", "IngestionRole"]
OTHERS = ["SocketsRole", "SweeperRole", "ForgettingRole", "NotificationsRole", "DeadTurnsRole", "AuthorizerRole"]
CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "amazon.nova-micro-v1:0"
TITAN = "amazon.titan-embed-text-v2:0"
APPLICATION = f"arn:aws:bedrock:{REGION}:{ACCOUNT}:application-inference-profile/ab12cd34ef56"
GUARDRAIL = f"arn:aws:bedrock:{REGION}:{ACCOUNT}:guardrail/gr1abc"


def model(name: str, region: str = REGION) -> str:
    return f"arn:aws:bedrock:{region}::foundation-model/{name}"


def profile(name: str, region: str = REGION) -> str:
    return f"arn:aws:bedrock:{region}:{ACCOUNT}:inference-profile/{name}"


def check_allowed(
    parameters: dict[str, str],
    requests: Sequence[tuple[str, str]],
    roles_of: Sequence[str] = ("TurnsRole",),
    through: str = "",
) -> list[bool]:
    """Return whether each request, an action and a resource, is allowed; ``through`` is the profile that routes it."""
    context = {"bedrock:InferenceProfileArn": through} if through else {}
    questions = [Asked("", role, action, resource, context) for role in roles_of for action, resource in requests]
    decisions = decide(questions, roles(searching(**parameters)))
    assert {decision.result for decision in decisions} <= {"Allowed", "ImplicitlyDenied"}
    return [decision.result == "Allowed" for decision in decisions]


def test_without_a_model_there_nothing_is_granted() -> None:
    assert not any(check_allowed({}, [(STREAM, model(CLAUDE)), (INVOKE, model(TITAN))], CHATTING + EMBEDDING))


def test_a_profile_is_granted_in_every_region_that_it_routes_to() -> None:
    through = profile(f"eu.{CLAUDE}")
    requests = [(STREAM, through), (INVOKE, through), (STREAM, model(CLAUDE)), (STREAM, model(CLAUDE, "eu-north-1"))]
    assert all(check_allowed({"ChatModel": f"bedrock/eu.{CLAUDE}"}, requests, CHATTING, through=through))


def test_a_global_profile_is_granted_the_model_without_a_region() -> None:
    granted = Policies(roles(template(ChatModel=f"bedrock/global.{CLAUDE}")))
    for resource in (profile(f"global.{CLAUDE}"), model(CLAUDE), model(CLAUDE, "")):
        assert granted.allow("TurnsRole", Request(STREAM, resource))


def test_what_a_profile_routes_to_is_granted_through_it_only() -> None:
    parameters = {"ChatModel": f"bedrock/eu.{CLAUDE}"}
    elsewhere = [(STREAM, model(CLAUDE)), (STREAM, model(CLAUDE, "eu-north-1")), (STREAM, profile(f"us.{CLAUDE}"))]
    assert not any(check_allowed(parameters, elsewhere))
    assert not any(check_allowed(parameters, elsewhere, through=profile(f"us.{CLAUDE}")))
    assert not any(check_allowed(parameters, elsewhere, through=APPLICATION))


def test_a_foundation_model_is_granted_in_its_region_and_no_other() -> None:
    parameters = {"ChatModel": f"bedrock/{NOVA}"}
    requests = [(STREAM, model(NOVA)), (STREAM, model(NOVA, "eu-north-1")), (STREAM, model("amazon.nova-lite-v1:0"))]
    assert check_allowed(parameters, requests) == [True, False, False]
    abroad = parameters | {"BedrockRegion": "eu-north-1"}
    assert check_allowed(abroad, requests) == [False, True, False]


def test_each_parameter_grants_its_model() -> None:
    parameters = {
        "ChatModel": f"bedrock/eu.{CLAUDE}",
        "LightModel": f"bedrock/{NOVA}",
        "EmbeddingModel": f"bedrock/{TITAN}",
    }
    requests = [(STREAM, profile(f"eu.{CLAUDE}")), (STREAM, model(NOVA)), (INVOKE, model(TITAN))]
    assert all(check_allowed(parameters, requests, CHATTING))
    assert check_allowed(parameters, requests, EMBEDDING) == [False, False, True] * 2
    assert not any(check_allowed(parameters, requests, OTHERS))


def test_functions_that_embed_reach_the_embedding_model_through_its_profile() -> None:
    through = profile("eu.cohere.embed-v4:0")
    requests = [(INVOKE, through), (INVOKE, model("cohere.embed-v4:0", "eu-north-1"))]
    assert all(check_allowed({"EmbeddingModel": "bedrock/eu.cohere.embed-v4:0"}, requests, EMBEDDING, through=through))


def test_listed_models_are_granted_with_what_they_route_to() -> None:
    lite = profile("eu.amazon.nova-lite-v1:0")
    parameters = {"BedrockModelArns": f"{APPLICATION},{lite},{model(NOVA)}", "ChatModel": f"bedrock/{APPLICATION}"}
    assert all(check_allowed(parameters, [(STREAM, APPLICATION), (STREAM, lite), (STREAM, model(NOVA))], CHATTING))
    assert all(check_allowed(parameters, [(STREAM, model(CLAUDE, "eu-north-1"))], through=APPLICATION))
    assert not any(check_allowed(parameters, [(STREAM, model(CLAUDE)), (STREAM, profile(f"eu.{CLAUDE}"))]))
    assert not any(check_allowed(parameters, [(STREAM, model(CLAUDE))], through=profile(f"eu.{CLAUDE}")))


def test_requests_belong_to_the_accounts_default_project() -> None:
    granted = Policies(roles(template(ChatModel=f"bedrock/{NOVA}")))
    project = f"arn:aws:bedrock:{REGION}:{ACCOUNT}:project/"
    assert granted.allow("TurnsRole", Request(STREAM, f"{project}default"))
    assert not granted.allow("TurnsRole", Request(STREAM, f"{project}proj_1"))


@pytest.mark.parametrize("guardrail", ["gr1abc", GUARDRAIL])
def test_the_guardrail_is_granted_and_no_other(guardrail: str) -> None:
    granted = Policies(roles(template(ChatModel=f"bedrock/{NOVA}", BedrockGuardrail=guardrail)))
    questions = [Request(GUARD, resource) for resource in (GUARDRAIL, f"{GUARDRAIL}x")]
    assert [granted.allow("TurnsRole", question) for question in questions] == [True, False]
    none = Policies(roles(template(ChatModel=f"bedrock/{NOVA}")))
    assert not any(none.allow("TurnsRole", question) for question in questions)


@pytest.mark.parametrize("name", ["gpt-6-sol", "openai/gpt-oss-120b", "groq/bedrock/x", "bedrock-x"])
def test_a_model_elsewhere_grants_nothing_here(name: str) -> None:
    declared = template(ChatModel=name)
    assert not [name for name, policy in declared.of_type("AWS::IAM::Policy") if "bedrock" in policy["PolicyName"]]


@pytest.mark.parametrize(
    ("parameters", "model_name"),
    [
        ({}, "text-embedding-3-small"),
        ({"ChatModel": f"bedrock/{NOVA}"}, ""),
        ({"ChatModel": "groq/llama-4", "ModelBaseUrl": ""}, ""),
        ({"ChatModel": f"bedrock/{NOVA}", "EmbeddingModel": f"bedrock/{TITAN}"}, f"bedrock/{TITAN}"),
        ({"EmbeddingModel": ""}, ""),
    ],
)
def test_the_embedding_model_is_one_that_needs_no_further_key(parameters: dict[str, str], model_name: str) -> None:
    functions = dict(template(**parameters).of_type("AWS::Lambda::Function"))
    variables = functions["IngestionFunction"]["Environment"]["Variables"]
    assert variables["BATON_EMBEDDING_MODEL"] == model_name


def test_the_guardrail_has_its_version_in_the_setting() -> None:
    functions = dict(template(BedrockGuardrail="gr1abc", BedrockGuardrailVersion="3").of_type("AWS::Lambda::Function"))
    assert functions["TurnsFunction"]["Environment"]["Variables"]["BATON_BEDROCK_GUARDRAIL"] == "gr1abc:3"
