//! The file of an installed model.
//!
//! # Layer
//! Layer 0, inside `model`.
//!
//! # Format
//! `TRMODEL1`; the length of the header, its CRC-32C, the length of the body and its CRC-32C, each a `u32`; the header, as
//! JSON; the body; the rows of the word embeddings (`words.rs`). All numbers are little-endian. The body has the text and
//! the order of the pieces; for Unigram the scores, and text and order of the normaliser's keys and replacements; the sums
//! of positions and first text; and the norms and matrices in the order of `encoder.rs`. A text and an order begin with their
//! number of bytes. Opening reads all but the rows.
//!
//! # Invariants
//! - MOD-1: every byte that is used was compared with a checksum.
//! - MOD-2: no content of a file makes the reader panic or reserve more memory than the file has bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::config::Config;
use super::encoder::{Encoder, Layer, Norm};
use super::error::{ModelError, Result};
use super::linear::{Linear, PANEL};
use super::model::SentenceModel;
use super::tokens::unigram::{Replacements, Unigram};
use super::tokens::vocabulary::{SEPARATOR, Vocabulary};
use super::tokens::word_pieces::WordPieces;
use super::tokens::{Kind, Tokenizer};
use super::words::{Words, row_size};

const MAGIC: &[u8; 8] = b"TRMODEL1";
/// The bytes before the header.
const START: usize = MAGIC.len() + 16;
/// The largest header, and the largest number of bytes that opening reads.
const HEADER_MAX: usize = 1 << 16;
const BODY_MAX: usize = 1 << 30;

/// The description of an installed model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The name, by which settings choose the model.
    pub name: String,
    /// The name and the version, which changes with the weights and prefixes.
    pub id: String,
    /// The languages that the model knows, as codes of two letters. Empty if unknown.
    pub languages: Vec<String>,
    /// The licence of the weights, if it is known.
    pub licence: String,
    /// The SHA-256 of the file that was installed.
    pub source_sha256: String,
    /// The configuration.
    pub config: Config,
}

impl Card {
    /// Returns the card of a model of which only the configuration is known.
    pub(crate) fn of(config: Config) -> Self {
        Self {
            name: String::new(),
            id: String::new(),
            languages: Vec::new(),
            licence: String::new(),
            source_sha256: String::new(),
            config,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    card: Card,
    tokenizer: Kind,
    word_bits: usize,
    word_rows: usize,
}

/// The pieces of a converted model, ready to be written.
pub(crate) struct Parts {
    pub(crate) card: Card,
    pub(crate) kind: Kind,
    pub(crate) pieces: Vec<Vec<u8>>,
    /// The scores of the pieces. Empty for word pieces.
    pub(crate) scores: Vec<f32>,
    /// The keys of the normaliser and their replacements. Empty for word pieces.
    pub(crate) replacements: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) word_bits: usize,
    /// The rows of the word embeddings, with checksums.
    pub(crate) rows: Vec<u8>,
    pub(crate) positions: Vec<f32>,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

impl Parts {
    /// Returns the bytes of the file, and the card with the id.
    ///
    /// # Errors
    /// `Damaged` if the header cannot be written.
    pub(crate) fn into_bytes(self) -> Result<(Vec<u8>, Card)> {
        let body = self.body();
        let mut digest = Sha256::new();
        let mut header = Header {
            word_bits: self.word_bits,
            word_rows: self.pieces.len(),
            card: self.card,
            tokenizer: self.kind,
        };
        let text = |header: &Header| {
            serde_json::to_vec(header)
                .map_err(|error| ModelError::damaged(format_args!("the header: {error}")))
        };
        header.card.id = String::new();
        digest.update(text(&header)?);
        digest.update(&body);
        digest.update(&self.rows);
        header.card.id = format!("{}@{}", header.card.name, &hex(&digest.finalize())[..16]);
        let start = text(&header)?;
        let mut out = Vec::with_capacity(START + start.len() + body.len() + self.rows.len());
        out.extend_from_slice(MAGIC);
        for part in [&start, &body] {
            out.extend_from_slice(&(part.len() as u32).to_le_bytes());
            out.extend_from_slice(&crc32c::crc32c(part).to_le_bytes());
        }
        out.extend_from_slice(&start);
        out.extend_from_slice(&body);
        out.extend_from_slice(&self.rows);
        Ok((out, header.card))
    }

    fn body(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_pieces(&mut out, self.pieces.iter().map(Vec::as_slice));
        if matches!(self.kind, Kind::Unigram { .. }) {
            put_numbers(&mut out, &self.scores);
            put_pieces(&mut out, self.replacements.iter().map(|(key, _)| key.as_slice()));
            put_pieces(
                &mut out,
                self.replacements.iter().map(|(_, value)| value.as_slice()),
            );
        }
        put_numbers(&mut out, &self.positions);
        put_norm(&mut out, &self.norm);
        for layer in &self.layers {
            for linear in [&layer.query, &layer.key, &layer.value, &layer.output] {
                put_linear(&mut out, linear);
            }
            put_norm(&mut out, &layer.output_norm);
            put_linear(&mut out, &layer.up);
            put_linear(&mut out, &layer.down);
            put_norm(&mut out, &layer.down_norm);
        }
        out
    }
}

fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_pieces<'a>(out: &mut Vec<u8>, pieces: impl Iterator<Item = &'a [u8]>) {
    let (text, order) = Vocabulary::arrange(pieces);
    put_sized(out, &text);
    let order: Vec<u8> = order.iter().flat_map(|number| number.to_le_bytes()).collect();
    put_sized(out, &order);
}

fn put_numbers(out: &mut Vec<u8>, numbers: &[f32]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put_norm(out: &mut Vec<u8>, norm: &Norm) {
    put_numbers(out, &norm.scale);
    put_numbers(out, &norm.bias);
}

fn put_linear(out: &mut Vec<u8>, linear: &Linear) {
    let (units, scales, bias) = linear.parts();
    out.extend_from_slice(bytemuck::must_cast_slice(units));
    put_numbers(out, scales);
    put_numbers(out, bias);
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text
}

/// Returns the card of the model in a file, without reading its weights.
///
/// # Errors
/// `Io`; `Damaged` if the file is not a model or its header is damaged.
pub fn read_card(path: &Path) -> Result<Card> {
    let file = File::open(path).map_err(|error| failed("opening", path, error))?;
    let (header, _) = read_header(&file).map_err(|error| error.of(path))?;
    Ok(header.card)
}

/// Compares all bytes of a file with its checksums.
///
/// # Errors
/// Those of [`SentenceModel::open`], and `Damaged` if a row is damaged.
pub fn check(path: &Path) -> Result<Card> {
    let card = read_card(path)?;
    let model = SentenceModel::open(path)?;
    let mut sum = vec![0.0; card.config.width];
    for row in 0..model.tokenizer.len() {
        if !model.words.add(row, &mut sum) {
            return Err(ModelError::damaged(format_args!(
                "{}: row {row} of the words",
                path.display()
            )));
        }
    }
    Ok(card)
}

/// Reads the file of a model.
pub(crate) fn read(file: File, path: &Path) -> Result<SentenceModel> {
    let (header, body) = read_header(&file).map_err(|error| error.of(path))?;
    read_body(file, header, &body).map_err(|error| error.of(path))
}

/// Why a file could not be read.
enum Fault {
    Io(io::Error),
    Damaged(&'static str),
    Model(ModelError),
}

impl Fault {
    fn of(self, path: &Path) -> ModelError {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                ModelError::damaged(format_args!("{} is cut off", path.display()))
            }
            Self::Io(error) => failed("reading", path, error),
            Self::Damaged(what) => ModelError::damaged(format_args!("{}: {what}", path.display())),
            Self::Model(error) => error,
        }
    }
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> ModelError {
    ModelError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// The place of the body, and its checksum.
struct Body {
    start: usize,
    size: usize,
    checksum: u32,
}

fn read_header(file: &File) -> std::result::Result<(Header, Body), Fault> {
    let mut start = [0; START];
    file.read_exact_at(&mut start, 0).map_err(Fault::Io)?;
    let (magic, numbers) = start.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(Fault::Damaged("this is not the file of a model"));
    }
    let (numbers, _) = numbers.as_chunks::<4>();
    let number = |at: usize| u32::from_le_bytes(numbers[at]);
    let (header_size, body_size) = (number(0) as usize, number(2) as usize);
    if header_size > HEADER_MAX || body_size > BODY_MAX {
        return Err(Fault::Damaged("a length is too large"));
    }
    let mut header = vec![0; header_size];
    file.read_exact_at(&mut header, START as u64).map_err(Fault::Io)?;
    if crc32c::crc32c(&header) != number(1) {
        return Err(Fault::Damaged("the checksum of the header does not fit"));
    }
    let header: Header = serde_json::from_slice(&header)
        .map_err(|_| Fault::Damaged("the header is not that of this version"))?;
    let body = Body {
        start: START + header_size,
        size: body_size,
        checksum: number(3),
    };
    Ok((header, body))
}

fn read_body(file: File, header: Header, place: &Body) -> std::result::Result<SentenceModel, Fault> {
    let config = header.card.config;
    config.check().map_err(Fault::Model)?;
    if header.word_bits != 4 && header.word_bits != 8 {
        return Err(Fault::Damaged("the words have neither 4 nor 8 bits"));
    }
    let length = file.metadata().map_err(Fault::Io)?.len();
    let rows_start = (place.start + place.size) as u64;
    let rows_size = (header.word_rows as u64).checked_mul(row_size(config.width, header.word_bits) as u64);
    if rows_size.and_then(|size| rows_start.checked_add(size)) != Some(length) {
        return Err(Fault::Damaged("the file has another length than its header says"));
    }
    let mut body = vec![0; place.size];
    file.read_exact_at(&mut body, place.start as u64)
        .map_err(Fault::Io)?;
    if crc32c::crc32c(&body) != place.checksum {
        return Err(Fault::Damaged("the checksum of the weights does not fit"));
    }
    let mut reader = Reader(&body);
    let tokenizer = reader.tokenizer(&header.tokenizer, header.word_rows)?;
    let encoder = Encoder {
        positions: reader.vector(config.positions * config.width)?,
        norm: reader.norm(config.width)?,
        layers: (0..config.layers)
            .map(|_| reader.layer(&config))
            .collect::<std::result::Result<_, _>>()?,
        config,
    };
    if !reader.0.is_empty() {
        return Err(Fault::Damaged("the weights are followed by other bytes"));
    }
    Ok(SentenceModel {
        id: header.card.id,
        tokenizer,
        words: Words::Stored {
            file,
            start: rows_start,
            bits: header.word_bits,
        },
        encoder,
    })
}

/// Reads one part of the body after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> std::result::Result<&'a [u8], Fault> {
        let (taken, rest) = self
            .0
            .split_at_checked(size)
            .ok_or(Fault::Damaged("the weights are shorter than their layout"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn sized(&mut self) -> std::result::Result<&'a [u8], Fault> {
        let (size, _) = self.take(4)?.as_chunks::<4>();
        self.take(u32::from_le_bytes(size[0]) as usize)
    }

    fn vector(&mut self, size: usize) -> std::result::Result<Vec<f32>, Fault> {
        let (numbers, _) = self.take(4 * size)?.as_chunks::<4>();
        Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    fn pieces(&mut self) -> std::result::Result<Vocabulary, Fault> {
        let text = self.sized()?.to_owned();
        let (order, _) = self.sized()?.as_chunks::<4>();
        let order = order.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        Vocabulary::new(text, SEPARATOR, order).ok_or(Fault::Damaged("the pieces and their order differ"))
    }

    fn tokenizer(&mut self, kind: &Kind, rows: usize) -> std::result::Result<Tokenizer, Fault> {
        let pieces = self.pieces()?;
        let (Kind::WordPieces { ends, .. } | Kind::Unigram { ends }) = *kind;
        let largest = ends.start.max(ends.end).max(ends.unknown) as usize;
        if pieces.len() != rows || largest >= rows {
            return Err(Fault::Damaged("the pieces and the rows of the words differ"));
        }
        Ok(match *kind {
            Kind::WordPieces {
                lower_case,
                strip_accents,
                ends,
            } => Tokenizer::WordPieces(WordPieces::new(pieces, ends, lower_case, strip_accents)),
            Kind::Unigram { ends } => {
                let scores = self.vector(pieces.len())?;
                let replacements = Replacements {
                    keys: self.pieces()?,
                    values: self.pieces()?,
                };
                if replacements.keys.len() != replacements.values.len() {
                    return Err(Fault::Damaged(
                        "the keys of the normaliser and their replacements differ",
                    ));
                }
                Tokenizer::Unigram(Unigram::new(pieces, scores, replacements, ends))
            }
        })
    }

    fn norm(&mut self, width: usize) -> std::result::Result<Norm, Fault> {
        Ok(Norm {
            scale: self.vector(width)?,
            bias: self.vector(width)?,
        })
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> std::result::Result<Linear, Fault> {
        debug_assert!(outputs.is_multiple_of(PANEL), "the configuration was checked");
        let units = bytemuck::must_cast_slice(self.take(inputs * outputs)?).to_owned();
        Ok(Linear::new(units, self.vector(outputs)?, self.vector(outputs)?))
    }

    fn layer(&mut self, config: &Config) -> std::result::Result<Layer, Fault> {
        let (width, inner) = (config.width, config.inner_width);
        Ok(Layer {
            query: self.linear(width, width)?,
            key: self.linear(width, width)?,
            value: self.linear(width, width)?,
            output: self.linear(width, width)?,
            output_norm: self.norm(width)?,
            up: self.linear(width, inner)?,
            down: self.linear(inner, width)?,
            down_norm: self.norm(width)?,
        })
    }
}
