"""CloudFormation's functions as the local cloud resolves them."""

from typing import Any

import pytest

from baton_local.errors import TemplateProblem
from baton_local.stack.intrinsics import Intrinsics

TEMPLATE = {
    "Conditions": {
        "IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
        "IsDev": {"Fn::Not": [{"Condition": "IsProd"}]},
    },
    "Mappings": {"Sizes": {"dev": {"memory": 512}}},
}


def attribute(logical_id: str, name: str | None) -> str:
    return f"<{logical_id}{'.' + name if name else ''}>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"Ref": "Stage"}, "dev"),
        ({"Ref": "Table"}, "<Table>"),
        ({"Ref": "AWS::Region"}, "us-east-1"),
        ({"Fn::GetAtt": ["Queue", "Arn"]}, "<Queue.Arn>"),
        ({"Fn::GetAtt": "Queue.Arn"}, "<Queue.Arn>"),
        ({"Fn::Sub": "${Stage}/${Table}/${Queue.Arn}/${!kept}"}, "dev/<Table>/<Queue.Arn>/${kept}"),
        ({"Fn::Sub": ["${a}-${Stage}", {"a": {"Ref": "Table"}}]}, "<Table>-dev"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Stage"}]]}, "a-dev"),
        ({"Fn::Select": [1, {"Fn::Split": [",", "a,b"]}]}, "b"),
        ({"Fn::If": ["IsDev", "yes", "no"]}, "yes"),
        ({"Fn::And": [{"Condition": "IsDev"}, {"Condition": "IsProd"}]}, False),
        ({"Fn::Or": [{"Condition": "IsDev"}, {"Condition": "IsProd"}]}, True),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "memory"]}, 512),
        ({"Fn::Base64": "hello"}, "aGVsbG8="),
        ({"a": {"Ref": "AWS::NoValue"}, "b": [1, {"Ref": "AWS::NoValue"}]}, {"b": [1]}),
        ({"Condition": {"StringEquals": "x"}}, {"Condition": {"StringEquals": "x"}}),
    ],
)
def test_a_function_resolves(value: Any, expected: Any) -> None:
    assert Intrinsics(TEMPLATE, {"Stage": "dev"}, attribute).resolve(value) == expected


def test_an_unknown_function_is_refused_by_name() -> None:
    with pytest.raises(TemplateProblem, match="Fn::Cidr"):
        Intrinsics(TEMPLATE, {}, attribute).resolve({"Fn::Cidr": ["10.0.0.0/16", 2]})
