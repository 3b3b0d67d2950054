"""Only the page itself gets answers: foreign hosts, origins, sites and requests without the cookie are refused."""

import json

import pytest
from starlette.testclient import TestClient

from grande_gnn.review.guard import MAX_BODY, POLICY
from grande_gnn.review.server import build_app

PORT = 8765
ORIGIN = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def stranger(session, keys):
    """A client without the cookie."""
    return TestClient(build_app(session, PORT, keys), base_url=ORIGIN, follow_redirects=False)


PATHS = ["/", "/assets/main.js", "/thumb/0", "/full/0", "/api/state", "/api/queue?name=unsure", "/api/map"]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_without_the_cookie(stranger, path):
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "link" in answer.text


@pytest.mark.parametrize("token", ["", "wrong", "the-token2", "the-toke", "é"])
def test_a_wrong_token_gives_no_cookie(stranger, token):
    answer = stranger.get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_token_is_exchanged_for_a_strict_cookie_that_scripts_cannot_read(stranger):
    answer = stranger.get("/?token=the-token")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "the-token" not in cookie
    assert stranger.get("/").status_code == 200
    stranger.cookies.clear()
    stranger.cookies.set(f"grande_review_{PORT}", "the-cooki")
    assert stranger.get("/").status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1:1", "127.0.0.1", "", "localhost"]
)
def test_another_host_is_refused(client, host):
    assert client.get("/api/state", headers={"host": host}).status_code == 421


def test_localhost_is_this_machine(client):
    headers = {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}
    # The cookie belongs to 127.0.0.1, so the request is refused for its cookie and not for its host.
    assert client.get(f"http://localhost:{PORT}/api/state", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1", ""]
)
def test_another_origin_is_refused(client, session, origin):
    answer = client.post("/api/decide", json={"kind": "none", "rows": [0]}, headers={"origin": origin})
    assert answer.status_code == 403
    assert client.get("/api/state", headers={"origin": origin}).status_code == 403
    assert session.journal.decisions == []


def test_a_change_needs_an_origin_json_and_post(client, session):
    body = json.dumps({"kind": "none", "rows": [0]})
    del client.headers["origin"]
    assert (
        client.post("/api/decide", content=body, headers={"content-type": "application/json"}).status_code
        == 403
    )
    client.headers["origin"] = ORIGIN
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert client.post("/api/decide", content=body, headers={"content-type": kind}).status_code == 415
    assert client.put("/api/decide", json={}).status_code == 403
    assert client.delete("/api/decide").status_code == 403
    assert client.get("/api/decide").status_code == 405
    assert session.journal.decisions == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_is_refused(client, site):
    assert client.get("/thumb/0", headers={"sec-fetch-site": site}).status_code == 403
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=headers).status_code == 200
    assert client.get("/api/state", headers=headers).status_code == 403


def test_large_and_strange_bodies_are_refused(client, session):
    post = {"content-type": "application/json"}
    large = b'{"kind":"' + b"x" * MAX_BODY + b'"}'
    assert client.post("/api/decide", content=large, headers=post).status_code == 413
    untold = client.post("/api/decide", content=iter([large]), headers=post)  # its length is not told
    assert untold.status_code == 400
    assert "at most" in untold.json()["error"]
    for body in (b"", b"[]", b"nonsense", b'"text"', b"[" * 50_000, b"\xff"):
        answer = client.post("/api/decide", content=body, headers=post)
        assert answer.status_code == 400, body[:10]
        assert "JSON object" in answer.json()["error"]
    assert session.journal.decisions == []


@pytest.mark.parametrize("path", [*PATHS, "/nothing", "/thumb/999999"])
def test_every_answer_has_the_policy(client, stranger, path):
    for one in (client, stranger):
        headers = one.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "cache-control" in headers
    assert "'unsafe" not in POLICY
    assert "http" not in POLICY
