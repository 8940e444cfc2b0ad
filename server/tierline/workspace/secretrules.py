"""The shapes of credentials, as their issuers publish them. Data for ``secrets.py``.

Every pattern begins with literals or bounded classes and repeats only single classes, so that each
scan is linear in the text.
"""

from __future__ import annotations

import re

from attrs import frozen


@frozen
class Rule:
    """One shape. The group ``secret`` of the pattern, or else the whole match, is replaced."""

    kind: str
    hints: tuple[str, ...]
    """One of these must occur (in lower case) for the pattern to be tried at all."""
    pattern: re.Pattern[str]
    whole: bool = False
    """The match must not begin inside a word: checked after the match, as a look-behind in front
    of the pattern would keep ``re`` from searching for its literal beginning."""


_END = r"(?![A-Za-z0-9_-])"


def _shape(kind: str, hints: str, pattern: str) -> Rule:
    return Rule(kind, tuple(hints.split()), re.compile(f"(?:{pattern}){_END}"), whole=True)


def _context(kind: str, hints: str, pattern: str, flags: int = 0) -> Rule:
    return Rule(kind, tuple(hints.split(",")), re.compile(pattern, flags))


SHAPES: tuple[Rule, ...] = (
    _context(
        "private-key",
        "private key",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?P<secret>"
        r"(?:[\s\\nr]{0,8}(?:Proc-Type|DEK-Info|Version|Comment|Hash): [^\n]{0,200}){0,5}"
        r"(?:[A-Za-z0-9+/=\s\\]{1,20000}+(?=-----END)|[\s\\nr]{0,8}(?=[A-Za-z0-9+/=]{30})"
        r"[A-Za-z0-9+/=\s\\]{30,20000}+))",
    ),
    _shape("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _shape(  # digits and capitals, or one long run: unlike class names such as sk-spinner-1
        "openai-key",
        "sk-",
        r"sk-(?=[A-Za-z_-]{0,80}[0-9])(?=[a-z0-9_-]{0,80}[A-Z]|[a-z-]{0,20}[a-z0-9]{24})"
        r"[A-Za-z0-9_-]{20,}",
    ),
    _shape("aws-access-key", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    _shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _shape("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,255}"),
    _shape(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glft- glcbt- glsoat- glagent- glimt- gloas-",
        r"gl(?:pat|dt|rt|ptt|ft|cbt|soat|agent|imt|oas)-[A-Za-z0-9_.-]{20,}",
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
"""Shapes that are credentials wherever they stand."""

KEYWORDS = ("pass", "pwd", "secret", "token", "key", "credential")
"""What every name of a secret contains; a cheap test before ``ASSIGNMENT`` is tried."""
NAME = re.compile(
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?"
    r"|(?:api|access|auth|private|encryption|signing|secret|master|account|shared)[_-]?key)"
    r"(?:[_-]?(?:value|key|prod|dev|live|[0-9]{1,3}))?",
)
"""Searched in lower-cased text."""
ASSIGNMENT = re.compile(
    r"(?P<close>[\"'\]]{0,2})\s{0,3}(?P<op>:=|=>|==?|:)(?P<gap>\s{0,3})"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\s]{6,200})(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;(){}\[\]<>$&|]{6,200})(?P<after>[(\[,;)]?))"
)
"""What follows the name: ``name = value``, where the value must look like a secret as well."""
