"""The AWS account that this machine stands for."""

REGION = "us-east-1"
ACCOUNT = "000000000000"
ACCESS_KEY_ID = SECRET_ACCESS_KEY = "local"  # noqa: S105  no engine checks it
