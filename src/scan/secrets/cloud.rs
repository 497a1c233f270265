//! Secrets of clouds, hosts, data bases and secret managers.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use super::kinds::{Check, Row};

pub(super) const ROWS: &[Row] = &[
    (
        "aws-access-key-id",
        "akia asia abia acca a3t",
        r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b",
        Check::Entropy(26),
    ),
    (
        "aws-secret-access-key",
        "aws secretaccesskey secret_access_key secret-access-key",
        r#"(?i:aws[a-z0-9_ .-]{0,20}(?:secret|key)[a-z0-9_ .-]{0,20}|secret[_-]?access[_-]?key)["'`]?[ \t]{0,4}(?:=>|:=|[:=]|is)[ \t]{0,4}["'`]?(?P<s>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        Check::Entropy(35),
    ),
    (
        "aws-session-token",
        "session_token sessiontoken",
        r#"(?i:aws_?session_?token|sessiontoken)["'`]?[ \t]{0,4}[:=][ \t]{0,4}["'`]?(?P<s>[A-Za-z0-9/+=]{100,1200})"#,
        Check::Entropy(40),
    ),
    (
        "aws-bedrock-key",
        "absk bedrock-api-key-",
        r"\b(?:ABSK[A-Za-z0-9+/]{60,280}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{20,1200})",
        Check::Entropy(35),
    ),
    (
        "gcp-api-key",
        "aiza",
        r"\bAIza[A-Za-z0-9_-]{35}",
        Check::Entropy(30),
    ),
    (
        "gcp-oauth-client-secret",
        "gocspx-",
        r"\bGOCSPX-[A-Za-z0-9_-]{20,40}",
        Check::Entropy(30),
    ),
    (
        "gcp-oauth-token",
        "ya29.",
        r"\bya29\.[A-Za-z0-9_-]{20,2000}",
        Check::Entropy(30),
    ),
    (
        "azure-storage-key",
        "accountkey",
        r"(?i:accountkey)[ \t]{0,4}=[ \t]{0,4}(?P<s>[A-Za-z0-9+/]{86}==)",
        Check::Entropy(35),
    ),
    (
        "azure-client-secret",
        "q~",
        r"\b[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
        Check::Entropy(33),
    ),
    (
        "azure-devops-token",
        "azdo",
        r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b",
        Check::Entropy(35),
    ),
    (
        "azure-sas-signature",
        "sig=",
        r"[?&;](?:amp;)?sig=(?P<s>[A-Za-z0-9/+]{20,60}(?:%2[bBfF][A-Za-z0-9/+]{0,60}){0,12}(?:%3[dD]|=))",
        Check::Entropy(33),
    ),
    (
        "azure-function-key",
        "azfu",
        r"\b[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{6}[=]{0,2}",
        Check::Entropy(35),
    ),
    (
        "alibaba-access-key-id",
        "ltai",
        r"\bLTAI[A-Za-z0-9]{12,24}\b",
        Check::Entropy(30),
    ),
    (
        "tencent-secret-id",
        "akid",
        r"\bAKID[A-Za-z0-9]{32,44}\b",
        Check::Entropy(30),
    ),
    (
        "yandex-api-key",
        "aqvn",
        r"\bAQVN[A-Za-z0-9_-]{35,38}",
        Check::Entropy(30),
    ),
    (
        "digitalocean-token",
        "dop_v1_ doo_v1_ dor_v1_",
        r"\bdo[opr]_v1_[a-f0-9]{64}\b",
        Check::Entropy(28),
    ),
    (
        "cloudflare-origin-ca-key",
        "v1.0-",
        r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b",
        Check::Entropy(28),
    ),
    (
        "heroku-key",
        "hrku-",
        r"\bHRKU-[A-Za-z0-9_-]{36,80}",
        Check::Entropy(30),
    ),
    (
        "fly-token",
        "fo1_ fm1 fm2_",
        r"\b(?:fo1_[A-Za-z0-9_-]{43}|fm1[ar]_[A-Za-z0-9+/]{80,1200}={0,3}|fm2_[A-Za-z0-9+/]{80,1200}={0,3})",
        Check::Entropy(35),
    ),
    (
        "netlify-token",
        "nfp_ nfo_ nfc_ nfu_ nfb_",
        r"\bnf[pocub]_[A-Za-z0-9]{36,40}\b",
        Check::Entropy(30),
    ),
    (
        "vercel-token",
        "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_",
        r"\b(?:vc[piark]_[A-Za-z0-9]{24,60}|vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{28,32})\b",
        Check::Entropy(33),
    ),
    (
        "doppler-token",
        "dp.",
        r"\bdp\.(?:pt|st|ct|scim|audit|sa|said)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b",
        Check::Entropy(30),
    ),
    (
        "vault-token",
        "hvs. hvb. hvr. vault",
        r"\b(?:hv[sbr]\.[A-Za-z0-9_-]{24,300}|(?i:vault[a-z0-9_ .-]{0,20})[:=][ \t]{0,3}['\x22]?(?P<s>s\.[A-Za-z0-9]{24}))",
        Check::Entropy(30),
    ),
    (
        "terraform-cloud-token",
        ".atlasv1.",
        r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}",
        Check::Entropy(35),
    ),
    (
        "pulumi-token",
        "pul-",
        r"\bpul-[a-f0-9]{40}\b",
        Check::Entropy(28),
    ),
    (
        "age-secret-key",
        "age-secret-key-",
        r"(?i)\bAGE-SECRET-KEY-(?:PQ-)?1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}\b",
        Check::Bech,
    ),
    (
        "planetscale-token",
        "pscale_",
        r"\bpscale_(?:tkn|pw|oauth|id)_[A-Za-z0-9_.=-]{32,64}",
        Check::Entropy(30),
    ),
    (
        "supabase-token",
        "sbp_ sb_secret_",
        r"\b(?:sbp_(?:v0_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{22,48})\b",
        Check::Entropy(28),
    ),
    (
        "databricks-token",
        "dapi",
        r"\bdapi[a-f0-9]{32}(?:-[0-9])?\b",
        Check::Entropy(28),
    ),
    (
        "tailscale-key",
        "tskey-",
        r"\btskey-[a-z]{3,12}-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{20,60}\b",
        Check::Entropy(30),
    ),
    (
        "onepassword-token",
        "ops_eyj a3-",
        r"\b(?:ops_eyJ[A-Za-z0-9+/_-]{200,1500}={0,2}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5})",
        Check::Entropy(34),
    ),
    (
        "infracost-key",
        "ico-",
        r"\bico-[A-Za-z0-9]{32}\b",
        Check::Entropy(33),
    ),
    (
        "openshift-token",
        "sha256~",
        r"\bsha256~[A-Za-z0-9_-]{43}",
        Check::Entropy(35),
    ),
    (
        "url-password",
        ":// & @",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@'\x22<>{}$\x5c]{0,64}:(?P<s>[^\s/@'\x22<>\x5c]{3,128})@[A-Za-z0-9.\[_$%{-]",
        Check::Given,
    ),
];
