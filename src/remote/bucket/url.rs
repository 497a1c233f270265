//! The parts of a URL of a bucket.
//!
//! # Layer
//! Layer 7, part of `remote/bucket`.

/// Returns a URL without the password of its user. The path of a file may contain anything.
pub fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (base, query) = rest
        .split_once('?')
        .map_or((rest, None), |(base, query)| (base, Some(query)));
    if scheme == "file" {
        return url.to_owned();
    }
    // A password may contain '/' and '@'.
    let user = base
        .rsplit_once('@')
        .and_then(|(user, host)| Some((user.split_once(':')?.0, host)));
    let base = user.map_or_else(|| base.to_owned(), |(user, host)| format!("{user}@{host}"));
    let is_public = |pair: &&str| {
        let key = decoded(pair.split('=').next().unwrap_or_default());
        key.is_some_and(|key| key != "password")
    };
    let query = query.map(|query| query.split('&').filter(is_public).collect::<Vec<_>>().join("&"));
    let query = query
        .filter(|query| !query.is_empty())
        .map(|query| format!("?{query}"));
    format!("{scheme}://{base}{}", query.unwrap_or_default())
}

/// Decodes the `%20` of a URL. Returns `None` for bytes that are no text.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, more) = more.split_at_checked(2)?;
        bytes.extend(crate::digest::from_hex(std::str::from_utf8(digits).ok()?)?);
        rest = more;
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
