//! Secrets that no prefix gives away: keys in armour, headers, tokens of three parts, values given to telling names.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use super::kinds::{Check, Row};

pub(super) const ROWS: &[Row] = &[
    (
        "private-key",
        "-----begin",
        r"(?i)-----BEGIN[ A-Z0-9_-]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        Check::Armour,
    ),
    (
        "putty-private-key",
        "putty-user-key-file-",
        r"PuTTY-User-Key-File-[0-9]: ?[a-z0-9-]{3,40}",
        Check::Armour,
    ),
    (
        "json-web-token",
        "eyj",
        r"\beyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]{4,3000}\.[A-Za-z0-9_-]{0,700}",
        Check::Jwt,
    ),
    (
        "bearer-token",
        "bearer",
        r"(?i:\bbearer)[ \t]{1,4}(?P<s>[A-Za-z0-9_.~+/-]{16,700}={0,2})",
        Check::Named,
    ),
    (
        "basic-authorization",
        "basic",
        r#"(?i:\bauthorization)["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?i:basic)[ \t]{1,4}(?P<s>[A-Za-z0-9+/]{8,300}={0,2})"#,
        Check::Entropy(25),
    ),
    (
        "curl-user-password",
        "curl",
        r"\bcurl\b[^\n|;&]{0,120}?[ \t](?:-u|--user|--proxy-user)[ =]?['\x22]?[A-Za-z0-9_.@-]{1,64}:(?P<s>[^\s'\x22:$<{]{3,128})",
        Check::Given,
    ),
    (
        "netrc-password",
        "machine",
        r"\bmachine[ \t]{1,4}[A-Za-z0-9.-]{1,100}\s{1,4}login[ \t]{1,4}[^\s]{1,64}\s{1,4}password[ \t]{1,4}(?P<s>[^\s]{3,128})",
        Check::Given,
    ),
    (
        "quoted-password",
        "pass pwd & = : is^ ^to^ ^was^",
        r#"(?i:password|passwd|passphrase|passcode|pass|pwd)(?i:[_-]?[a-z0-9]{1,12}){0,2}["'`\]]{0,2}[ \t]{0,4}(?:=>|:=|==|=|:|is[ \t]{1,2})[ \t]{0,4}"(?P<s>[^"\n\x5c]{4,128})""#,
        Check::Password,
    ),
    (
        "password",
        "pass pwd & = : is^ ^to^ ^was^",
        r#"(?i:password|passwd|passphrase|passcode|pass|pwd)(?i:[_-]?[a-z0-9]{1,12}){0,2}["'`\]]{0,2}[ \t]{0,4}(?:=>|:=|==|=|:|[ \t](?:is|to|was)[ \t])[ \t]{0,4}["'`]?(?P<s>[^\s"'`,;<>]{4,128})"#,
        Check::Password,
    ),
    (
        "named-secret",
        "secret token api_key api-key api^key apikey access_key access-key access^key accesskey auth_key auth-key auth^key authkey private_key private-key private^key encryption_key encryption-key signing_key signing-key master_key master-key client_key client-key account_key account-key storage_key storage-key webhook_key webhook-key encryptionkey signingkey masterkey clientkey accountkey storagekey webhookkey privatekey encryption^key signing^key master^key client^key account^key storage^key webhook^key credential authorization x-auth & = : ^is^ ^to^ ^was^",
        r#"(?i:(?:secret|token|api[_ -]?key|apikey|access[_ -]?key|auth[_ -]?key|private[_ -]?key|encryption[_ -]?key|signing[_ -]?key|master[_ -]?key|client[_ -]?key|account[_ -]?key|storage[_ -]?key|credentials?|authorization|x-auth|webhook[_ -]?key)(?:[_-][a-z0-9_-]{1,24})?)["'`\]]{0,2}[ \t]{0,4}(?:=>|:=|==|=|:|[ \t](?:is|to|was)[ \t])[ \t]{0,4}["'`]?(?:(?i:token|key|apikey)[ \t])?(?P<s>[A-Za-z0-9_.~+/=!@#%^&*-]{8,160})"#,
        Check::Named,
    ),
];
