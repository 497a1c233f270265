//! Reads the fields of a message of protocol buffers.
//!
//! # Layer
//! Layer 0, inside `model`.

use crate::error::{ModelError, Result};

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Returns the fields of a message, each with its number. The fields are in the order of the message.
pub(super) fn fields(mut message: &[u8]) -> Result<Vec<(u64, Field<'_>)>> {
    let damaged = || ModelError::damaged("onnx: a message is cut off");
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message).ok_or_else(damaged)?;
        let field = match key & 7 {
            0 => varint(&mut message).map(Field::Number),
            1 => take(&mut message, 8),
            2 => varint(&mut message)
                .and_then(|size| usize::try_from(size).ok())
                .and_then(|size| take(&mut message, size)),
            5 => take(&mut message, 4),
            _ => None,
        };
        found.push((key >> 3, field.ok_or_else(damaged)?));
    }
    Ok(found)
}

/// Reads the numbers of a packed field.
pub(super) fn numbers(mut packed: &[u8]) -> Result<Vec<u64>> {
    let mut found = Vec::new();
    while !packed.is_empty() {
        found.push(varint(&mut packed).ok_or_else(|| ModelError::damaged("onnx: a number is cut off"))?);
    }
    Ok(found)
}

fn take<'a>(message: &mut &'a [u8], size: usize) -> Option<Field<'a>> {
    let (taken, rest) = message.split_at_checked(size)?;
    *message = rest;
    Some(Field::Bytes(taken))
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 127) << shift;
        if *byte < 128 {
            return Some(value);
        }
    }
    None
}
