import http.client
import json
import re

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from geomndp.play import Server
from geomndp.play.front_end import EXPORT, IMPORT, MODULES, module, read_static
from geomndp.play.protocol import MAX_MESSAGE

DEFINED = re.compile(r"^(?:export )?(?:const|class|(?:async )?function) (\w+)", re.MULTILINE)


def get(server, path, method="GET", host=None, **headers):
    """Status, headers and text of a response."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    host = f"127.0.0.1:{server.port}" if host is None else host
    connection.request(method, path, headers={"Host": host, **headers})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.headers.items()}, text


def socket(server, token=None, origin="http://127.0.0.1:{port}"):
    token = server.token if token is None else token
    origin = None if origin is None else origin.format(port=server.port)
    address = f"ws://127.0.0.1:{server.port}/{token}/socket"
    return connect(address, origin=origin, max_size=None, proxy=None)


def test_page_and_module_are_served(server):
    assert server.address == f"http://127.0.0.1:{server.port}/{server.token}/"
    assert len(server.token) >= 40
    for name in ("", "page.js", "playground.js", "style.css"):
        status, headers, text = get(server, f"/{server.token}/{name}")
        assert status == 200 and text
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert (
            headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
        )


OTHER_PATHS = ("/{token}x/", "/{short}/", "/x/style.css", "/{token}", "//{token}/")
OTHER_HOSTS = ("evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", "")


@pytest.mark.parametrize("path", OTHER_PATHS)
def test_another_token_is_refused(path, server):
    path = path.format(token=server.token, short=server.token[:-1])
    status, _, text = get(server, path)
    assert status in (403, 404, 307) and "<main" not in text
    assert server.token not in text


def test_the_open_page_gives_nothing_away(server):
    for path in ("/", "/gate.js"):
        status, _, text = get(server, path)
        assert status == 200 and server.token not in text


@pytest.mark.parametrize("host", OTHER_HOSTS)
def test_other_hosts_are_refused(host, server):
    status, _, _ = get(server, f"/{server.token}/", host=host.format(port=server.port))
    assert status in (400, 403)


def test_other_origins_are_refused(server):
    assert get(server, f"/{server.token}/", Origin="http://evil.example")[0] == 403
    assert get(server, f"/{server.token}/", Origin=f"http://127.0.0.1:{server.port}")[0] == 200
    assert get(server, f"/{server.token}/", method="POST")[0] == 405


@pytest.mark.parametrize(
    ("token", "origin"),
    [
        ("wrong", "http://127.0.0.1:{port}"),
        (None, "http://evil.example"),
        (None, "http://127.0.0.1:1"),
        (None, "null"),
        (None, None),
    ],
)
def test_sockets_are_checked(token, origin, server):
    with pytest.raises(InvalidStatus), socket(server, token, origin):
        pass


def test_a_socket_answers(server):
    with socket(server) as wire:
        assert json.loads(wire.recv(timeout=30))["type"] == "hello"
        wire.send("{")
        assert json.loads(wire.recv(timeout=30))["sentence"].startswith(
            "expected a message in JSON"
        )
        wire.send(json.dumps({"type": "ask", "number": 1, "state": {"samples": 8, "targets": 12}}))
        types = [json.loads(wire.recv(timeout=60))["type"] for _ in range(2)]
        assert types == ["computing", "picture"]


def test_two_sockets_have_answers_of_their_own(server):
    with socket(server) as one, socket(server) as two:
        for number, wire in ((1, one), (2, two)):
            state = {"samples": 8, "targets": 12, "seed": number}
            wire.send(json.dumps({"type": "ask", "number": number, "state": state}))
        for number, wire in ((1, one), (2, two)):
            answers = [json.loads(wire.recv(timeout=60)) for _ in range(3)]
            assert [each.get("number") for each in answers] == [None, number, number]


def test_oversized_and_binary_messages_end_the_connection(server):
    for message in ("x" * (MAX_MESSAGE + 1), b"\x00\x01"):
        with socket(server) as wire:
            wire.recv(timeout=30)
            with pytest.raises(ConnectionClosed):
                wire.send(message)
                wire.recv(timeout=30)
    with socket(server) as wire:  # others go on
        assert json.loads(wire.recv(timeout=30))["type"] == "hello"


def test_a_port_that_is_taken_is_refused(server, exact_session):
    with pytest.raises(ValueError, match="expected a port that is free"):
        Server(exact_session, server.port, warm=False)
    with pytest.raises(ValueError, match="expected a port from 0"):
        Server(exact_session, 70000, warm=False)


def test_the_module_joins_its_files():
    """Every import is of a file joined before, and no name stands twice."""
    joined, names = module(), []
    for i, name in enumerate(MODULES):
        text = read_static(name)
        for line in IMPORT.findall(text):
            source = line.split('"')[1].removeprefix("./")
            assert source in MODULES[:i], (name, source)
            imported = line[line.index("{") + 1 : line.index("}")].replace(" ", "").split(",")
            body = IMPORT.sub("", text)
            assert all(each in body for each in imported), (name, imported)
        names += DEFINED.findall(text)
    assert len(names) == len(set(names))
    assert not IMPORT.search(joined) and not EXPORT.search(joined)
    assert "http://" not in joined.replace("http://www.w3.org/2000/svg", "") and len(joined) < 1e6
