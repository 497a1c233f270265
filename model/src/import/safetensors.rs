//! Reads the tensors of a file of the format `safetensors`: a length, a JSON object, and the numbers.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;

use super::tensors::{Numbers, Tensor};
use crate::error::{ModelError, Result};

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// Returns the tensors by name.
pub(super) fn tensors(bytes: &[u8]) -> Result<Vec<(String, Tensor<'_>)>> {
    let damaged = |what: &str| ModelError::damaged(format_args!("safetensors: {what}"));
    let (size, rest) = bytes
        .split_first_chunk()
        .ok_or_else(|| damaged("the file is cut off"))?;
    let size = usize::try_from(u64::from_le_bytes(*size)).unwrap_or(usize::MAX);
    let (header, data) = rest
        .split_at_checked(size)
        .ok_or_else(|| damaged("the header is longer than the file"))?;
    let mut entries: BTreeMap<String, Value> =
        serde_json::from_slice(header).map_err(|error| damaged(&format!("the header: {error}")))?;
    entries.remove("__metadata__");
    let mut found = Vec::new();
    for (name, entry) in entries {
        let entry: Entry = serde_json::from_value(entry)
            .map_err(|error| damaged(&format!("the entry of {name}: {error}")))?;
        let numbers = match entry.dtype.as_str() {
            "F32" => Numbers::F32,
            "F16" => Numbers::F16,
            "BF16" => Numbers::Bf16,
            // Position numbers and the like, which no layer needs.
            _ => continue,
        };
        let tensor = Tensor {
            numbers,
            shape: entry.shape.into(),
            bytes: Rc::new(Cow::Borrowed(
                data.get(entry.data_offsets.0..entry.data_offsets.1)
                    .unwrap_or_default(),
            )),
            scale: None,
            is_turned: false,
        };
        if !tensor.is_whole() {
            return Err(damaged(&format!("{name} does not fit its shape")));
        }
        found.push((name, tensor));
    }
    Ok(found)
}
