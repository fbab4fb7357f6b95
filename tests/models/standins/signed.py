"""Check the signature of a request to AWS by signing it once more."""

from __future__ import annotations

import hashlib
import re

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from starlette.requests import Request

from tests.models.standins.journal import Refusal

ACCESS_KEY, SECRET_KEY = "AKIASTANDIN", "stand-in-secret"
EXPIRED_TOKEN = "expired"
"""A session token that is refused."""
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([a-z0-9-]+)/([\w-]+)/aws4_request, "
    r"SignedHeaders=([^,]+), Signature=(\w+)"
)


def aws_error(kind: str, message: str, status: int = 400, **headers: str) -> Refusal:
    """Return an error as AWS words it."""
    return Refusal(status, {"message": message}, {"x-amzn-errortype": kind, **headers})


def find_signature_problem(request: Request, body: bytes, keys: dict[str, str]) -> Refusal | None:
    """Return why a request's signature is refused; ``keys`` are the secret keys by access key."""
    if request.headers.get("authorization", "").startswith("Bearer "):
        return None  # a Bedrock API key
    match = _AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
    if match is None:
        return aws_error("MissingAuthenticationTokenException", "Missing Authentication Token", 403)
    access_key, _, _, service, names, signature = match.groups()
    if request.headers.get("x-amz-security-token") == EXPIRED_TOKEN:
        return aws_error("ExpiredTokenException", "The security token included in the request is expired", 403)
    if access_key not in keys:
        return aws_error("UnrecognizedClientException", "The security token included in the request is invalid.", 403)
    if service != "bedrock":
        message = f"Credential should be scoped to correct service: 'bedrock', not {service}."
        return aws_error("InvalidSignatureException", message, 403)
    hashed = request.headers.get("x-amz-content-sha256", hashlib.sha256(body).hexdigest())
    if hashed != hashlib.sha256(body).hexdigest() or signature != _signature(request, body, keys, match):
        message = "The request signature we calculated does not match the signature you provided."
        return aws_error("InvalidSignatureException", message, 403)
    if "host" not in names.split(";") or "x-amz-date" not in names.split(";"):
        return aws_error("IncompleteSignatureException", "The headers host and x-amz-date must be signed.", 403)
    return None


def _signature(request: Request, body: bytes, keys: dict[str, str], value: re.Match[str]) -> str:
    access_key, _, region, service, names, _ = value.groups()
    headers = {name: request.headers.get(name, "") for name in names.split(";")}
    # The path as it came, with its %3A: the signer encodes it once more, as the service does.
    path = request.scope["raw_path"].decode()
    url = f"{request.url.scheme}://{request.headers['host']}{path}"
    signed = AWSRequest("POST", url, headers=headers, data=body)
    signed.context["timestamp"] = request.headers.get("x-amz-date", "")
    signer = SigV4Auth(Credentials(access_key, keys[access_key]), service, region)
    text = signer.string_to_sign(signed, signer.canonical_request(signed))
    return str(signer.signature(text, signed))
