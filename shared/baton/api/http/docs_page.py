"""The page /v1/docs, which shows the OpenAPI document with Swagger UI."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

import aws_lambda_powertools
from fastapi import APIRouter, HTTPException
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, HTMLResponse

SWAGGER_UI = Path(aws_lambda_powertools.__file__).parent / "event_handler" / "openapi" / "swagger_ui"
FILES = {"swagger-ui.js": "swagger-ui-bundle.min.js", "swagger-ui.css": "swagger-ui.min.css"}
"""The files of the page by name. They are the copy of Swagger UI in Powertools, so that no other host is needed."""
POLICY = (
    "default-src 'none'; script-src 'self' {script}; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page may only run Swagger UI and the script that starts it, and only call this API."""

router = APIRouter(prefix="/v1/docs", include_in_schema=False)


@router.get("")
async def show_docs() -> HTMLResponse:
    """Return the page with the API's reference."""
    page, policy = _make_page()
    return HTMLResponse(page, headers={"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"})


@router.get("/{name}")
async def send_docs_file(name: str) -> FileResponse:
    """Return a file of the page."""
    if name not in FILES:
        raise HTTPException(404)
    return FileResponse(SWAGGER_UI / FILES[name])


@cache
def _make_page() -> tuple[str, str]:
    """Return the page, and its security policy with the digest of its script."""
    # Addresses are relative, because the application does not know the stage below which API Gateway serves it.
    page = bytes(
        get_swagger_ui_html(
            openapi_url="openapi.json",
            title="Baton API",
            swagger_js_url="docs/swagger-ui.js",
            swagger_css_url="docs/swagger-ui.css",
            swagger_favicon_url="data:,",
        ).body
    ).decode()
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return page, POLICY.format(script=f"'sha256-{digest}'")
