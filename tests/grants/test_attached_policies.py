"""Policies that separate resources attach to roles are judged like those that the roles have."""

from __future__ import annotations

from tests.grants.declared import roles, searching


def test_every_policy_of_the_template_belongs_to_a_role_that_is_judged() -> None:
    nova = "bedrock/amazon.nova-micro-v1:0"
    declared = searching(SourceBucket="sources", ChatModel=nova, EmbeddingModel=nova)
    judged = roles(declared)
    kinds = ("AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::ManagedPolicy")
    attached = {name: policy for kind in kinds for name, policy in declared.of_type(kind)}
    assert {"SearchPolicy", "SearchAdministrationPolicy", "SourceBucketPolicy"} <= set(attached)
    for name, policy in attached.items():
        for role in policy.get("Roles") or [policy["RoleName"]]:
            assert policy["PolicyDocument"] in judged[role], f"{name} is not judged"
