//! Reads the table of `SentencePiece`'s normaliser: a double array trie, whose values are places of texts behind it.
//!
//! # Layer
//! Layer 0, inside `model`.

use crate::error::{ModelError, Result};
use crate::tokens::vocabulary::SEPARATOR;

/// The longest key.
const KEY_BYTES_MAX: usize = 64;
/// The largest number of keys. The usual table has 225,276.
const KEYS_MAX: usize = 1 << 20;
/// The longest replacement. Unicode has none above 33 bytes, so this is generous.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// Returns keys and replacements of a table in base64.
pub(super) fn read(map: &str) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let damaged = || ModelError::damaged("tokenizer.json: the table of the normaliser");
    let bytes = decode(map).ok_or_else(damaged)?;
    let (size, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
    let (array, texts) = rest
        .split_at_checked(u32::from_le_bytes(*size) as usize)
        .ok_or_else(damaged)?;
    let units: Vec<u32> = array
        .as_chunks::<4>()
        .0
        .iter()
        .map(|unit| u32::from_le_bytes(*unit))
        .collect();
    let mut found = Vec::new();
    let (mut keys, mut visits) = (0, 0);
    // The places to visit, each with its key. A place has its offset applied.
    let mut open = vec![(offset(*units.first().ok_or_else(damaged)?) as usize, Vec::new())];
    while let Some((place, key)) = open.pop() {
        // Equal ends of keys may share places, so a place may be visited again. But each place leads to a key, or the table
        // has a circle, and a visit of all paths would not end.
        visits += 1;
        if visits > KEY_BYTES_MAX * (keys + 1) {
            return Err(damaged());
        }
        for byte in 1..=u8::MAX {
            let place = place ^ usize::from(byte);
            let Some(unit) = units
                .get(place)
                .filter(|unit| **unit & 0x8000_00ff == u32::from(byte))
            else {
                continue;
            };
            let mut key: Vec<u8> = key.clone();
            key.push(byte);
            let place = place ^ offset(*unit) as usize;
            if unit >> 8 & 1 == 1 {
                let value = units.get(place).ok_or_else(damaged)? & 0x7fff_ffff;
                let text = texts.get(value as usize..).ok_or_else(damaged)?;
                let end = text.iter().take(TEXT_BYTES_MAX).position(|byte| *byte == 0);
                let text = &text[..end.ok_or_else(damaged)?];
                keys += 1;
                if !key.contains(&SEPARATOR) && !text.contains(&SEPARATOR) {
                    found.push((key.clone(), text.to_vec()));
                }
            }
            if keys > KEYS_MAX || open.len() > KEYS_MAX {
                return Err(damaged());
            }
            if key.len() < KEY_BYTES_MAX {
                open.push((place, key));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the offset of a unit to its children.
fn offset(unit: u32) -> u32 {
    (unit >> 10) << ((unit & (1 << 9)) >> 6)
}

/// Decodes base64 with the usual alphabet.
fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_known_values() {
        assert_eq!(decode("Zm9vYg==").as_deref(), Some(&b"foob"[..]));
        assert_eq!(decode("Zm9vYmE=").as_deref(), Some(&b"fooba"[..]));
        assert_eq!(decode("Zm9v").as_deref(), Some(&b"foo"[..]));
        assert_eq!(decode("Zm 9v"), None);
    }

    /// Encodes a table with these units and no texts.
    fn encode(units: &[u32]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut bytes = (4 * units.len() as u32).to_le_bytes().to_vec();
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        let digits = bytes.chunks(3).flat_map(|three| {
            let word = (0..3).fold(0, |word, at| {
                word << 8 | u32::from(three.get(at).copied().unwrap_or(0))
            });
            (0..=three.len()).map(move |at| char::from(DIGITS[(word >> (18 - 6 * at) & 63) as usize]))
        });
        digits.collect()
    }

    /// INVARIANT CNV-1: each place has two children, which both lead back to it. There are 2^64 paths of 64 bytes.
    #[test]
    fn a_table_with_a_circle_is_refused() {
        let mut units = vec![0; 512];
        units[0] = 256 << 10;
        units[256 ^ 1] = 1 | 1 << 10;
        units[256 ^ 2] = 2 | 2 << 10;
        let map = encode(&units);
        assert_eq!(decode(&map).unwrap()[4..][..4], units[0].to_le_bytes());
        assert!(read(&map).is_err());
    }

    #[test]
    fn damaged_tables_are_refused() {
        for map in ["", "AAAA", "////////", "AQAAAA==", "BAAAAAAAAAA="] {
            assert!(
                read(map).is_err() || read(map).is_ok_and(|found| found.is_empty()),
                "{map}"
            );
        }
    }
}
