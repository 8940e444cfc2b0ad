"""The shapes of credentials, as their issuers publish them. Data for ``secrets.py``.

Every pattern begins with literals or bounded classes and repeats only single classes, so that each
scan is linear in the text.
"""

from __future__ import annotations

import re

from attrs import frozen


@frozen
class SecretRule:
    """One shape. The group ``secret`` of the pattern, or else the whole match, is replaced."""

    kind: str
    hints: tuple[str, ...]
    """One of these must occur (in lower case) for the pattern to be tried at all."""
    pattern: re.Pattern[str]
    whole: bool = False
    """The match must not begin inside a word: checked after the match, as a look-behind in front
    of the pattern would keep ``re`` from searching for its literal beginning."""


_END = r"(?![A-Za-z0-9_-])"


def _shape(kind: str, hints: str, pattern: str) -> SecretRule:
    return SecretRule(kind, tuple(hints.split()), re.compile(f"(?:{pattern}){_END}"), whole=True)


def _context(kind: str, hints: str, pattern: str, flags: int = 0) -> SecretRule:
    return SecretRule(kind, tuple(hints.split(",")), re.compile(pattern, flags))


SHAPES: tuple[SecretRule, ...] = (
    _context(
        "private-key",
        "private key",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?P<secret>"
        r"(?:[\s\\nr]{0,8}(?:Proc-Type|DEK-Info|Version|Comment|Hash): [^\n]{0,200}){0,5}"
        r"(?:[A-Za-z0-9+/=\s\\]{1,20000}+(?=-----END)|[\s\\nr]{0,8}(?=[A-Za-z0-9+/=]{30})"
        r"[A-Za-z0-9+/=\s\\]{30,20000}+))",
    ),
    _shape("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _shape(  # digits and capitals, or one long run: not class names such as sk-spinner-1
        "openai-key",
        "sk-",
        r"sk-(?=[A-Za-z_-]{0,80}[0-9])"
        r"(?=[a-z0-9_-]{0,80}[A-Z]|(?:[a-z0-9]{1,10}-){0,3}[a-z0-9]{24})"
        r"[A-Za-z0-9_-]{20,}",
    ),
    _shape("aws-access-key", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    _shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _shape("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,255}"),
    _shape(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glft- glcbt- glsoat- glagent- glimt- gloas- glffct-",
        r"gl(?:pat|dt|rt|ptt|ft|ffct|cbt|soat|agent|imt|oas)-[A-Za-z0-9_.-]{20,}",
    ),
    _shape(
        "slack-token",
        "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-",
        r"(?:xox[abeoprs](?:\.xox[bp])?|xapp)-[A-Za-z0-9-]{10,}",
    ),
    _context(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_]{20,})",
    ),
    _context(
        "discord-webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/(?P<secret>[0-9]{5,25}/[A-Za-z0-9_-]{20,})",
    ),
    _shape(
        "discord-token", ".", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"
    ),
    _shape(
        "stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"
    ),
    _shape("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    _shape("google-api-key", "aiza", r"AIza[A-Za-z0-9_-]{35}"),
    _shape("google-oauth", "ya29. gocspx-", r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}"),
    _context(
        "azure-key",
        "accountkey=,sharedaccesskey=",
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,88}={0,2})",
        re.I,
    ),
    _context("azure-sas", "sig=", r"[?&;]sig=(?P<secret>[A-Za-z0-9%+/]{40,}={0,2})"),
    _shape("azure-secret", "8q~ 7q~", r"[A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}"),
    _context(
        "aws-secret-key",
        "aws,secret",
        r"aws.{0,24}?(?:secret|sk).{0,24}?[=:]\s{0,4}[\"']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        re.I,
    ),
    _shape("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _context("npm-token", "_authtoken", r":_authToken=(?P<secret>[^\s$\"']{8,})"),
    _shape("pypi-token", "pypi-", r"pypi-A[A-Za-z0-9_-]{30,}"),
    _shape("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{40,}"),
    _shape("crates-token", "cio", r"cio[A-Za-z0-9]{32}"),
    _shape("docker-token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    _shape("sendgrid-key", "sg.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}"),
    _shape("twilio-key", "sk", r"SK[a-f0-9]{32}"),
    _shape("mailgun-key", "key-", r"key-[a-f0-9]{32}"),
    _shape("mailchimp-key", "-us", r"[a-f0-9]{32}-us[0-9]{1,2}"),
    _shape("telegram-token", ":aa", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{30,40}"),
    _shape("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    _shape("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _shape("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{50,}"),
    _shape("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _shape("square-token", "sq0", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,43}"),
    _shape("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _shape("heroku-key", "hrku-", r"HRKU-[A-Za-z0-9_-]{30,}"),
    _shape("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _shape("notion-token", "ntn_ secret_", r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}"),
    _shape("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-[0-9])?"),
    _shape("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    _shape("replicate-token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    _shape("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _shape("xai-key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    _shape("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    _shape(
        "grafana-token",
        "glsa_ glc_",
        r"glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,2}",
    ),
    _shape("newrelic-key", "nrak- nrjs- nrii-", r"NR(?:AK|JS|II)-[A-Za-z0-9_-]{19,}"),
    _shape("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_=+/-]{40,}"),
    _shape("postman-key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _shape("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _shape("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}"),
    _shape("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    _shape("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    _shape("supabase-key", "sbp_ sb_secret_", r"sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}"),
    _shape("netlify-token", "nfp_", r"nfp_[A-Za-z0-9_]{30,}"),
    _shape("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{30,}"),
    _shape("atlassian-token", "atatt3 atctt3", r"AT[AC]TT3[A-Za-z0-9_=-]{60,}"),
    _shape("age-key", "age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _shape("tailscale-key", "tskey-", r"tskey-(?:api|auth|client)-[A-Za-z0-9-]{20,}"),
    _context(
        "authorization",
        "authorization",
        r"authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:bearer|basic|token|bot)\s+"
        r"(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
        re.I,
    ),
    _context("bearer-token", "bearer", r"Bearer\s+(?P<secret>[A-Za-z0-9._~+/-]{24,}={0,2})"),
    _context(
        "url-password",
        "://",
        r"://[^\s:/@\"'<>]{0,100}:(?P<secret>[^\s/@\"'<>]{3,200})@"
        r"(?=[A-Za-z0-9\[_-])",
    ),
)
"""Shapes that are credentials wherever they occur."""

_UUID = r"[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}"
_MIXED = r"(?=[A-Za-z_-]{0,60}[0-9])(?=[a-z0-9_-]{0,60}[A-Z])"
"""Requires digits and capitals, which names given by people rarely have."""
SHAPES += tuple(
    _shape(kind, hints, pattern)
    for kind, hints, pattern in (
        ("1password-token", "ops_eyj", r"ops_eyJ[A-Za-z0-9+/=_-]{100,}"),
        ("adobe-secret", "p8e-", rf"p8e-{_MIXED}[A-Za-z0-9_-]{{32}}"),
        ("alibaba-key", "ltai", r"LTAI[A-Za-z0-9]{12,21}"),
        ("amazon-mws-token", "amzn.mws.", rf"amzn\.mws\.{_UUID}"),
        ("artifactory-key", "akcp cmvmdgtuo", r"AKCp[A-Za-z0-9]{69}|cmVmdGtuO[A-Za-z0-9]{55}"),
        ("asana-token", "1/ 2/", r"[12]/[0-9]{13,17}(?:/[0-9]{13,17})?:[a-f0-9]{32}"),
        ("aws-bedrock-key", "absk", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
        ("azure-key", "+acr", r"[A-Za-z0-9]{42}\+ACR[A-Za-z0-9]{6}"),
        ("azure-key", "azse azfu azca", r"[A-Za-z0-9]{42}Az(?:Se|Fu|Ca)[A-Za-z0-9]{6}"),
        ("azure-key", "jqqj99", r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,32}"),
        ("azure-devops-token", "azdo", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
        ("bitbucket-password", "atbb", r"ATBB[A-Za-z0-9]{32}"),
        ("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
        ("buildkite-token", "bkua_", r"bkua_[a-f0-9]{40}"),
        ("cerebras-key", "csk-", r"csk-[a-z0-9]{48}"),
        ("circleci-token", "ccipat_", r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}"),
        ("clickup-token", "pk_", r"pk_[0-9]{6,10}_[A-Z0-9]{32}"),
        ("clojars-token", "clojars_", r"CLOJARS_[a-z0-9]{60}"),
        ("cloudflare-key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
        ("contentful-token", "cfpat-", r"CFPAT-[A-Za-z0-9_-]{43}"),
        ("defined-key", "dnkey-", r"dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}"),
        ("deno-token", "ddp_", r"dd[op]_[A-Za-z0-9]{36}"),
        ("dropbox-token", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,}"),
        ("duffel-token", "duffel_", r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}"),
        ("dynatrace-token", "dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
        ("easypost-key", "ezak eztk", r"EZ[AT]K[A-Za-z0-9]{54}"),
        ("elevenlabs-key", "sk_", r"sk_[a-f0-9]{48}"),
        ("facebook-token", "eaa", r"EAA[A-Z](?=[A-Za-z]{0,50}[0-9])[A-Za-z0-9_-]{57,300}"),
        ("firebase-key", ":apa91b", r"AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{120,}"),
        ("firecrawl-key", "fc-", r"fc-[a-f0-9]{32}"),
        ("fireworks-key", "fw_", rf"fw_{_MIXED}[A-Za-z0-9]{{22,40}}"),
        ("flutterwave-key", "flwseck", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,32}-X"),
        ("fly-token", "fm1 fm2 fo1_", r"fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3}|fo1_[\w-]{43}"),
        ("frameio-token", "fio-u-", r"fio-u-[A-Za-z0-9_=-]{64}"),
        ("gitlab-token", "gr1348941", r"GR1348941[A-Za-z0-9_-]{20}"),
        ("gocardless-token", "live_", rf"live_{_MIXED}[A-Za-z0-9_-]{{40}}"),
        ("google-oauth", "1//0", r"1//0[A-Za-z0-9_-]{40,}"),
        ("hubspot-token", "pat-", rf"pat-(?:na|eu|ap)[0-9]-{_UUID}"),
        ("infracost-key", "ico-", r"ico-[A-Za-z0-9]{32}"),
        ("jina-key", "jina_", r"jina_[A-Za-z0-9]{50,}"),
        ("langfuse-key", "sk-lf-", rf"sk-lf-{_UUID}"),
        ("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
        ("launchdarkly-key", "sdk- api-", rf"(?:sdk|api)-{_UUID}"),
        ("lob-key", "live_ test_", r"(?:live|test)_[a-f0-9]{35}"),
        ("mapbox-token", "sk.eyj", r"sk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}"),
        ("maxmind-key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
        ("neon-key", "napi_", r"napi_[a-z0-9]{40,}"),
        ("newrelic-key", "nral", r"[a-f0-9]{36}NRAL"),
        ("nuget-key", "oy2", r"oy2[a-z0-9]{43}"),
        ("nvidia-key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{60,}"),
        ("octopus-key", "api-", r"API-[A-Z0-9]{26,32}"),
        ("openshift-token", "sha256~", r"sha256~[A-Za-z0-9_-]{43}"),
        ("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50,}"),
        ("plaid-token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
        ("posthog-key", "phx_ phs_", r"ph[xs]_[A-Za-z0-9]{40,}"),
        ("prefect-key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}"),
        ("readme-key", "rdme_", r"rdme_[a-z0-9]{70}"),
        ("render-key", "rnd_", rf"rnd_{_MIXED}[A-Za-z0-9]{{28,}}"),
        ("resend-key", "re_", rf"re_{_MIXED}[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}"),
        ("scalingo-token", "tk-us-", r"tk-us-[A-Za-z0-9_-]{48}"),
        ("shippo-token", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
        ("sonar-token", "sqp_ squ_ sqa_", r"sq[pua]_[a-f0-9]{40}"),
        ("sourcegraph-token", "sgp_", r"sgp_(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}"),
        ("tavily-key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,}"),
        ("tencent-key", "akid", r"AKID[A-Za-z0-9]{32}"),
        ("together-key", "tgp_v1_", r"tgp_v1_[A-Za-z0-9_-]{43}"),
        ("typeform-token", "tfp_", r"tfp_[A-Za-z0-9_.=-]{40,}"),
        ("vercel-token", "vercel_blob_rw_", r"vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{30}"),
        ("voyage-key", "pa-", rf"pa-{_MIXED}[A-Za-z0-9_-]{{43}}"),
        ("yandex-key", "aqvn", r"AQVN[A-Za-z0-9_-]{35,38}"),
        ("zuplo-key", "zpka_", r"zpka_[a-z0-9]{32}_[a-z0-9]{8}"),
    )
)

KEYWORDS = ("pass", "pwd", "secret", "token", "key", "credential")
"""Every name of a secret contains one of these; a cheap test before ``ASSIGNMENT`` is tried."""
NAME = re.compile(
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?"
    r"|(?:api|app|application|access|admin|auth|private|encryption|signing|secret|master|account"
    r"|shared|deploy|hmac|ingest|license|service|session|webhook)[_-]?key)"
    r"(?:[_-]?(?:value|key|prod|dev|live|[0-9]{1,3}))?"
)
"""Searched in lower-cased text."""
ASSIGNMENT = re.compile(
    r"(?P<close>[\"'\]]{0,2})\s{0,3}(?P<op>:=|=>|==?|:)(?P<gap>\s{0,3})"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\s]{6,200})(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;(){}\[\]<>$&|]{6,200})(?P<after>[(\[,;)]?))"
)
"""What follows the name: ``name = value``, where the value must look like a secret as well."""
