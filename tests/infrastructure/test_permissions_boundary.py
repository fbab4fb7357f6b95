"""One parameter bounds every role, those that SAM makes included."""

from __future__ import annotations

from tests.infrastructure.stack import Stack

BOUNDED = {"Fn::If": ["HasPermissionsBoundary", {"Ref": "PermissionsBoundary"}, {"Ref": "AWS::NoValue"}]}


def test_every_role_has_the_boundary_that_the_operator_names(stack: Stack) -> None:
    roles = stack.of_type("AWS::IAM::Role")
    assert {"TurnsRole", "SweeperFunctionEveryMinuteRole", "RolloutRole"} <= roles.keys()
    assert {name for name, role in roles.items() if role.get("PermissionsBoundary") != BOUNDED} == set()


def test_without_the_parameter_there_is_none(stack: Stack) -> None:
    assert stack.template["Parameters"]["PermissionsBoundary"]["Default"] == ""
    assert stack.template["Conditions"]["HasPermissionsBoundary"] == {
        "Fn::Not": [{"Fn::Equals": [{"Ref": "PermissionsBoundary"}, ""]}]
    }
