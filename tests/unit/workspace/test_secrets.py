"""The credential scanner on a corpus of its own: every shape is found, nothing harmless is.

All values are made up at run time from a fixed seed; none was ever valid.
"""

from __future__ import annotations

import random
import string
from collections import defaultdict
from pathlib import Path

import pytest

from support.secretshapes import planted
from tierline.workspace.secretfiles import secret_kind
from tierline.workspace.secretrules import SHAPES
from tierline.workspace.secrets import find, redact

RANDOM = random.Random(20260101)
LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
WORD = LETTERS + "_-"


def made(length: int, alphabet: str = LETTERS) -> str:
    """Random characters that always hold a digit and a letter."""
    return "".join(RANDOM.choice(alphabet) for _ in range(length - 2)) + "a7"


SAMPLES: dict[str, list[str]] = {
    "private-key": [
        f"-----BEGIN RSA PRIVATE KEY-----\n{made(64)}\n{made(64)}\n-----END RSA PRIVATE KEY-----",
        f'"private_key": "-----BEGIN PRIVATE KEY-----\\n{made(64)}\\n-----END PRIVATE KEY-----\\n"',
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{made(70)}\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,"
        f"{made(32, HEX)}\n\n{made(64)}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{made(64)}\n=abcd\n-----END PGP PRIVATE KEY",
    ],
    "anthropic-key": [f"sk-ant-api03-{made(93, WORD)}"],
    "openai-key": [f"sk-{made(48)}", f"sk-proj-{made(80, WORD)}", f"sk-svcacct-{made(40, WORD)}"],
    "aws-access-key": [f"AKIA{made(16, UPPER).upper()}", f"ASIA{made(16, UPPER).upper()}"],
    "github-token": [f"ghp_{made(36)}", f"ghs_{made(36)}", f"github_pat_{made(22)}_{made(59)}"],
    "gitlab-token": [f"glpat-{made(20, WORD)}", f"gldt-{made(20, WORD)}"],
    "slack-token": [f"xoxb-{made(12, '0123')[:-2]}12-{made(24)}", f"xapp-1-{made(11, UPPER)}"],
    "slack-webhook": [f"https://hooks.slack.com/services/T{made(8)}/B{made(8)}/{made(24)}"],
    "discord-webhook": [f"https://discord.com/api/webhooks/{'7' * 18}/{made(68, WORD)}"],
    "discord-token": [f"M{made(23)}.{made(6)}.{made(27, WORD)}"],
    "stripe-key": [f"sk_live_{made(24)}", f"rk_test_{made(30)}"],
    "webhook-secret": [f"whsec_{made(32)}"],
    "google-api-key": [f"AIza{made(35, WORD)}"],
    "google-oauth": [f"ya29.{made(60, WORD)}", f"GOCSPX-{made(28, WORD)}"],
    "azure-key": [f"AccountName=x;AccountKey={made(86)}==;EndpointSuffix=core"],
    "azure-sas": [f"https://x.blob.core/y?sv=1&sig={made(43)}%3D"],
    "azure-secret": [f"{made(3)}8Q~{made(34)}"],
    "aws-secret-key": [f"aws_secret_access_key = {made(40)}"],
    "npm-token": [f"npm_{made(36)}", f"//registry.example.org/:_authToken={made(30)}"],
    "pypi-token": [f"pypi-AgEIcHlwaS5vcmc{made(80, WORD)}"],
    "rubygems-key": [f"rubygems_{made(48, HEX)}"],
    "crates-token": [f"cio{made(32)}"],
    "docker-token": [f"dckr_pat_{made(27, WORD)}"],
    "sendgrid-key": [f"SG.{made(22, WORD)}.{made(43, WORD)}"],
    "twilio-key": [f"SK{made(32, HEX)}"],
    "mailgun-key": [f"key-{made(32, HEX)}"],
    "mailchimp-key": [f"{made(32, HEX)}-us12"],
    "telegram-token": [f"1234567890:AA{made(33, WORD)}"],
    "jwt": [f"eyJ{made(30)}.eyJ{made(60)}.{made(43, WORD)}"],
    "vault-token": [f"hvs.{made(90, WORD)}"],
    "terraform-token": [f"{made(14)}.atlasv1.{made(67, WORD)}"],
    "shopify-token": [f"shpat_{made(32, HEX)}"],
    "square-token": [f"sq0csp-{made(43, WORD)}"],
    "digitalocean-token": [f"dop_v1_{made(64, HEX)}"],
    "heroku-key": [f"HRKU-{made(36, WORD)}"],
    "linear-key": [f"lin_api_{made(40)}"],
    "notion-token": [f"ntn_{made(46)}", f"secret_{made(43)}"],
    "databricks-token": [f"dapi{made(32, HEX)}"],
    "huggingface-token": [f"hf_{made(34)}"],
    "replicate-token": [f"r8_{made(37)}"],
    "groq-key": [f"gsk_{made(52)}"],
    "xai-key": [f"xai-{made(80)}"],
    "perplexity-key": [f"pplx-{made(48)}"],
    "grafana-token": [f"glsa_{made(32)}_{made(8, HEX)}"],
    "newrelic-key": [f"NRAK-{made(27, UPPER)}"],
    "sentry-token": [f"sntrys_{made(80)}"],
    "postman-key": [f"PMAK-{made(24, HEX)}-{made(34, HEX)}"],
    "airtable-token": [f"pat{made(14)}.{made(64, HEX)}"],
    "doppler-token": [f"dp.pt.{made(43)}"],
    "pulumi-token": [f"pul-{made(40, HEX)}"],
    "planetscale-token": [f"pscale_tkn_{made(43, WORD)}"],
    "supabase-key": [f"sbp_{made(40, HEX)}", f"sb_secret_{made(31, WORD)}"],
    "netlify-token": [f"nfp_{made(36)}"],
    "figma-token": [f"figd_{made(40, WORD)}"],
    "atlassian-token": [f"ATATT3{made(186, WORD)}"],
    "age-key": [f"AGE-SECRET-KEY-1{made(58, UPPER).upper()}"],
    "tailscale-key": [f"tskey-auth-{made(32)}"],
    "authorization": [f"Authorization: Basic {made(40)}"],
    "bearer-token": [f'curl -H "X: Bearer {made(40)}"'],
    "url-password": [f"postgres://app:{made(12)}@db.internal/x", f"redis://:{made(16)}@cache:6379"],
    "password": [
        "password=hunter2-FAKE",
        "DB_PASSWORD=w^NiMg9aW37k5w",
        "password = 'CnHD-pQHg!3H'",
        "  password: x3rMdotbrMtT",
        '"client_secret": "vMpy62O6SQ1IEE1HSa2bB9UoK4tYnzNL"',
        'const token = "wETdIKnT30fK0skBaHmsWWda";',
        f"api_key={made(32, HEX)}",
        'passphrase := "Tr0ub4dor&3"',
        "export SECRET_KEY='p4$w0rd-of-mine'",
        "MY_TOKEN_2=zz9-plural-z-alpha-77",
    ],
}

HARMLESS = """\
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
"integrity": "sha512-8tcKrvtfiLcnMPOaLlLUQCYUCz248Nt8CmZH2UVsXxahGy/RSnJRihEhTCtkL58pboH5HRT3G53D=="
sha256:c171a1aac90b5fc89ccf4a734d08c296ea027a457f48aa482df9cb07f0f5eefb
"resolved": "https://registry.example.org/a/-/a-1.0.0.tgz#37e6a198c9f921b5c4b7c5e92003d9f44d7be2d4"
id = "550e8400-e29b-41d4-a716-446655440000"
h1:8tcKrvtfiLcnMPOaLlLUQCYUCz248Nt8CmZH2UVsXxa=
"jsonwebtoken": "^9.0.0"
password = getpass.getpass("Password: ")
password = os.environ["DB_PASSWORD"]
const token = await getToken(user);
token: str | None = None
if (password === confirmPassword) {
password: ${DB_PASSWORD}
password: {{ .Values.password }}
return f"AccessToken(token='{masked}', expires={when})"
PASSWORD=changeme
api_key: YOUR_API_KEY
api_key = "your-api-key-here"
self.token = token
token = tokens[0]
max_tokens: 4096
"token_type": "refresh_token"
def login(username, password="", token=None):
secret: !Ref DatabaseSecret
client_secret: !vault |
.sk-loading-indicator-container-wrapper-1 { color: red }
class task-runner-component-with-long-name-12345
SecretManagerServiceClient.secret_path(project, secret)
"password": "string"
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
http://user:password@localhost:8080
postgres://user:${DB_PASSWORD}@localhost/db
https://example.org:8080/@scope/pkg
git+ssh://git@github.com/x/y.git
Authorization: Bearer <token>
-----BEGIN CERTIFICATE-----
the private key must begin with -----BEGIN PRIVATE KEY----- in its first line
secretKeyRef: {name: db, key: password}
pwd=$(pwd)
access_key = settings.AWS_ACCESS_KEY_ID
passphrase: "correct horse battery staple"
credentials: 'same-origin'
secretName: my-app-tls
password: "********"
"accessKeyId": "<access key>"
Token.Keyword.Constant: "bold #005f00"
next_token = response["NextToken"]
private_key_path = "/etc/ssl/private/server.key"
token_url="https://example.org/oauth/token"
api_key=api_key1
token=token2, secret=secret2)
md5=d41d8cd98f00b204e9800998ecf8427e
etag: W/"5e-1872ae2"
password = "[redacted:password]"
the token count is 18234; tokens: 99
key: ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 user@host
""".splitlines()


DRAWN: dict[str, list[str]] = defaultdict(list)
"""Samples of the kinds that tests/support/secretshapes.py draws."""
for _, _text, _start, _end in planted():
    for _found in find(_text):
        if _start <= _found.start and _found.end == _end:
            DRAWN[_found.kind].append(_text[_start:_end])


@pytest.mark.parametrize("kind", sorted({rule.kind for rule in SHAPES} | {"password"}))
def test_every_kind_is_found_and_named(kind: str) -> None:
    """Also fails for a rule without a sample, so that each new rule brings one."""
    samples = SAMPLES.get(kind) or DRAWN[kind]
    for sample in samples:
        for text in (sample, f"x {sample} y", f"line\n{sample}\nline"):
            clean, findings = redact(text)
            assert kind in [finding.kind for finding in findings], text
            assert f"[redacted:{kind}]" in clean
            assert redact(clean) == (clean, [])


@pytest.mark.parametrize(
    "around",
    ["KEY={}", 'key("{}")', "https://x/{}", '{{"a": "b\\n{}"}}', "?t%3D{}", "<{}>", "[{}]"],
)
@pytest.mark.parametrize("kind", ["github-token", "aws-access-key", "stripe-key", "google-api-key"])
def test_credentials_are_found_wherever_a_word_may_begin(kind: str, around: str) -> None:
    sample = SAMPLES[kind][0]
    clean, _ = redact(around.format(sample))
    assert sample not in clean
    assert f"[redacted:{kind}]" in clean


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_lines_stay_as_they_are(line: str) -> None:
    assert redact(line) == (line, [])


def test_credentials_inside_a_longer_word_are_left_alone() -> None:
    for text in (f"x{SAMPLES['github-token'][0]}", f"A{SAMPLES['aws-access-key'][0]}"):
        assert find(text) == []


def test_only_the_secret_part_goes() -> None:
    clean, _ = redact("postgres://app:S3cr3t-77@db/x and password = 'hunter2-x' # note")
    assert clean == (
        "postgres://app:[redacted:url-password]@db/x and password = '[redacted:password]' # note"
    )
    pem = "-----BEGIN PRIVATE KEY-----\n" + "QUJD" * 16 + "\n-----END PRIVATE KEY-----\n"
    clean, _ = redact(pem)
    assert clean == ("-----BEGIN PRIVATE KEY-----[redacted:private-key]-----END PRIVATE KEY-----\n")


def test_assignments_can_be_left_out() -> None:
    assert find("password=hunter2-FAKE", assignments=False) == []
    assert find(SAMPLES["github-token"][0], assignments=False)


def test_letters_that_grow_when_lowered_do_not_shift_findings() -> None:
    clean, _ = redact("İİİ password=hunter2-FAKE İ")
    assert clean == "İİİ password=[redacted:password] İ"


def test_this_projects_own_sources_are_clean() -> None:
    """Precision where it matters daily: code that speaks of tokens, keys and secrets all the time.

    Sources that hold shapes on purpose (this corpus, the rules) are left out."""
    root = Path(__file__).parents[3]
    flagged = {
        str(path.relative_to(root)): [finding.kind for finding in findings]
        for folder in ("server", "vscode-client/src")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".py", ".ts", ".json", ".md") and "node_modules" not in path.parts
        if (findings := find(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert flagged == {}


@pytest.mark.parametrize(
    "path",
    [
        ".env", ".env.local", ".env.production", "sub/.env", ".envrc", "prod.env", ".ENV",
        "id_rsa", ".ssh/id_ed25519", ".ssh/work", "deploy_key.pem", "server.key", "app.p12",
        "release.keystore", "x.jks", ".npmrc", ".pypirc", ".netrc", ".git-credentials",
        ".aws/credentials", "home/.aws/config", ".docker/config.json", ".kube/config", "kubeconfig",
        "service-account.json", "gcp_service_account_prod.json", "client_secret_1.json",
        "credentials.json", "secrets.yaml", "secrets.prod.yml", "terraform.tfstate",
        "prod.auto.tfvars", ".pgpass", ".htpasswd", "passwords.kdbx", "C:\\\\x\\\\.env",
        "accessKeys.csv", ".env~", ".env.bak", ".env_prod", ".env-local", "#.env#", ".#.env",
        ".env.local.swp", "id_rsa~", ".netrc.orig", "credentials.json.old", "server.key.bak2",
    ],
)  # fmt: skip
def test_files_of_secrets_are_told_by_name(path: str) -> None:
    assert secret_kind(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example", ".env.sample", ".env.template", ".env.dist", "env.py", "environment.ts",
        "id_rsa.pub", "server.crt", "ca.pem", "public.pem", "fullchain.pem", ".ssh/known_hosts",
        ".ssh/config", "src/secrets.py", "secret_manager.go", "credentials.py", "keys.ts",
        "token.rs", "package.json", "config.json", "docs/secrets.md", "keyboard.js", "monkey.png",
        "hotkey.ts", "secret.txt", "secrets.example.yaml", ".env.example.bak", ".env_sample",
        "notes.txt~", "main.py.orig", ".environment.py", "#readme#",
    ],
)  # fmt: skip
def test_other_files_are_not(path: str) -> None:
    assert secret_kind(path) == ""
