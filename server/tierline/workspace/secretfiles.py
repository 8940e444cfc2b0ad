"""Files that hold secrets by their very nature, told by name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

from tierline.folder import FOLDER

_TEMPLATE = re.compile(
    r"\.(?:example|sample|template|dist|defaults?|schema|example\.\w+)$"
    r"|^\.env[_-](?:example|sample|template|dist|defaults?|schema)$"
)
_BACKUP = re.compile(r"(?:~\d*|\.(?:bak|backup|old|orig|save|saved|copy|tmp|sw[a-p])\d*)$")
"""Suffixes of backup copies."""
_ENV = re.compile(r"^(?:\.env(?:[._-].+|rc)?|\.envrc(?:\..+)?|.+\.env|env\.local|\.dev\.vars)$")
_NAMES = re.compile(
    r"""^(?:
      id_(?:rsa|dsa|ecdsa|ed25519|xmss|ecdsa_sk|ed25519_sk)(?:[._-].*)?
    | \.netrc | _netrc | \.npmrc | \.yarnrc\.yml | \.pypirc | \.pgpass | pgpass\.conf | \.my\.cnf
    | \.htpasswd | \.git-credentials | \.dockercfg | \.boto | \.s3cfg | \.vault-token
    | \.terraformrc | terraform\.rc | credentials\.tfrc\.json | .*\.tfstate(?:\.backup)?
    | .*\.auto\.tfvars | terraform\.tfvars
    | credentials(?:\.json|\.ya?ml|\.toml|\.ini|\.csv|\.xml|\.properties)?
    | client_secrets?.*\.json | (?:gcp[-_.])?service[-_]?account.*\.json | gcloud.*credentials.*
    | application_default_credentials\.json | adc\.json | accesstokens\.json | azureprofile\.json
    | accesskeys?\.csv | rootkey\.csv | .*_accesskeys\.csv
    | secrets?(?:\.(?:json|ya?ml|toml|ini|env|properties|enc))? | secrets\.[\w-]+\.ya?ml
    | .*\.(?:pem|key|ppk|p12|pfx|jks|keystore|kdbx?|pkcs12|p8|pk8|ovpn|agekey)
    | kubeconfig(?:\..*)? | .*\.kubeconfig | htpasswd | wallet\.dat
    | \.htdigest | \.rhosts | \.shosts | krb5\.keytab | .*\.keytab | \.pgp | secring\.\w+
    | auth\.json
    )$""",
    re.X,
)
_IN_FOLDER = (
    (".ssh", re.compile(r"^(?!.*\.pub$)(?!known_hosts|config$|authorized_keys).+")),
    (".aws", re.compile(r"^(?:credentials|config)$|.*cache.*")),
    (".azure", re.compile(r".*")),
    (".gnupg", re.compile(r".*")),
    (".kube", re.compile(r"^config.*")),
    (".docker", re.compile(r"^config\.json$")),
    ("gcloud", re.compile(r".*credentials.*|.*\.db$")),
    (".cargo", re.compile(r"^credentials(?:\.toml)?$")),
    (".gem", re.compile(r"^credentials$")),
    (".config/gh", re.compile(r"^hosts\.yml$")),
)
_PUBLIC = re.compile(
    r"(?:^|[._-])(?:pub|public|crt|cer|cert|certs|ca|chain|fullchain|cacert)(?:[._-]|$)"
)


def secret_kind(path: str) -> str:
    """Why the file at this path counts as secret, in words; empty if it does not.

    Judged by the last component, and by the folder for tools that keep keys in a folder of their
    own. Templates (``.env.example``) and public keys and certificates are not secret.
    """
    folders, _, name = path.replace("\\", "/").rpartition("/")
    name = name.lower()
    if name.startswith("#") and name.endswith("#"):
        name = name.strip("#")
    name = name.removeprefix(".#")
    while backup := _BACKUP.search(name):
        name = name[: backup.start()]
    if _TEMPLATE.search(name):
        return ""
    if name.endswith(".pub") or (name.endswith((".pem", ".asc")) and _PUBLIC.search(name)):
        return ""
    if _ENV.match(name):
        return "environment variables"
    if _NAMES.match(name):
        return "credentials or keys"
    around = f"/{folders.lower()}/"
    for folder, names in _IN_FOLDER:
        if f"/{folder}/" in around and names.match(name):
            return f"credentials of {folder.strip('.')}"
    return ""


Owner: TypeAlias = Literal["", "git", "tierline"]

_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that HFS+ leaves out of names (git's ``core.protectHFS`` lists them)."""
_SHORT = re.compile(r"(?:git|(?P<ours>tierli))~\d{1,4}")
"""Short names of NTFS (git's ``core.protectNTFS``)."""


@lru_cache(maxsize=4096)
def reserved(name: str) -> Owner:
    """Which reserved folder (git's or ours) a path's component names: regardless of case, streams
    (``.git::$INDEX_ALLOCATION``), dots and blanks at the end, short names and invisible characters.
    Git refuses to track such names, so no file of the user has one.
    """
    if len(name) < 4 or not ("." in name or "~" in name):
        return ""
    bare = _IGNORED.sub("", name).partition(":")[0].rstrip(". ").casefold()
    if bare in (".git", FOLDER):
        return "git" if bare == ".git" else "tierline"
    short = _SHORT.fullmatch(bare)
    return "" if short is None else "tierline" if short["ours"] else "git"
