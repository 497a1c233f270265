//! All pictures on one page that needs nothing else: no network, no other file.
//!
//! What is known of the rows goes along as JSON in a block that is not run. The policy of the page runs the one
//! script whose digest it names, so that no text of a memory could be run, were it not escaped (PIC-1).
//!
//! # Layer
//! L10, part of cli.

use serde_json::{Value, json};

use super::svg::{DOT, INDENT, ROW, TOP, element};
use super::{Picture, escaped};
use crate::digest::sha256;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");

/// The page with all of `pictures`.
pub(in crate::cli) fn html(title: &str, pictures: &[Picture]) -> String {
    let drawn: String = pictures.iter().map(|picture| element(picture, "")).collect();
    let data = json!({
        "top": TOP,
        "row": ROW,
        "indent": INDENT,
        "dot": DOT,
        "pictures": pictures.iter().map(data).collect::<Vec<_>>(),
    });
    // The end of the block may not appear in it; in JSON a sign can be written by its number.
    let data = data.to_string().replace('<', "\\u003c");
    let style = concat!(include_str!("page.css"), include_str!("picture.css"));
    let filled = |name: &str| match name {
        "HASH" => base64(&sha256(SCRIPT.as_bytes())),
        "TITLE" => escaped(title),
        "STYLE" => style.to_owned(),
        "PICTURES" => drawn.clone(),
        "DATA" => data.clone(),
        "SCRIPT" => SCRIPT.to_owned(),
        _ => String::new(),
    };
    // One pass: what is filled in is not looked at again.
    let parts = PAGE.split('@').enumerate();
    parts
        .map(|(at, part)| {
            if at % 2 == 0 {
                part.to_owned()
            } else {
                filled(part)
            }
        })
        .collect()
}

fn data(picture: &Picture) -> Value {
    let rows: Vec<Value> = picture
        .rows
        .iter()
        .map(|row| {
            json!({
                "parent": row.parent,
                "name": row.name,
                "text": row.text,
                "tags": row.tags,
                "details": row.details,
            })
        })
        .collect();
    json!({ "name": picture.name, "rows": rows })
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
        for place in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() {
                char::from(sign)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_that_of_the_standard() {
        // The examples of RFC 4648, section 10.
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(super::base64(plain.as_bytes()), coded);
        }
    }
}
