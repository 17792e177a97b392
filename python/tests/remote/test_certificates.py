"""Servers whose certificate is not accepted: the error says why and what helps, and nothing is asked again."""

from __future__ import annotations

import http.server
import pathlib
import ssl
import subprocess
import threading

import pytest

import tarflume
from conftest import PACK, pairs
from servers import RangeHandler

CONFIG = """
[ca]
default_ca = test
[test]
dir = {root}
new_certs_dir = {root}
database = {root}/index.txt
serial = {root}/serial
default_md = sha256
policy = any
[any]
commonName = supplied
"""


def openssl(root: pathlib.Path, *words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], cwd=root, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """`ca.pem`, the authority, and `good.pem`, `expired.pem` and `other.pem` (for another host) with their keys; `self.pem`,
    which has signed itself."""
    root = tmp_path_factory.mktemp("certificates")
    (root / "config").write_text(CONFIG.format(root=root))
    (root / "index.txt").write_text("")
    (root / "serial").write_text("01\n")
    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(root, *new, "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", 3650, "-subj", "/CN=authority",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    openssl(root, *new, "-x509", "-keyout", "self.key", "-out", "self.pem", "-days", 3650, "-subj", "/CN=own authority",
            "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=DNS:localhost")
    for name, host, start, end in [("good", "localhost", "20200101000000Z", "20490101000000Z"),
                                   ("expired", "localhost", "20200101000000Z", "20210101000000Z"),
                                   ("other", "elsewhere.example", "20200101000000Z", "20490101000000Z")]:
        (root / "more").write_text(f"subjectAltName=DNS:{host}\nextendedKeyUsage=serverAuth\n")
        openssl(root, *new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(root, "ca", "-batch", "-notext", "-config", "config", "-cert", "ca.pem", "-keyfile", "ca.key", "-in",
                f"{name}.csr", "-out", f"{name}.pem", "-extfile", "more", "-startdate", start, "-enddate", end)
    return root


class Served(http.server.ThreadingHTTPServer):
    """Serves a folder with a certificate, and counts connections."""

    def __init__(self, folder: pathlib.Path, certificates: pathlib.Path, name: str) -> None:
        self.connections = 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
        super().__init__(("127.0.0.1", 0), lambda *args: RangeHandler(*args, directory=str(folder)))

    def get_request(self):
        connection, address = super().get_request()
        self.connections += 1
        # The handshake is that of the handler's thread.
        return self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, *_: object) -> None:
        """A client that refuses the certificate is what is expected."""

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.server_address[1]}"


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("shards")
    pairs(root / "photos", 3)
    tarflume.pack.build(root / "photos", out=root / "set")
    return root / "set"


@pytest.mark.parametrize(("name", "why", "remedy"), [
    ("good", "UnknownIssuer", "SSL_CERT_FILE"),
    ("self", "UnknownIssuer", "SSL_CERT_FILE"),
    ("expired", "certificate expired", "set the clock"),
    ("other", "not valid for name", "a name in the URL"),
])
def test_a_certificate_that_is_not_accepted_is_an_error_at_once(certificates, shards, tmp_path, name, why, remedy):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TARFLUME_SIDECARS": str(tmp_path)}
    if name not in ("good", "self"):
        env["SSL_CERT_FILE"] = str(certificates / "ca.pem")
    with Served(shards, certificates, name) as server:
        done = subprocess.run([PACK, "info", server.url], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done
        for words in (server.url, "the certificate of the server is not accepted", why, remedy):
            assert words in done.stderr, done.stderr
        assert server.connections == 1, "nothing is asked again"


def test_a_server_whose_authority_is_named_is_read(certificates, shards, tmp_path):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TARFLUME_SIDECARS": str(tmp_path),
           "SSL_CERT_FILE": str(certificates / "ca.pem")}
    with Served(shards, certificates, "good") as server:
        done = subprocess.run([PACK, "ls", server.url], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stdout, done


def test_python_raises_why_a_certificate_is_not_accepted(certificates, shards, tmp_path):
    with Served(shards, certificates, "self") as server:
        with pytest.raises(tarflume.errors.UsageError, match="SSL_CERT_FILE") as caught:
            tarflume.Dataset(server.url, storage={"sidecars": str(tmp_path)})
        assert "localhost" in str(caught.value) and server.connections == 1
