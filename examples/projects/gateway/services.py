"""An HTTP operation and an MCP server to try the gateway with: ``python services.py [port]``."""

import sys

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse

RATES = {"CHF": 0.94, "USD": 1.17}
services = MCPServer("couriers")


@services.custom_route("/rates/{currency}", methods=["GET"])
async def rate(request: Request) -> JSONResponse:
    """Answer with the rate of a currency."""
    currency = request.path_params["currency"]
    is_known = currency in RATES
    return JSONResponse({"currency": currency, "rate": RATES.get(currency)}, status_code=200 if is_known else 404)


@services.tool()
def quote(city: str) -> str:
    """Price of a delivery."""
    return f"4.90 euros to {city}, two days"


@services.tool()
def order(city: str) -> str:
    """Order a courier."""
    return f"A courier to {city} is ordered"


if __name__ == "__main__":
    uvicorn.run(services.streamable_http_app(), port=int(sys.argv[1]) if len(sys.argv) > 1 else 8765)
