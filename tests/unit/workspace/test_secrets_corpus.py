"""The credential scanner's precision and recall, on files such as public repositories have.

Issue 10, item 5. Nothing here is or was a credential: all values are drawn at test time from a
fixed seed, to the shapes that their issuers publish, and planted into configuration, code, logs and
prose. The other half are look-alikes: hashes, UUIDs, pictures as base64, lock files, public keys,
placeholders, minified code. The samples of ``test_secrets.py`` follow the rules; these follow the
files, so a rule that is too narrow for its surroundings loses recall here.
"""

# ruff: noqa: E501 - tables of samples

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator

import pytest
from attrs import frozen

from tierline.workspace.secrets import find

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "_-"
BASE32 = string.ascii_uppercase + "234567"
SEED = 20260701
COPIES = 6

Make = Callable[[random.Random], str]


def some(draw: random.Random, length: int, alphabet: str = ALNUM) -> str:
    """Random characters with at least one digit and one letter, as issuers' tokens have."""
    text = "".join(draw.choice(alphabet) for _ in range(length - 2))
    return text + draw.choice("abcdef") + draw.choice("234567")


KEYS: dict[str, Make] = {
    "aws access key id": lambda r: "AKIA" + "".join(r.choice(BASE32) for _ in range(16)),
    "aws temporary key id": lambda r: "ASIA" + "".join(r.choice(BASE32) for _ in range(16)),
    "github classic": lambda r: "ghp_" + some(r, 36),
    "github oauth": lambda r: "gho_" + some(r, 36),
    "github fine-grained": lambda r: f"github_pat_{some(r, 22)}_{some(r, 59)}",
    "gitlab": lambda r: "glpat-" + some(r, 20, URLSAFE),
    "slack bot": lambda r: f"xoxb-{some(r, 12, '0123456789')}-{some(r, 13, '0123456789')}-{some(r, 24)}",
    "stripe live": lambda r: "sk_live_" + some(r, 24),
    "stripe restricted": lambda r: "rk_live_" + some(r, 24),
    "google api": lambda r: "AIza" + some(r, 35, URLSAFE),
    "google oauth secret": lambda r: "GOCSPX-" + some(r, 28, URLSAFE),
    "openai project": lambda r: "sk-proj-" + some(r, 74, URLSAFE),
    "openai legacy": lambda r: "sk-" + some(r, 20) + "T3BlbkFJ" + some(r, 20),
    "anthropic": lambda r: "sk-ant-api03-" + some(r, 93, URLSAFE) + "AA",
    "npm": lambda r: "npm_" + some(r, 36),
    "pypi": lambda r: "pypi-AgEIcHlwaS5vcmcC" + some(r, 150, URLSAFE),
    "sendgrid": lambda r: f"SG.{some(r, 22, URLSAFE)}.{some(r, 43, URLSAFE)}",
    "hugging face": lambda r: "hf_" + some(r, 34, string.ascii_letters),
    "digitalocean": lambda r: "dop_v1_" + some(r, 64, HEX),
    "telegram": lambda r: f"{r.randrange(10**9, 10**10)}:AA{some(r, 33, URLSAFE)}",
    "jwt": lambda r: _jwt(r),  # noqa: PLW0108 - it is defined below
    "vault": lambda r: "hvs." + some(r, 95, URLSAFE),
    "databricks": lambda r: "dapi" + some(r, 32, HEX),
    "age": lambda r: "AGE-SECRET-KEY-1" + some(r, 58, string.ascii_uppercase).upper(),
    "azure storage": lambda r: (
        "DefaultEndpointsProtocol=https;AccountName=store;AccountKey="
        + base64.b64encode(r.randbytes(64)).decode()
    ),
    "rsa key": lambda r: pem(r, "RSA PRIVATE KEY"),
    "pkcs8 key": lambda r: pem(r, "PRIVATE KEY"),
    "openssh key": lambda r: pem(r, "OPENSSH PRIVATE KEY"),
    "database url": lambda r: f"postgresql://app:{some(r, 18)}@db.internal:5432/app",
    "mongo url": lambda r: f"mongodb+srv://svc:{some(r, 20)}@cluster0.mongodb.net/x",
}  # fmt: skip
"""Keys by what they look like, wherever they stand."""

NAMED: dict[str, Make] = {
    "aws secret": lambda r: f"aws_secret_access_key = {some(r, 40, ALNUM + '/+')}",
    "dotenv password": lambda r: f"DB_PASSWORD={some(r, 16)}",
    "dotenv quoted": lambda r: f'SECRET_KEY="{some(r, 50)}"',
    "yaml password": lambda r: f"  password: {some(r, 14)}",
    "json secret": lambda r: f'  "client_secret": "{some(r, 32)}",',
    "python": lambda r: f"API_KEY = '{some(r, 32, HEX)}'",
    "typescript": lambda r: f'const authToken = "{some(r, 40)}";',
    "java properties": lambda r: f"spring.datasource.password={some(r, 12)}",
    "header": lambda r: f'curl -H "Authorization: Bearer {some(r, 40)}" https://api.example.org',
    "basic": lambda r: "Authorization: Basic " + base64.b64encode(r.randbytes(30)).decode(),
    "special characters": lambda r: f"password = '{some(r, 8)}!{some(r, 3)}$'",
}
"""Values that only their names give away."""

AROUND = [
    "{}",
    "export KEY={}\n",
    'key = "{}"  # production\n',
    "    client: '{}',\n",
    '{{"token": "{}", "expires": 3600}}',
    "2026-01-04T10:00:00Z WARN rejected {} from 10.0.0.7\n",
    "Please use {} until Friday.\n",
    "https://api.example.org/v1/items?key={}&page=2",
    "- name: KEY\n  value: {}\n",
]


def _jwt(draw: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head = part({"alg": "HS256", "typ": "JWT"})
    body = part({"sub": str(draw.randrange(10**9)), "iat": draw.randrange(10**9)})
    return f"{head}.{body}.{some(draw, 43, URLSAFE)}"


def pem(draw: random.Random, kind: str) -> str:
    text = base64.b64encode(draw.randbytes(600)).decode()
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


LOOKALIKES: dict[str, Make] = {
    "git commit": lambda r: f"commit {some(r, 40, HEX)}\nAuthor: A <a@example.org>\n",
    "git log": lambda r: "\n".join(f"{some(r, 7, HEX)} Fix token handling" for _ in range(9)),
    "git index line": lambda r: f"index {some(r, 7, HEX)}..{some(r, 7, HEX)} 100644",
    "submodule": lambda r: f" {some(r, 40, HEX)} vendor/lib (v1.2.3-4-g{some(r, 7, HEX)})",
    "sha256sums": lambda r: f"{hashlib.sha256(r.randbytes(9)).hexdigest()}  secret-tools-1.0.tar.gz",
    "md5": lambda r: f"md5={hashlib.md5(r.randbytes(9)).hexdigest()}",
    "docker digest": lambda r: f"FROM python@sha256:{some(r, 64, HEX)}",
    "uuid": lambda r: f'"id": "{uuid.UUID(int=r.getrandbits(128))}"',
    "uuid named key": lambda r: f'"idempotencyKey": "{uuid.UUID(int=r.getrandbits(128))}"',
    "npm lock": lambda r: (
        '"node_modules/jsonwebtoken": {"version": "9.0.2", "resolved": '
        '"https://registry.example.org/jsonwebtoken/-/jsonwebtoken-9.0.2.tgz", "integrity": "sha512-'
        + base64.b64encode(r.randbytes(64)).decode() + '"}'
    ),
    "yarn lock": lambda r: (
        f'resolved "https://registry.example.org/t/-/t-1.0.0.tgz#{some(r, 40, HEX)}"\n'
        f"  integrity sha1-{base64.b64encode(r.randbytes(20)).decode()}"
    ),
    "pip hashes": lambda r: f"requests==2.32.0 \\\n    --hash=sha256:{some(r, 64, HEX)}",
    "poetry lock": lambda r: (
        f'{{file = "tokenlib-2.0-py3.whl", hash = "sha256:{some(r, 64, HEX)}"}}'
    ),
    "cargo lock": lambda r: f'name = "secrecy"\nchecksum = "{some(r, 64, HEX)}"',
    "go sum": lambda r: (
        f"golang.org/x/oauth2 v0.1.0 h1:{base64.b64encode(r.randbytes(32)).decode()}"
    ),
    "nix": lambda r: f'sha256 = "{some(r, 52, "0123456789abcdfghijklmnpqrsvwxyz")}";',
    "png": lambda r: (
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg" + base64.b64encode(r.randbytes(900)).decode()
    ),
    "font": lambda r: (
        "src: url(data:font/woff2;base64,d09GMg" + base64.b64encode(r.randbytes(600)).decode() + ")"
    ),
    "svg path": lambda r: f'<path d="M{r.random():.4f} {r.random():.4f}c-.2.3-.4.5-.7.6z"/>',
    "notebook output": lambda r: (
        '"image/png": "iVBORw0KGgo' + base64.b64encode(r.randbytes(500)).decode() + '\\n"'
    ),
    "source map": lambda r: '"mappings": "' + ";".join(f"AAA{r.choice('ACEG')},SAAS" for _ in range(60)) + '"',
    "bundle name": lambda r: f"assets/index-{some(r, 8)}.js",
    "minified": lambda r: "!function(t,e){var n=t.token,r=e.key;n&&r?i(n,r):o(e)}(a,b);" * 4,
    "css modules": lambda r: f".tokenList__{some(r, 5)} {{ color: #{some(r, 6, HEX)} }}",
    "ssh public": lambda r: "ssh-rsa " + base64.b64encode(r.randbytes(279)).decode() + " me@host",
    "ed25519 public": lambda r: (
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + some(r, 43) + " me@host"
    ),
    "certificate": lambda r: pem(r, "CERTIFICATE"),
    "public key": lambda r: pem(r, "PUBLIC KEY"),
    "pgp signature": lambda r: pem(r, "PGP SIGNATURE"),
    "fingerprint": lambda r: f"SHA256:{base64.b64encode(r.randbytes(32)).decode().rstrip('=')}",
    "s3 etag": lambda r: f'ETag: "{some(r, 32, HEX)}-12"',
    "trace": lambda r: f"traceparent: 00-{some(r, 32, HEX)}-{some(r, 16, HEX)}-01",
    "object id": lambda r: f"ObjectId('{some(r, 24, HEX)}')",
    "ethereum address": lambda r: f"0x{some(r, 40, HEX)}",
    "ulid": lambda r: f"01{some(r, 24, '0123456789ABCDEFGHJKMNPQRSTVWXYZ').upper()}",
    "stripe object": lambda r: f'"customer": "cus_{some(r, 14)}", "price": "price_{some(r, 24)}"',
    "google analytics": lambda r: f"gtag('config', 'G-{some(r, 10).upper()}')",
    "placeholder": lambda r: r.choice([
        "API_KEY=your-api-key-here", "password: changeme", "token: <your token>",
        "DB_PASSWORD=${DB_PASSWORD}", 'apiKey: "{{ .Values.apiKey }}"', "SECRET_KEY=xxxxxxxxxxxx",
        "AWS_SECRET_ACCESS_KEY=<secret>", 'password = ""', "PASSWORD=********",
        "client_secret: !vault |", "token = \"\"", "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    ]),
    "code about secrets": lambda r: r.choice([
        "token = request.headers.get('Authorization')", "def check_password(password, hash):",
        "password = getpass()", "secret = settings.SECRET_KEY", "this.token = await refresh(token)",
        "if (apiKey === undefined) throw new Error('no key')", "const secret = crypto.randomBytes(32)",
        "token: string | null;", "api_key: Optional[str] = None", "password=self.password,",
        "tokens = tokenizer.encode(text)", "max_tokens=4096, token_count=182",
        "private readonly tokenService: TokenService,", "let secretName = \"db-credentials\"",
        "NEXT_PUBLIC_KEY_PREFIX = 'pk'", "passwordField.sendKeys(user.password)",
        "PASSWORD_MIN_LENGTH = 12", "password_hash = bcrypt.hashpw(pw, salt)",
        "public static final String TOKEN_HEADER = \"X-Auth-Token\";",
    ]),
    "prose": lambda r: r.choice([
        "The secret: be patient, and measure twice.", "Passwords: never reuse them.",
        "Your token expires after 3600 seconds.", "Key: Ctrl+Shift+P opens the palette.",
        "password policy: at least 12 characters", "Token bucket: 100 requests a minute",
    ]),
    "urls": lambda r: r.choice([
        "https://user@example.org/repo.git", "http://localhost:8080/auth/token?grant=code",
        "git@github.com:owner/secret-santa.git", "postgres://localhost/app",
        "redis://cache:6379/0", "https://example.org/@scope/pkg@1.2.3",
    ]),
    "paths": lambda r: r.choice([
        "secret_key_path: /run/secrets/key.pem", "tokenFile = ~/.config/app/token",
        "-v ./secrets:/run/secrets:ro", "keystore=conf/dev.jks", "ssl_key: certs/server.key",
    ]),
}  # fmt: skip


@frozen
class Score:
    """Counts over a corpus."""

    found: int
    planted: int
    wrong: list[str]
    missed: list[str]

    @property
    def recall(self) -> float:
        return self.found / self.planted

    @property
    def precision(self) -> float:
        return self.found / (self.found + len(self.wrong))


def planted() -> Iterator[tuple[str, str, int, int]]:
    """(kind, text, start and end of the credential) in different surroundings."""
    draw = random.Random(SEED)
    for kind, make in KEYS.items():
        for around in AROUND:
            value = make(draw)
            before, after = around.format("\0").split("\0")
            text = before + value + after
            yield kind, text, len(before), len(before) + len(value)
    for kind, make in NAMED.items():
        for _ in range(len(AROUND)):
            value = make(draw)
            text = f"# settings\n{value}\n# end\n"
            yield kind, text, 11, 11 + len(value)


def harmless() -> Iterator[tuple[str, str]]:
    draw = random.Random(SEED + 1)
    for kind, make in LOOKALIKES.items():
        copies = 40 if kind in ("placeholder", "code about secrets") else COPIES
        for text in dict.fromkeys(make(draw) for _ in range(copies)):
            yield kind, text


def measure() -> Score:
    """A planted credential counts as found if most of its random part is covered; anything that is
    found in a look-alike, or outside of what was planted, counts as wrong."""
    found = total = 0
    wrong, missed = [], []
    for kind, text, start, end in planted():
        total += 1
        hits = find(text)
        inside = [hit for hit in hits if hit.start < end and hit.end > start]
        if inside:
            found += 1
        else:
            missed.append(f"{kind}: {text[:60]!r}")
        wrong += [
            f"{kind} outside: {text[h.start : h.end][:40]!r}" for h in hits if h not in inside
        ]
    for kind, text in harmless():
        wrong += [f"{kind}: {text[h.start : h.end][:60]!r} as {h.kind}" for h in find(text)]
    return Score(found, total, wrong, missed)


def test_precision_and_recall(capsys: pytest.CaptureFixture[str]) -> None:
    score = measure()
    with capsys.disabled():
        print(
            f"\nsecrets scanner: {score.planted} planted, {sum(1 for _ in harmless())} look-alikes; "
            f"precision {score.precision:.3f}, recall {score.recall:.3f}"
        )
    assert score.recall >= 0.99, score.missed
    assert score.precision >= 0.99, score.wrong


def test_no_shape_of_a_key_is_missed_altogether() -> None:
    """A shape may not hide behind a good average."""
    seen = {kind for kind, text, start, end in planted()
            if any(h.start < end and h.end > start for h in find(text))}  # fmt: skip
    assert seen == KEYS.keys() | NAMED.keys()


def test_nothing_of_a_key_is_left_over() -> None:
    """What is masked is the whole random part: no half of a key stays in the text."""
    for kind, text, start, end in planted():
        if kind not in KEYS or "url" in kind or "azure" in kind:
            continue
        covered = sum(max(0, min(hit.end, end) - max(hit.start, start)) for hit in find(text))
        if covered:
            assert covered >= (end - start) * 0.9, (kind, text)


def test_the_measure_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scanner that finds nothing, and one that takes each word for a key, both do badly."""
    monkeypatch.setitem(globals(), "find", lambda _text: [])
    assert measure().recall == 0
    from tierline.workspace.secrets import Finding

    monkeypatch.setitem(globals(), "find", lambda text: [Finding("x", 0, len(text))])
    assert measure().precision < 0.7
