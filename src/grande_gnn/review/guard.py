"""Who may talk to the page's server: only the browser that was opened with its link, on this machine.

- The server listens on the loopback address, and every request must name it as its host: a foreign page whose name was
  pointed at this machine (DNS rebinding) names another host.
- The link carries a random token, which is exchanged for a cookie that scripts cannot read and other sites cannot send.
- A request that changes something must come from this page (``Origin``) and be JSON, which no HTML form can send.
- Bodies are small and must arrive in time. The content policy allows no script, style or picture from elsewhere.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grande_gnn.errors import InvalidInputError

__all__ = ["MAX_BODY", "POLICY", "Guard", "Keys", "read_json"]

MAX_BODY = 2**20
"""Bytes of the largest request, enough for the numbers of 100,000 selected images."""

BODY_SECONDS = 10.0
"""A request whose body takes longer than this to arrive is refused."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy: the page loads nothing but its own files."""

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Keys:
    """The secrets of one server: the token of its link and the value of its cookie."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))


class Guard:
    """Middleware that refuses every request that does not come from the page itself."""

    def __init__(self, app: ASGIApp, *, port: int, keys: Keys) -> None:
        self.app = app
        self.keys = keys
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self.cookie_name = f"grande_review_{port}"  # browsers share cookies between the ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer refused requests; pass the others on."""
        if scope["type"] != "http":  # no web sockets
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, _sealed(send))
        elif scope["method"] == "GET" and scope["path"] == "/" and b"token=" in scope["query_string"]:
            await self._exchange(Request(scope))(scope, receive, _sealed(send))
        elif not self._has_cookie(headers):
            text = (
                "This page opens with the link that grande review printed: copy that link into the browser."
            )
            await PlainTextResponse(text, 403)(scope, receive, _sealed(send))
        else:
            await self.app(scope, receive, _sealed(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request from a wrong host or page, or None."""
        host = headers.get("host", "")
        if host not in self.hosts:
            return PlainTextResponse("Wrong host.", 421)
        origin = headers.get("origin")
        is_reading = scope["method"] in ("GET", "HEAD")
        if origin is not None and origin != f"http://{host}":
            return PlainTextResponse("Wrong origin.", 403)
        if not is_reading and (scope["method"] != "POST" or origin is None):
            return PlainTextResponse("Only this page may change something.", 403)
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") and not _opens_page(
            scope, headers
        ):
            return PlainTextResponse("Wrong site.", 403)
        if not is_reading and headers.get("content-type", "").split(";")[0].strip() != "application/json":
            return PlainTextResponse("Requests must be JSON.", 415)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            return PlainTextResponse("The request is too large.", 413)
        return None

    def _exchange(self, request: Request) -> Response:
        """A cookie for the token of the link."""
        given = request.query_params.get("token", "")
        if not hmac.compare_digest(given.encode(), self.keys.token.encode()):
            return PlainTextResponse("This link is not valid: use the one grande review printed last.", 403)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.cookie_name, self.keys.cookie, httponly=True, samesite="strict", path="/")
        return answer

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        value = cookies[self.cookie_name].value if self.cookie_name in cookies else ""
        return hmac.compare_digest(value.encode(), self.keys.cookie.encode())


def _opens_page(scope: Scope, headers: Headers) -> bool:
    """Whether somebody follows a link to the page itself, for example from a mail with the link."""
    return scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"


def _sealed(send: Send) -> Send:
    """Add the headers that every answer has."""

    async def sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sealed


async def read_json(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request; refuses one that is too large, too slow or not a JSON object."""

    async def collect() -> bytes:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise InvalidInputError(f"a request has at most {MAX_BODY} bytes; got more")
        return bytes(body)

    try:
        content = json.loads(await asyncio.wait_for(collect(), BODY_SECONDS))
    except TimeoutError:
        raise InvalidInputError(
            "the request did not arrive in time: send it again; got a part of it"
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError("a request must be a JSON object; got something else") from None
    if not isinstance(content, dict):
        raise InvalidInputError(f"a request must be a JSON object; got a {type(content).__name__}")
    return content
