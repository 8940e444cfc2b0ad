"""Shapes of keys and of what looks like them, for the table in docs/security.md.

Each line is a provider's documented format as a template; values are drawn from a fixed seed, so
none is or was a credential. ``{a20}`` stands for 20 letters and digits, ``u`` for URL-safe ones, ``h``
and ``H`` for hexadecimal, ``d`` digits, ``l`` lower-case letters and digits, ``A`` upper-case ones,
``c`` letters, ``b`` base64 of so many bytes, ``k`` base32, ``U`` a UUID, ``J`` base64 of a JSON object.
"""

# ruff: noqa: E501 - tables

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from collections.abc import Iterator

SEED = 20261129
_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "u": string.ascii_letters + string.digits + "_-",
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": string.digits,
    "l": string.ascii_lowercase + string.digits,
    "A": string.ascii_uppercase + string.digits,
    "c": string.ascii_letters,
    "k": string.ascii_uppercase + "234567",
}
_SLOT = re.compile(r"\{([auhHdlAcbkUJ])(\d*)\}")

KEYS = {
    "1Password service account": "ops_eyJ{a250}",
    "Adobe client secret": "p8e-{u32}",
    "Airtable": "pat{a14}.{h64}",
    "Alibaba Cloud": "LTAI{a20}",
    "Amazon MWS": "amzn.mws.{U}",
    "Anthropic": "sk-ant-api03-{u93}AA",
    "Anthropic admin": "sk-ant-admin01-{u93}AA",
    "Artifactory API key": "AKCp{a69}",
    "Artifactory reference token": "cmVmdGtuO{a55}",
    "Asana": "2/{d16}/{d16}:{h32}",
    "Atlassian": "ATATT3xFfGF0{u170}={H8}",
    "AWS access key": "AKIA{k16}",
    "AWS Bedrock": "ABSK{b96}",
    "Azure AD client secret": "{a3}8Q~{a34}",
    "Azure container registry": "{a42}+ACR{A6}",
    "Azure DevOps": "{a76}AZDO{A4}",
    "Azure OpenAI": "{a52}JQQJ99{a18}AAABAC{a4}",
    "Azure search": "{a42}AzSeA{a5}",
    "Azure storage": "AccountKey={b64}",
    "Bitbucket app password": "ATBB{a32}",
    "Brevo": "xkeysib-{h64}-{a16}",
    "Brevo SMTP": "xsmtpsib-{h64}-{a16}",
    "Buildkite": "bkua_{h40}",
    "Cerebras": "csk-{l48}",
    "CircleCI": "CCIPAT_{a22}_{h40}",
    "ClickUp": "pk_{d8}_{A32}",
    "Clojars": "CLOJARS_{h60}",
    "Cloudflare origin CA": "v1.0-{h24}-{h146}",
    "Contentful": "CFPAT-{u43}",
    "crates.io": "cio{a32}",
    "Databricks": "dapi{h32}",
    "Defined Networking": "dnkey-{l26}-{l52}",
    "Deno Deploy": "ddp_{a36}",
    "DigitalOcean": "dop_v1_{h64}",
    "DigitalOcean refresh": "dor_v1_{h64}",
    "Discord bot": "MT{a22}.{a6}.{u38}",
    "Discord webhook": "https://discord.com/api/webhooks/{d18}/{u68}",
    "Docker Hub": "dckr_pat_{u27}",
    "Docker organisation": "dckr_oat_{u32}",
    "Doppler": "dp.pt.{a43}",
    "Doppler service": "dp.st.dev.{a40}",
    "Dropbox": "sl.{u140}",
    "Duffel": "duffel_live_{u43}",
    "Dynatrace": "dt0c01.{k24}.{k64}",
    "EasyPost": "EZAK{a54}",
    "ElevenLabs": "sk_{h48}",
    "Facebook": "EAAM{a150}",
    "Figma": "figd_{u40}",
    "Firebase messaging": "AAAA{u7}:APA91b{u134}",
    "Firecrawl": "fc-{h32}",
    "Fireworks": "fw_{a24}",
    "Flutterwave": "FLWSECK-{h32}-X",
    "Fly.io": "FlyV1 fm2_{b200}",
    "Frame.io": "fio-u-{u64}",
    "GitHub app": "ghs_{a36}",
    "GitHub fine-grained": "github_pat_{a22}_{a59}",
    "GitHub refresh": "ghr_{a76}",
    "GitHub user to server": "ghu_{a36}",
    "GitLab CI job": "glcbt-64_{u20}",
    "GitLab deploy": "gldt-{u20}",
    "GitLab feature flags": "glffct-{u20}",
    "GitLab routable": "glpat-{u27}.01.{l9}",
    "GitLab runner": "glrt-{u20}",
    "GitLab runner registration": "GR1348941{u20}",
    "GitLab SCIM": "glsoat-{u20}",
    "GoCardless": "live_{u40}",
    "Google API": "AIza{u35}",
    "Google OAuth access": "ya29.{u120}",
    "Google OAuth refresh": "1//0{u60}",
    "Google OAuth secret": "GOCSPX-{u28}",
    "Grafana cloud": "glc_{b60}",
    "Grafana service account": "glsa_{a32}_{h8}",
    "Groq": "gsk_{a52}",
    "Heroku": "HRKU-AA{u58}",
    "HubSpot": "pat-na1-{U}",
    "Hugging Face": "hf_{c34}",
    "Infracost": "ico-{a32}",
    "Jina": "jina_{a60}",
    "JWT": "{J}.{J}.{u43}",
    "LangSmith": "lsv2_pt_{h32}_{h10}",
    "Langfuse": "sk-lf-{U}",
    "LaunchDarkly": "sdk-{U}",
    "LaunchDarkly API": "api-{U}",
    "Linear": "lin_api_{a40}",
    "Lob": "live_{h35}",
    "Mailchimp": "{h32}-us12",
    "Mailgun": "key-{h32}",
    "Mapbox secret": "sk.eyJ1{a80}.{u22}",
    "MaxMind": "{a6}_{a29}_mmk",
    "Neon": "napi_{l64}",
    "Netlify": "nfp_{a36}",
    "New Relic": "NRAK-{A27}",
    "New Relic licence": "{h36}NRAL",
    "Notion": "ntn_{d11}{a35}",
    "npm": "npm_{a36}",
    "NuGet": "oy2{l43}",
    "NVIDIA": "nvapi-{u64}",
    "Octopus Deploy": "API-{A26}",
    "OpenAI project": "sk-proj-{u74}T3BlbkFJ{u74}",
    "OpenAI service account": "sk-svcacct-{u74}T3BlbkFJ{u74}",
    "OpenRouter": "sk-or-v1-{h64}",
    "OpenShift": "sha256~{u43}",
    "DeepSeek": "sk-{h32}",
    "Paystack": "sk_live_{h40}",
    "Perplexity": "pplx-{a48}",
    "Pinecone": "pcsk_{a6}_{a63}",
    "Plaid": "access-production-{U}",
    "PlanetScale": "pscale_tkn_{u43}",
    "PlanetScale password": "pscale_pw_{u43}",
    "PostHog": "phx_{a43}",
    "Postman": "PMAK-{h24}-{h34}",
    "Prefect": "pnu_{a36}",
    "Private key": "-----BEGIN EC PRIVATE KEY-----\n{b120}\n-----END EC PRIVATE KEY-----",
    "Pulumi": "pul-{h40}",
    "PyPI": "pypi-AgEIcHlwaS5vcmc{u150}",
    "TestPyPI": "pypi-AgENdGVzdC5weXBpLm9yZw{u150}",
    "ReadMe": "rdme_{l70}",
    "Render": "rnd_{a32}",
    "Replicate": "r8_{a37}",
    "Resend": "re_{a8}_{a24}",
    "RubyGems": "rubygems_{h48}",
    "Scalingo": "tk-us-{u48}",
    "SendGrid": "SG.{u22}.{u43}",
    "Sentry organisation": "sntrys_eyJ{a120}_{a43}",
    "Sentry user": "sntryu_{h64}",
    "Shippo": "shippo_live_{h40}",
    "Shopify": "shpat_{h32}",
    "Shopify app secret": "shpss_{h32}",
    "Slack app": "xapp-1-A{A10}-{d13}-{h64}",
    "Slack bot": "xoxb-{d12}-{d13}-{a24}",
    "Slack configuration": "xoxe.xoxp-1-{a160}",
    "Slack user": "xoxp-{d12}-{d12}-{d13}-{h32}",
    "Slack webhook": "https://hooks.slack.com/services/T{A8}/B{A10}/{a24}",
    "SonarQube": "sqp_{h40}",
    "Sourcegraph": "sgp_{h16}_{h40}",
    "Square": "sq0atp-{u22}",
    "Square access": "EAAAE{u59}",
    "Stripe live": "sk_live_{a24}",
    "Stripe restricted": "rk_live_{a99}",
    "Stripe test": "sk_test_{a99}",
    "Stripe webhook": "whsec_{a32}",
    "Supabase": "sbp_{h40}",
    "Supabase secret": "sb_secret_{u31}",
    "Tailscale": "tskey-auth-{a17}-{a32}",
    "Tavily": "tvly-dev-{a32}",
    "Telegram": "{d10}:AA{u33}",
    "Tencent Cloud": "AKID{a32}",
    "Terraform Cloud": "{a14}.atlasv1.{u67}",
    "Together": "tgp_v1_{u43}",
    "Twilio": "SK{h32}",
    "Typeform": "tfp_{u44}_{u14}",
    "URL with a password": "amqps://svc:{a24}@broker.internal:5671/vhost",
    "Vault service": "hvs.{u95}",
    "Vault batch": "hvb.{u140}",
    "Vercel blob": "vercel_blob_rw_{a16}_{a30}",
    "Voyage": "pa-{u43}",
    "xAI": "xai-{a80}",
    "Yandex Cloud": "AQVN{u35}",
    "Zuplo": "zpka_{l32}_{h8}",
}
"""Recognised by themselves."""

NAMED = {
    "Algolia": "ALGOLIA_ADMIN_API_KEY={h32}",
    "Azure AI": "AZURE_OPENAI_API_KEY={h32}",
    "Cohere": "COHERE_API_KEY={a40}",
    "Datadog": "DD_API_KEY={h32}",
    "Datadog application": 'dd_app_key: "{h40}"',
    "Django": "SECRET_KEY = 'django-insecure-{a50}'",
    "Fastly": "FASTLY_API_TOKEN={u32}",
    "Mistral": "MISTRAL_API_KEY={a32}",
    "Okta": 'okta_api_token: "00{u40}"',
    "PagerDuty": "PAGERDUTY_TOKEN=u+{u18}",
    "Rails": "RAILS_MASTER_KEY={h32}",
    "Spring": "spring.datasource.password={a18}",
    "Splunk": "SPLUNK_HEC_TOKEN={U}",
    "Weights & Biases": "WANDB_API_KEY={h40}",
    "Wi-Fi": 'wifi_password: "{a14}!"',
    "YAML password": "  postgres_password: {a20}",
    "Zendesk": '"zendesk_api_token": "{a40}"',
    "AWS secret": "aws_secret_access_key={b30}",
}
"""Recognised by the name that they stand behind."""

AROUND = (
    "{}", '  "value": "{}",', "set {}\n", "curl -H 'X-Auth: {}' https://api.example.org/v1\n",
    "2026-11-02 12:00:01 INFO sent {} to worker 7\n", "We used {} for the demo.\n", "x = '{}'\n",
    "- {}\n", "<add value=\"{}\" />", "a: {}\nb: 2\n",
)  # fmt: skip

LOOKALIKES = {
    "commit": "commit {h40}", "short commits": "{h7} Merge branch 'token-refresh'", "tree": "100644 blob {h40}\tsecret.md",
    "SHA-256": "{h64}  app.tar.gz", "SHA-1": "sha1:{h40}", "MD5": "ETag: \"{h32}\"", "SHA-512": "sha512 = {h128}",
    "UUID": "id: {U}", "UUID as key": '"key": "{U}"', "UUID in a path": "/v1/users/{U}/tokens", "trace": "traceparent: 00-{h32}-{h16}-01",
    "npm integrity": '"integrity": "sha512-{b64}"', "yarn": "checksum: 10c0/{h128}", "pnpm": "resolution: {{integrity: sha512-{b64}}}",
    "pip": "--hash=sha256:{h64}", "cargo": 'checksum = "{h64}"', "go.sum": "golang.org/x/crypto v0.31.0 h1:{b32}", "gem": "CHECKSUMS\n  rails (8.0.0) sha256={h64}",
    "nix": 'hash = "sha256-{b32}";', "poetry": 'content-hash = "{h64}"', "composer": '"reference": "{h40}",', "swift": '"revision" : "{h40}",',
    "docker": "FROM node@sha256:{h64}", "helm": "digest: sha256:{h64}", "terraform": '"h1:{b32}",', "actions": "uses: actions/checkout@{h40}",
    "PNG": "data:image/png;base64,iVBORw0KGgo{b400}", "font": "url(data:font/woff2;base64,d09GMgABAAAA{b300})", "wasm": "const w = 'AGFzbQEAAAAB{b300}'",
    "source map": '"mappings": "AAAA,SAASA{c40};AACE,OAAO{c30}"', "chunk": "static/js/main.{h8}.chunk.js", "CSS module": ".key_{a5} .token_{a6} {{ color: #{h6} }}",
    "SSH public": "ssh-rsa AAAAB3NzaC1yc2E{b279} a@b", "ed25519 public": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{a43} a@b", "fingerprint": "SHA256:{b32}",
    "certificate": "-----BEGIN CERTIFICATE-----\n{b400}\n-----END CERTIFICATE-----", "public key": "-----BEGIN PUBLIC KEY-----\n{b200}\n-----END PUBLIC KEY-----",
    "CSP hash": "script-src 'sha256-{b32}'", "SRI": 'integrity="sha384-{b48}"', "address": "0x{h40}", "transaction": "tx 0x{h64}", "Bitcoin": "bc1q{l38}",
    "ObjectId": "ObjectId('{h24}')", "ULID": "01J{A23}", "nanoid": 'rowKey: "{u21}"', "snowflake": "user {d18} joined", "Stripe objects": "cus_{a14} price_{a24} pi_{a24}",
    "Stripe publishable": "pk_live_{a24}", "Mapbox public": "pk.eyJ1{a60}.{u22}", "PostHog public": "phc_{a43}", "AWS ARN": "arn:aws:iam::{d12}:role/token-reader", "AWS ids": "vpc-{h17} subnet-{h17} ami-{h17}",
    "S3 URL": "s3://backups-{d12}/keys/{h8}.gz", "analytics": "gtag('config', 'G-{A10}')", "OAuth client id": "{d12}-{l32}.apps.googleusercontent.com", "Sentry DSN id": "release: app@1.2.3+{h12}",
    "i18n": '"auth.password.reset.title": "Reset your password"', "i18n deep": '"settings.apiKey.placeholder": "Paste your API key here"', "i18n key": "t('errors.token_expired_{d3}')",
    "placeholder": "API_KEY=your_api_key_here", "placeholder braces": "token: ${{{{ secrets.DEPLOY_{A6} }}}}", "placeholder angle": "password: <your-{l6}-password>", "example": "sk-ant-...{d2}", "example key": "AKIA...{A4}", "example sk": "sk-xxxxxxxxxxxxxxxxxxxx{d2}",
    "class names": "sk-circle-fade-dot-{d2} sk-folding-cube-{d2}", "BEM": "btn-primary__key--active-{d3}", "icon": "fa-key fa-{l8}", "code": "const token{d2} = await getToken(user.id)", "code get": "password = os.environ['DB_{A6}_PASSWORD']",
    "type": "apiKey{d1}: string | undefined;", "field": "private String passwordHash{d2};", "SQL": "ALTER TABLE t ADD COLUMN api_token_{l6} VARCHAR(64);", "enum": "TOKEN_TYPE_{A8} = {d3};", "limits": "max_tokens: {d4}, token_count={d5}",
    "minified": "var t=e.token,r=t.key||n(\"{l3}\");function a(t){{return t.secret}}", "minified ids": "n(\"{h4}\"),a=n(\"{h4}\"),k=Object.keys(a)", "regex": r"/^[A-Za-z0-9_-]{{{d2}}}$/.test(token)",
    "test vector": "assert_eq!(md5(b\"\"), \"{h32}\")", "crc": "crc32 {h8} adler {h8}", "colours": "#{h6} #{h6} #{h8}", "version": "v{d1}.{d2}.{d2}-rc.{d1}+build.{d6}", "date": "2026{d4}T{d6}Z-{h8}",
    "base64 text": "TG9yZW0gaXBzdW0gZG9sb3Igc2l0IGFtZXQs{b30}", "protobuf": '"\\n\\x{h2}google/protobuf/any.proto{d2}"', "locale": "en-US,de;q=0.{d1},fr;q=0.{d1}", "phone": "+49 30 {d8}", "IBAN": "DE{d20}",
    "IPv6": "2001:db8:{h4}:{h4}::{h4}", "MAC": "{h2}:{h2}:{h2}:{h2}:{h2}:{h2}", "path": "/var/lib/tokens/{h2}/{h36}", "package": "registry.example.org/@scope/key-{l6}/-/key-1.{d2}.0.tgz", "bucket": "tf-state-{d12}-eu-central-1",
    "URL without password": "https://{l8}@example.org/repo.git", "query": "https://example.org/?page={d3}&sort=key&session=new", "k8s pod": "api-token-service-{h10}-{l5}", "branch": "feature/rotate-api-key-{d4}", "ticket": "SEC-{d4}: rotate token",
    "YAML anchor": "key_{l4}: &default_{l6}", "env name": "SECRET_NAME=projects/{d12}/secrets/db", "vault path": "password: vault:secret/data/{l8}#password", "sops": "password: ENC[AES256_GCM,data:{b12},type:str]", "bcrypt note": "cost {d2} for bcrypt hashes",
    "GraphQL": "query Token_{a8} {{ token(id: {d6}) {{ key }} }}", "proto field": "string access_token = {d1};", "HTTP": "WWW-Authenticate: Bearer realm=\"api-{d2}\"", "cookie name": "Set-Cookie: session_{l4}=deleted; Max-Age=0",
    "lorem": "Passwords are rotated every {d2} days.", "emoji code": ":key_{d2}: :lock:", "apt": "SHA256: {h64}", "rpm": "sig: {h16}", "AppStore": "id{d10}", "build id": "BuildID[sha1]={h40}",
}  # fmt: skip
"""No credentials. Each is drawn several times."""
COPIES = 5


def draw(template: str, chance: random.Random) -> str:
    """A value of a template; doubled braces are braces."""

    def fill(match: re.Match[str]) -> str:
        kind, count = match[1], int(match[2] or 0)
        if kind == "U":
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))
        if kind == "J":
            data = json.dumps({"alg": "HS256", "n": chance.randrange(10**12)}).encode()
            return base64.urlsafe_b64encode(data).decode().rstrip("=")
        if kind == "b":
            return base64.b64encode(chance.randbytes(count)).decode()
        return "".join(chance.choice(_ALPHABETS[kind]) for _ in range(count))

    marked = template.replace("{{", "\0").replace("}}", "\1")
    return _SLOT.sub(fill, marked).replace("\0", "{").replace("\1", "}")


def planted() -> Iterator[tuple[str, str, int, int]]:
    """(shape, text, start and end of the credential), in ten surroundings each."""
    chance = random.Random(SEED)
    for name, template in KEYS.items():
        for around in AROUND:
            value = draw(template, chance)
            before, after = around.split("{}")
            yield name, before + value + after, len(before), len(before) + len(value)
    for name, template in NAMED.items():
        for before, after in (("", ""), ("# settings\n", "\n# end\n"), ("\n\n", "\nDEBUG=1\n")):
            line = draw(template, chance)
            value = re.split(r"[=:]\s*", line, maxsplit=1)[1].strip("'\"")
            start = len(before) + line.index(value)
            yield name, before + line + after, start, start + len(value)


def harmless() -> Iterator[tuple[str, str]]:
    """(kind, text) of what is no credential."""
    chance = random.Random(SEED + 1)
    for kind, template in LOOKALIKES.items():
        for text in dict.fromkeys(draw(template, chance) for _ in range(COPIES)):
            yield kind, text
