"""What the browser may ask for, and what happens to requests that no page sends."""

import io
import json
import socket
import threading
import urllib.error
import urllib.request
from dataclasses import replace

import pytest
from PIL import Image

from grande_gnn.errors import InvalidInputError
from grande_gnn.review.server import HOST, build_app, listen


@pytest.mark.parametrize(
    "path",
    ["/assets/../session.py", "/assets/%2e%2e/session.py", "/assets/..%2fsession.py", "/assets//etc/passwd",
     "/thumb/..%2f..%2fetc%2fpasswd", "/thumb/-1", "/thumb/1.5", "/thumb/photos/000.png", "/thumb/99999999999999999999",
     "/full//etc/passwd", "/picture/36", "/static/x", "/api/nothing"],
)  # fmt: skip
def test_files_are_reached_by_their_number_only(client, path):
    assert client.get(path).status_code == 404


def test_samples_without_a_picture_are_shown_by_their_name(session, keys):
    from starlette.testclient import TestClient

    session.full = replace(session.full, root=None, thumbnails=None, settings={})
    client = TestClient(
        build_app(session, 8765, keys), base_url="http://127.0.0.1:8765", follow_redirects=False
    )
    client.get("/?token=the-token")
    answer = client.get("/picture/3")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert session.files[3] in answer.text
    state = client.get("/api/state").json()
    assert (state["things"], state["has_pictures"]) == ("samples", True)


def test_pictures_are_jpeg_and_a_missing_one_is_reported(client, session):
    answer = client.get("/picture/3")
    assert answer.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(answer.content)).size == (64, 48)
    (session.full.root / session.files[5]).unlink()
    gone = client.get("/picture/5")
    assert gone.status_code == 404
    assert gone.text == "The image cannot be shown: no such file."


def test_the_page_and_its_files(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for part in ("script", "style"):
        assert f"<{part}>" not in page.text  # the policy allows none inside the page
    assert client.get("/assets/main.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/assets/review.css").headers["content-type"].startswith("text/css")


def test_a_decision_is_written_before_the_answer_and_can_be_undone(client, session, wait_for):
    row = session.queue("unsure")[0]
    answer = client.post("/api/decide", json={"kind": "label", "rows": [row], "label": "red"})
    assert answer.status_code == 200
    lines = [json.loads(line) for line in session.journal.path.read_text().splitlines()]
    assert (lines[-1]["id"], lines[-1]["files"]) == (answer.json()["id"], [session.files[row]])
    (image,) = client.get("/api/images", params={"rows": str(row)}).json()["images"]
    assert (image["label"], image["provenance"]) == ("red", "corrected")
    undone = client.post("/api/undo", json={}).json()
    assert undone["rows"] == [row]
    (image,) = client.get("/api/images", params={"rows": str(row)}).json()["images"]
    assert image["provenance"] == "predicted"
    assert client.post("/api/undo", json={}).json()["undone"] is None


@pytest.mark.parametrize(
    "body",
    [{"kind": "label", "rows": [36], "label": "red"}, {"kind": "label", "rows": [-1], "label": "red"},
     {"kind": "label", "rows": [True], "label": "red"}, {"kind": "label", "rows": ["0"], "label": "red"},
     {"kind": "label", "rows": [], "label": "red"}, {"kind": "label", "rows": [0], "label": ""},
     {"kind": "label", "rows": [0], "label": 7}, {"kind": "label", "rows": [0], "label": "a\nb"},
     {"kind": "explode", "rows": [0]}, {"kind": "start", "rows": [0]}, {"kind": 1}, {}, {"rows": {"0": 1}},
     {"kind": "rename", "old": "red", "label": "blue"}, {"kind": "merge", "old": "red", "label": "new"},
     {"kind": "rename", "old": "unknown", "label": "x"}, {"kind": "merge", "old": "red", "label": "red"}],
)  # fmt: skip
def test_a_decision_that_makes_no_sense_is_refused_in_one_sentence(client, session, body):
    answer = client.post("/api/decide", json=body)
    assert answer.status_code == 400
    assert "; got" in answer.json()["error"] or "got" in answer.json()["error"]
    assert [d for d in session.journal.decisions if d.kind != "start"] == []


@pytest.mark.parametrize("query", ["rows=36", "rows=" + ",".join(["1"] * 201), "rows=x,99"])
def test_details_of_unknown_or_too_many_images_are_refused(client, query):
    assert client.get(f"/api/images?{query}").status_code == 400


def test_names_that_are_not_unicode_reach_the_page_and_come_back(client, session, out):
    from dataclasses import replace

    odd = "class \udcff"
    with session.lock:  # as from a class folder whose name is not Unicode
        session.full = replace(
            session.full, given=[odd if label == "red" else label for label in session.full.given]
        )
        session.state = session._folded()
    state = client.get("/api/state").json()
    assert odd in [one["name"] for one in state["classes"]]
    body = json.dumps({"kind": "label", "rows": [20], "label": odd})
    answer = client.post("/api/decide", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200
    rows = client.get("/api/queue", params={"name": "class", "label": json.dumps(odd)}).json()["rows"]
    assert 20 in rows


def test_the_state_is_short_when_nothing_changed(client):
    state = client.get("/api/state").json()
    again = client.get(f"/api/state?since={state['version']}").json()
    assert set(again) == {"version", "training"}
    assert client.get("/api/state?since=-1").json()["n"] == 36
    assert client.get("/api/queue?name=nothing").status_code == 400


def test_a_port_in_use_is_one_sentence():
    with listen(0) as first:
        assert first.getsockname()[0] == HOST
        with pytest.raises(InvalidInputError, match="choose another with --port"):
            listen(first.getsockname()[1])


def test_a_real_server_bears_many_requests_at_once(session):
    """Threads send more than it takes at a time: each is answered or refused, and it answers afterwards."""
    import uvicorn

    from grande_gnn.review.guard import Keys
    from grande_gnn.review.server import build_app

    listener = listen(0)
    port = listener.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(
            build_app(session, port, Keys("t", "c")),
            log_level="critical",
            limit_concurrency=8,
            lifespan="off",
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    codes: list[int] = []

    def ask() -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/state", headers={"cookie": f"grande_review_{port}=c"}
        )
        for _ in range(10):
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    codes.append(answer.status)
            except urllib.error.HTTPError as error:
                codes.append(error.code)

    askers = [threading.Thread(target=ask) for _ in range(20)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    ask()
    server.should_exit = True
    thread.join(20)
    assert len(codes) == 210
    assert set(codes) <= {200, 503}
    assert codes[-1] == 200
    with socket.socket() as probe:
        assert probe.connect_ex((HOST, port)) != 0


@pytest.mark.slow
def test_ten_thousand_requests_at_once_are_answered_or_refused(session, serve_session):
    """Hundreds of connections at a time, most of them without the cookie; the server answers afterwards as before."""
    import asyncio

    async def ask(port: int, gate: asyncio.Semaphore) -> bytes:
        async with gate:
            try:
                reader, writer = await asyncio.open_connection(HOST, port)
                writer.write(
                    f"GET /api/state HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n".encode()
                )
                status = await asyncio.wait_for(reader.readline(), 50)
                writer.close()
            except OSError:
                return b"refused"
            return status.split(b" ")[1] if b" " in status else b"refused"

    async def flood(port: int) -> list[bytes]:
        gate = asyncio.Semaphore(400)
        return await asyncio.gather(*(ask(port, gate) for _ in range(10_000)))

    with serve_session(session) as link:
        port, token = int(link.split(":")[2].split("/")[0]), link.split("token=")[1]
        answers = asyncio.run(flood(port))
        assert len(answers) == 10_000
        assert set(answers) <= {b"403", b"503", b"refused"}
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(f"http://{HOST}:{port}/?token={token}", timeout=20) as page:
            assert page.status == 200


def test_a_request_that_still_works_when_the_server_ends_leaves_no_traceback():
    import asyncio

    from grande_gnn.review.server import _answered

    async def ended() -> int:
        go = threading.Event()
        task = asyncio.create_task(_answered(lambda: {"done": go.wait(5)}))
        await asyncio.sleep(0.05)
        task.cancel()
        status = (await task).status_code
        go.set()
        return status

    assert asyncio.run(ended()) == 503


def test_an_export_of_images_that_are_gone_is_refused_with_their_name(client, session):
    (session.full.root / session.files[5]).unlink()
    answer = client.post(
        "/api/save", json={"export": "hugging-face"}, headers={"origin": "http://127.0.0.1:8765"}
    )
    assert answer.status_code == 500
    assert session.files[5] in answer.json()["error"]
