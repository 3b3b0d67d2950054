"""The page's server: what the browser may ask for, and how it is started.

Everything that waits for a disk or computes runs in threads, so that the next picture never waits for a training.
"""

from __future__ import annotations

import asyncio
import json
import socket
import webbrowser
from collections.abc import Awaitable, Callable
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError
from grande_gnn.review.auditing import audit_state, end_audit, judge, start_audit
from grande_gnn.review.guard import Guard, Keys, read_json
from grande_gnn.review.messages import changes_of, details_of, map_of, state_of
from grande_gnn.review.pictures import SIZES, Pictures
from grande_gnn.review.rewriting import write_reviewed
from grande_gnn.review.session import Session

__all__ = ["build_app", "listen", "serve"]

HOST = "127.0.0.1"
"""Loopback: nobody outside this machine can connect."""

MAX_CONNECTIONS = 128
"""Connections and requests at a time; further ones are refused until some have ended."""

MAX_DETAILS = 200
"""Images whose details one request may ask for."""

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

Answer = Callable[[Request], Awaitable[Response]]


def build_app(session: Session, port: int, keys: Keys) -> Starlette:
    """The application that shows ``session`` at ``port`` of this machine."""
    full = session.full
    names = session.files if full.things == "samples" else None
    pictures = Pictures(full.root, session.files, full.texts or names)
    routes = [
        Route("/", _asset("index.html")),
        *(Route(f"/assets/{name}", _asset(name)) for name in _asset_names()),
        *(Route(f"/{kind}/{{row:int}}", _picture(pictures, kind)) for kind in SIZES),
        Route("/api/state", _reading(lambda q: state_of(session, _number(q.get("since", "0"))))),
        Route(
            "/api/queue",
            _reading(lambda q: {"rows": session.queue(q.get("name", ""), _quoted(q.get("label", "")))}),
        ),
        Route("/api/images", _reading(lambda q: details_of(session, _rows(session, q.get("rows", ""))))),
        Route("/api/changes", _reading(lambda q: changes_of(session))),
        Route("/api/map", _reading(lambda q: map_of(session))),
        Route("/api/decide", _writing(lambda body: _decide(session, body)), methods=["POST"]),
        Route("/api/audit", _reading(lambda q: audit_state(session)), methods=["GET"]),
        Route("/api/audit", _writing(lambda body: _audit(session, body)), methods=["POST"]),
        Route("/api/undo", _writing(lambda body: _undo(session, body)), methods=["POST"]),
        Route("/api/save", _writing(lambda body: _save(session, body)), methods=["POST"]),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, port=port, keys=keys)])


# -- answers ------------------------------------------------------------------------------------------


def _asset_names() -> list[str]:
    return sorted(
        entry.name for entry in files("grande_gnn.review").joinpath("assets").iterdir() if entry.is_file()
    )


def _asset(name: str) -> Answer:
    """A file of the page, read once."""
    content = files("grande_gnn.review").joinpath("assets", name).read_bytes()
    media = _TYPES.get(Path(name).suffix, "application/octet-stream")

    async def answer(request: Request) -> Response:
        return Response(content, media_type=media)

    return answer


def _picture(pictures: Pictures, kind: str) -> Answer:
    async def answer(request: Request) -> Response:
        row = int(request.path_params["row"])
        if row >= len(pictures.files):
            return PlainTextResponse("No such picture.", 404)
        try:
            data = await run_in_threadpool(pictures.picture, row, kind)
        except FileFormatError as error:
            return PlainTextResponse(f"The image cannot be shown: {error}.", 404)
        return Response(
            data, media_type=pictures.media_type, headers={"cache-control": "private, max-age=600"}
        )

    return answer


def _reading(ask: Callable[[Any], dict[str, Any]]) -> Answer:
    async def answer(request: Request) -> Response:
        return await _answered(lambda: ask(request.query_params))

    return answer


def _writing(do: Callable[[dict[str, Any]], dict[str, Any]]) -> Answer:
    async def answer(request: Request) -> Response:
        try:
            body = await read_json(request)
        except InvalidInputError as error:
            return _Json({"error": str(error)}, 400)
        return await _answered(lambda: do(body))

    return answer


class _Json(JSONResponse):
    """JSON in ASCII, which can also carry names that are not Unicode."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")


async def _answered(ask: Callable[[], dict[str, Any]]) -> Response:
    try:
        return _Json(await run_in_threadpool(ask))
    except asyncio.CancelledError:  # the server ends during a request, such as the save when a page is left
        return _Json({"error": "the server is ending"}, 503)
    except InvalidInputError as error:
        return _Json({"error": str(error)}, 400)
    except (GrandeError, OSError) as error:  # a full disk, an image to copy that is gone
        return _Json({"error": str(error)}, 500)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0


def _quoted(text: str) -> str:
    """A class name in a query: quoted as JSON, so that it may hold anything."""
    try:
        name = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return name if isinstance(name, str) else text


def _rows(session: Session, text: str) -> list[int]:
    rows = [_number(part) for part in text.split(",") if part]
    if len(rows) > MAX_DETAILS:
        raise InvalidInputError(f"at most {MAX_DETAILS} images can be asked for at once; got {len(rows)}")
    return session.check_rows(rows)


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a text; got a {type(value).__name__}")
    return value


def _decide(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    texts = (_text(body, "label"), _text(body, "old"))
    written = session.decide(_text(body, "kind"), body.get("rows", []), *texts)
    return {"id": written.id, "version": session.version}


def _audit(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    match body.get("action"):
        case "start":
            start_audit(session)
        case "judge":
            judge(session, body.get("row"), _text(body, "label"))
        case "end":
            end_audit(session)
        case _:
            raise InvalidInputError("action must be start, judge or end; got something else")
    return audit_state(session)


def _undo(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    number = body.get("id")
    undone = session.undo(number if type(number) is int else None)
    if undone is None:
        return {"undone": None, "version": session.version}
    rows = [session.row_of[file] for file in undone.files if file in session.row_of]
    return {"undone": undone.id, "kind": undone.kind, "rows": rows[:MAX_DETAILS], "version": session.version}


def _save(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    export = _text(body, "export") or None
    write_reviewed(session, export)
    return {"saved": str(session.folder), "version": session.version}


# -- start --------------------------------------------------------------------------------------------


def listen(port: int) -> socket.socket:
    """A socket on the loopback address; ``port`` 0 takes any free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(MAX_CONNECTIONS)
    except (OSError, OverflowError) as error:
        listener.close()
        raise InvalidInputError(
            f"the page cannot use that port: choose another with --port, or none for any free one; got {port} ({error})"
        ) from None
    return listener


def serve(
    session: Session, *, port: int = 0, open_browser: bool = True, tell: Callable[[str], object] | None = None
) -> None:
    """Show the page until the process is interrupted or terminated; then this returns."""
    with closing(listen(port)) as listener:
        port, keys = listener.getsockname()[1], Keys()
        link = f"http://{HOST}:{port}/?token={keys.token}"
        config = uvicorn.Config(
            build_app(session, port, keys), log_level="warning", access_log=False, server_header=False,
            limit_concurrency=MAX_CONNECTIONS, timeout_keep_alive=10, timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=32 * 1024, lifespan="off",
        )  # fmt: skip
        if tell is not None:
            tell(link)
        if open_browser:
            webbrowser.open(link)
        server = uvicorn.Server(config)
        try:
            server.run(sockets=[listener])
        except BaseException:
            if not server.should_exit:
                raise
            # Ctrl-C or SIGTERM: uvicorn has shut down and raises the signal again, which has had its effect by now.
        finally:
            session.close()
