"""A stand-in for Slack: its Web API, which refuses what Slack refuses."""

from __future__ import annotations

import itertools
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tests.slack_channel.message_checks import Refused, check_message

Json = dict[str, Any]

TEAM, BOT, TOKEN, SIGNING_SECRET = "T0ACME", "U0BOT", "xoxb-very-secret-token", "slack-signing-secret"
TS = re.compile(r"^\d{10}\.\d{6}$")
METHODS = {
    "auth.test": set(),
    "chat.postMessage": {"channel", "text"},
    "chat.postEphemeral": {"channel", "user", "text"},
    "chat.update": {"channel", "ts", "text"},
    "reactions.add": {"channel", "timestamp", "name"},
    "users.info": {"user"},
    "conversations.history": {"channel"},
    "conversations.replies": {"channel", "ts"},
    "files.info": {"file"},
    "files.getUploadURLExternal": {"filename", "length"},
    "files.completeUploadExternal": {"files"},
}
"""The methods that the app may call, with their required arguments."""


@dataclass
class SlackStandIn:
    """A workspace. ``messages`` has the posted messages, by channel and ts."""

    channels: set[str] = field(default_factory=lambda: {"C0DESK", "C0APPROVE", "C0TALK", "D0ADA"})
    members: dict[str, Json] = field(default_factory=dict)
    messages: dict[tuple[str, str], Json] = field(default_factory=dict)
    whispers: list[Json] = field(default_factory=list)
    reactions: set[tuple[str, str, str]] = field(default_factory=set)
    files: dict[str, bytes] = field(default_factory=dict)
    """Files of users, by name."""
    described: dict[str, list[Json]] = field(default_factory=dict)
    """The next answers of ``files.info`` about a file of a user, by id."""
    faults: list[int | None] = field(default_factory=list)
    """The statuses of the next downloads or uploads of bytes; None: the connection ends halfway."""
    tokens_of_downloads: list[str] = field(default_factory=list)
    refuses: dict[str, str] = field(default_factory=dict)
    """Errors that methods answer until they are removed."""
    shared: list[Json] = field(default_factory=list)
    """Files that the app has shared."""
    refusals: list[tuple[str, int]] = field(default_factory=list)
    """Methods that are refused with 429 next, and the seconds of ``Retry-After``."""
    loses_answers: list[str] = field(default_factory=list)
    """Methods whose next call is carried out and answered by 500."""
    errors: list[str] = field(default_factory=list)
    """Errors that the API has answered."""
    url: str = ""
    _last: int = 0
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _uploads: dict[str, Json] = field(default_factory=dict)

    def add_member(self, user: str, name: str, **fields: Any) -> None:
        """Add a member of the workspace."""
        profile = {
            "display_name": name,
            "email": f"{name.lower()}@acme.example",
            "image_72": "https://a.example/72.png",
        }
        self.members[user] = {
            "id": user,
            "team_id": TEAM,
            "is_email_confirmed": True,
            "tz": "Europe/Vienna",
            "locale": "de-AT",
            "profile": profile,
            **fields,
        }

    @property
    def app(self) -> Starlette:
        """The Web API."""
        return Starlette(
            routes=[
                Route("/api/{method}", self._call, methods=["POST", "GET"]),
                Route("/upload/{name}", self._receive, methods=["POST"]),
                Route("/download/{name}", self._give),
                Route("/plain/{name}", self._give_plainly),
            ]
        )

    def next_ts(self) -> str:
        """Return the ts of a new message."""
        self._last = max(self._last + 1, time.time_ns() // 1_000)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06}"

    def roots(self, channel: str) -> list[Json]:
        """Return the messages of a channel that are in no thread."""
        return [
            message for (where, _), message in self.messages.items() if where == channel and not message["thread_ts"]
        ]

    def replies(self, channel: str, ts: str) -> list[Json]:
        """Return the messages of the app in a thread."""
        return [message for (at, _), message in self.messages.items() if at == channel and message["thread_ts"] == ts]

    async def _call(self, request: Request) -> Response:
        method = request.path_params["method"]
        arguments: Json = {}
        if request.headers.get("content-type", "").startswith("application/json"):
            arguments = await request.json()
        else:
            async with request.form() as form:
                arguments = {name: _decode(value) for name, value in [*request.query_params.items(), *form.items()]}
        limited = next((refusal for refusal in self.refusals if refusal[0] == method), None)
        if limited is not None:
            self.refusals.remove(limited)
            body = {"ok": False, "error": "ratelimited"}
            return JSONResponse(body, 429, headers={"Retry-After": str(limited[1])})
        try:
            if request.headers.get("authorization") != f"Bearer {TOKEN}":
                raise Refused("invalid_auth")
            answer = self._carry_out(method, {name: value for name, value in arguments.items() if value is not None})
        except Refused as refusal:
            self.errors.append(f"{method}: {refusal}")
            return JSONResponse({"ok": False, "error": str(refusal).partition(":")[0]})
        if method in self.loses_answers:
            self.loses_answers.remove(method)
            return PlainTextResponse("lost", 500)
        return JSONResponse({"ok": True, **answer})

    def _carry_out(self, method: str, arguments: Json) -> Json:
        if method not in METHODS:
            raise Refused("unknown_method")
        if method in self.refuses:
            raise Refused(self.refuses[method])
        if missing := METHODS[method] - arguments.keys():
            raise Refused(f"invalid_arguments: {missing}")
        if "channel" in arguments and arguments["channel"] not in self.channels:
            raise Refused("channel_not_found")
        for name in ("ts", "thread_ts", "timestamp"):
            if name in arguments and not (isinstance(arguments[name], str) and TS.match(arguments[name])):
                raise Refused(f"invalid_{name}")
        if method.startswith("chat."):
            check_message(arguments)
        handler = getattr(self, "_" + re.sub(r"\W|(?<=[a-z])(?=[A-Z])", "_", method).lower())
        answer: Json = handler(arguments)
        return answer

    def _auth_test(self, arguments: Json) -> Json:
        return {"team_id": TEAM, "user_id": BOT}

    def _chat_post_message(self, arguments: Json) -> Json:
        ts = self.next_ts()
        self.messages[arguments["channel"], ts] = {"thread_ts": None, **arguments, "ts": ts}
        return {"ts": ts, "channel": arguments["channel"]}

    def _chat_post_ephemeral(self, arguments: Json) -> Json:
        self.whispers.append(arguments)
        return {"message_ts": self.next_ts()}

    def _chat_update(self, arguments: Json) -> Json:
        if (arguments["channel"], arguments["ts"]) not in self.messages:
            raise Refused("message_not_found")
        self.messages[arguments["channel"], arguments["ts"]].update(arguments)
        return {"ts": arguments["ts"], "channel": arguments["channel"]}

    def _reactions_add(self, arguments: Json) -> Json:
        reaction = (arguments["channel"], arguments["timestamp"], arguments["name"])
        if reaction in self.reactions:
            raise Refused("already_reacted")
        self.reactions.add(reaction)
        return {}

    def _users_info(self, arguments: Json) -> Json:
        if arguments["user"] not in self.members:
            raise Refused("user_not_found")
        member = self.members[arguments["user"]]
        has_locale = str(arguments.get("include_locale")).lower() in ("1", "true")
        return {"user": {name: value for name, value in member.items() if has_locale or name != "locale"}}

    def _conversations_history(self, arguments: Json) -> Json:
        return {"messages": self.roots(arguments["channel"])}

    def _conversations_replies(self, arguments: Json) -> Json:
        begin, limit = int(arguments.get("cursor") or 0), int(arguments.get("limit") or 1_000)
        replies = self.replies(arguments["channel"], arguments["ts"])
        cursor = str(begin + limit) if begin + limit < len(replies) else ""
        return {"messages": replies[begin : begin + limit], "response_metadata": {"next_cursor": cursor}}

    def _files_info(self, arguments: Json) -> Json:
        if answers := self.described.get(arguments["file"]):
            return {"file": answers.pop(0)}
        if arguments["file"] not in self._uploads:
            raise Refused("file_not_found")
        places: Json = {file["channel"]: [{}] for file in self.shared if file["id"] == arguments["file"]}
        return {"file": {"id": arguments["file"], "shares": {"private": places}}}

    def _files_get_upload_urlexternal(self, arguments: Json) -> Json:
        if int(arguments["length"]) < 1:
            raise Refused("invalid_arguments: length")
        number = f"F{next(self._numbers)}"
        self._uploads[number] = {"name": arguments["filename"], "length": int(arguments["length"])}
        return {"file_id": number, "upload_url": f"{self.url}/upload/{number}"}

    def _files_complete_upload_external(self, arguments: Json) -> Json:
        files = arguments["files"]
        for file in files:
            upload = self._uploads[file["id"]]
            if len(upload.get("data", b"")) != upload["length"]:
                raise Refused("file_not_found")
            location = {"channel": arguments.get("channel_id"), "thread_ts": arguments.get("thread_ts")}
            self.shared.append({"id": file["id"], **location, **upload})
        return {"files": files}

    async def _receive(self, request: Request) -> Response:
        if "authorization" in request.headers:
            return Response(status_code=400)
        if self.faults:
            return Response(status_code=self.faults.pop(0) or 500)
        self._uploads[request.path_params["name"]]["data"] = await request.body()
        return PlainTextResponse("OK")

    async def _give(self, request: Request) -> Response:
        self.tokens_of_downloads.append(request.headers.get("authorization", ""))
        if self.faults:
            status = self.faults.pop(0)
            cut = {"Content-Length": "1000"} if status is None else None
            return Response(b"half", status or 200, headers=cut, media_type="application/octet-stream")
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return Response(status_code=302, headers={"Location": "/"})
        return Response(self.files[request.path_params["name"]], media_type="application/octet-stream")

    async def _give_plainly(self, request: Request) -> Response:
        """A file of Baton's, at an address that has its own signature."""
        data = self.files.get(request.path_params["name"])
        return Response(status_code=404) if data is None else Response(data)


def _decode(value: Any) -> Any:
    """Return an argument of a form; lists and objects are sent as JSON."""
    return json.loads(value) if isinstance(value, str) and value[:1] in ("[", "{") else value
