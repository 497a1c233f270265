//! The index as bytes, to be kept on disk beside the memories it was derived from.
//!
//! Memories are written in chronological order and terms in the order of their bytes, so that equal indexes have
//! equal bytes. `decode` reads them.
//!
//! # Layer
//! Knows the layout, with `decode`.
//!
//! # Format
//! `TRRC`, the version (1), then counts, lengths and numbers in base 128, low part first, as short as possible;
//! texts as their length and UTF-8. Four tables: scopes (name); speakers (scope, name); sessions (scope, name);
//! called names (name). Memories: key (16 bytes), time (8 bytes, little-endian), order, scope, session + 1 or 0,
//! speaker, length, marks (1 byte), spans (count, then first day and length, days zigzag), calls (count,
//! numbers), superseded keys (count, then 16 bytes each). Terms: text, count of postings, each the distance to the
//! memory before and the quarters. Vectors: dimensions, count, each memory, scale (4 bytes) and parts.

use std::collections::HashMap;

use super::columns::LIVE;
use super::{Index, Quantised};

pub(super) const MAGIC: &[u8; 4] = b"TRRC";
pub(super) const VERSION: u8 = 1;

/// Numbers given in the order of first use.
#[derive(Default)]
struct Table<'a> {
    numbers: HashMap<(u32, &'a str), u32>,
    rows: Vec<(u32, &'a str)>,
}

impl<'a> Table<'a> {
    fn number(&mut self, of: u32, name: &'a str) -> u32 {
        let next = self.rows.len() as u32;
        let rows = &mut self.rows;
        *self.numbers.entry((of, name)).or_insert_with(|| {
            rows.push((of, name));
            next
        })
    }
}

fn put(out: &mut Vec<u8>, value: u64) {
    let mut value = value;
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put(out, text.len() as u64);
    out.extend_from_slice(text);
}

fn zigzag(value: i32) -> u64 {
    u64::from(((value << 1) ^ (value >> 31)).cast_unsigned())
}

impl Index {
    /// The index as bytes: the same for the same memories, whatever came before.
    pub fn encode(&self) -> Vec<u8> {
        let mut live: Vec<u32> = (0..self.columns.len() as u32)
            .filter(|&number| self.columns.is_live(number))
            .collect();
        live.sort_unstable_by(|&one, &two| self.columns.chronology(one, two));
        let mut memories = Vec::new();
        let mut tables: [Table<'_>; 4] = Default::default();
        for &number in &live {
            self.encode_memory(number, &mut tables, &mut memories);
        }
        let mut out = MAGIC.to_vec();
        out.push(VERSION);
        for (at, table) in tables.iter().enumerate() {
            put(&mut out, table.rows.len() as u64);
            for (scope, name) in &table.rows {
                if at == 1 || at == 2 {
                    put(&mut out, u64::from(*scope));
                }
                put_text(&mut out, name.as_bytes());
            }
        }
        put(&mut out, live.len() as u64);
        out.append(&mut memories);
        let mut places = vec![None; self.columns.len()];
        for (place, &number) in live.iter().enumerate() {
            places[number as usize] = Some(place as u32);
        }
        self.encode_terms(&places, &mut out);
        self.encode_vectors(&live, &mut out);
        out
    }

    fn encode_memory<'a>(&'a self, number: u32, tables: &mut [Table<'a>; 4], out: &mut Vec<u8>) {
        let row = self.columns.row(number);
        let session = &self.sessions.all[row.session as usize];
        let [scopes, speakers, sessions, calls] = tables;
        let scope = scopes.number(0, &self.people.scopes[session.scope as usize].name);
        out.extend_from_slice(&row.key.0);
        out.extend_from_slice(&row.time.to_le_bytes());
        put(out, u64::from(row.order));
        put(out, u64::from(scope));
        let session = session
            .name
            .as_deref()
            .map_or(0, |name| u64::from(sessions.number(scope, name)) + 1);
        put(out, session);
        put(
            out,
            u64::from(speakers.number(scope, &self.people.speakers[row.speaker as usize].name)),
        );
        put(out, u64::from(row.length));
        out.push(row.flags & (LIVE - 1));
        let spans = self.columns.spans_of(number);
        put(out, spans.len() as u64);
        for (_, span) in spans {
            put(out, zigzag(span.first));
            put(out, u64::from(span.last.abs_diff(span.first)));
        }
        let called: Vec<&str> = self.people.calls_of(number).collect();
        put(out, called.len() as u64);
        for name in called {
            put(out, u64::from(calls.number(0, name)));
        }
        put(out, self.links.olds_of(row.key).count() as u64);
        self.links
            .olds_of(row.key)
            .for_each(|old| out.extend_from_slice(&old.0));
    }

    fn encode_terms(&self, places: &[Option<u32>], out: &mut Vec<u8>) {
        let mut terms: Vec<u32> = (0..self.postings.len() as u32).collect();
        terms.sort_unstable_by_key(|&term| self.postings.term(term));
        let (mut count, mut rows) = (0u64, Vec::new());
        let mut postings = Vec::new();
        for term in terms {
            postings.clear();
            self.postings.for_each(term, |posting| {
                if let Some(place) = places[posting.memory as usize] {
                    postings.push((place, posting.quarters));
                }
            });
            if postings.is_empty() {
                continue;
            }
            postings.sort_unstable();
            count += 1;
            put_text(&mut rows, self.postings.term(term));
            put(&mut rows, postings.len() as u64);
            let mut next = 0;
            for &(place, quarters) in &postings {
                put(&mut rows, u64::from(place - next));
                put(&mut rows, u64::from(quarters));
                next = place + 1;
            }
        }
        put(out, count);
        out.append(&mut rows);
    }

    fn encode_vectors(&self, live: &[u32], out: &mut Vec<u8>) {
        let vectors: Vec<(usize, Quantised)> = live
            .iter()
            .enumerate()
            .filter_map(|(place, &number)| Some((place, self.vectors.get(number)?)))
            .collect();
        put(
            out,
            vectors.first().map_or(0, |(_, vector)| vector.parts.len() as u64),
        );
        put(out, vectors.len() as u64);
        for (place, vector) in vectors {
            put(out, place as u64);
            out.extend_from_slice(&vector.scale.to_le_bytes());
            out.extend(vector.parts.iter().map(|&part| part.cast_unsigned()));
        }
    }
}
