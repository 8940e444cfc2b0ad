"""A way to be a service under its own name: a proxy on loopback that leads every ``CONNECT`` to one
port of this machine, and certificates for any name.

``with tunnel(server.port) as proxy`` and the environment ``own_name(proxy, certificate)`` make
``https://api.anthropic.com`` the loopback server for the process that gets it, and for nobody else.
"""

from __future__ import annotations

import datetime
import ipaddress
import selectors
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificate(folder: Path, name: str) -> Path:
    """A certificate with its key for a host name or an address, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    try:
        host: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        host = x509.DNSName(name)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([host]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    encoding = serialization.Encoding.PEM
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(made.public_bytes(encoding) + key.private_bytes(encoding, form, plain))
    return path


def serving(path: Path) -> ssl.SSLContext:
    """What a server needs to show a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def own_name(proxy: str, trusted: Path) -> dict[str, str]:
    """The environment of a process for which the tunnel's end has every name."""
    named = dict.fromkeys(("https_proxy", "HTTPS_PROXY"), proxy)
    return {"no_proxy": "", "NO_PROXY": "", "SSL_CERT_FILE": str(trusted), **named}


@contextmanager
def tunnel(port: int) -> Iterator[str]:
    """A proxy whose every connection ends at ``port`` on this machine. Gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=_serve, args=(door, port), daemon=True).start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
        with suppress(OSError):
            door.shutdown(socket.SHUT_RDWR)  # the thread's accept ends


def _serve(door: socket.socket, port: int) -> None:
    while True:
        try:
            client, _ = door.accept()
        except OSError:
            return
        threading.Thread(target=_carry, args=(client, port), daemon=True).start()


def _carry(client: socket.socket, port: int) -> None:
    """One connection: the request to connect, then bytes both ways."""
    with client, socket.create_connection(("127.0.0.1", port)) as server, suppress(OSError):
        asked = b""
        while b"\r\n\r\n" not in asked:
            piece = client.recv(4096)
            if not piece:
                return
            asked += piece
        if not asked.startswith(b"CONNECT "):
            client.sendall(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n")
            return
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in ready.select():
                    assert isinstance(key.fileobj, socket.socket)
                    piece = key.fileobj.recv(65536)
                    if not piece:
                        return
                    key.data.sendall(piece)
