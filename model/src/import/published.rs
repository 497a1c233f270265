//! The parts of an encoder in the files of its publisher: weights, `config.json`, `tokenizer.json`, and the files in
//! which the project sentence-transformers says how to pool.
//!
//! # Layer
//! Layer 0, inside `model`.

use serde_json::Value;

use super::source::Source;
use super::tensors::Tensors;
use super::{onnx, safetensors, tokenizer_json};
use crate::config::{Activation, Config, POSITIONS_MAX, Pooling};
use crate::error::{ModelError, Result};
use crate::file::{Card, Parts};

/// Reads the parts of a model. `file` is the name of the weights, and `bytes` their content.
pub(super) fn parts(source: &mut Source, file: &str, bytes: &[u8]) -> Result<Parts> {
    let json = |source: &mut Source, name: &str| -> Result<Option<Value>> {
        let bytes = match source.read_beside(file, name) {
            Err(ModelError::Missing(_)) => return Ok(None),
            read => read?,
        };
        let value = serde_json::from_slice(&bytes);
        value
            .map(Some)
            .map_err(|error| ModelError::damaged(format_args!("{name}: {error}")))
    };
    let missing = || ModelError::Missing("there is no config.json beside the weights".to_owned());
    let about = json(source, "config.json")?.ok_or_else(missing)?;
    let (mut config, first_position) = config(&about)?;
    if let Some(length) = json(source, "sentence_bert_config.json")? {
        let length = number(&length, "max_seq_length").unwrap_or(config.positions);
        config.positions = config.positions.min(length);
    }
    if let Some(modules) = json(source, "modules.json")? {
        check_modules(&modules)?;
    }
    if let Some(pooling) = json(source, "1_Pooling/config.json")? {
        config.pooling = pooling_of(&pooling)?;
    }
    if let Some(more) = json(source, "config_sentence_transformers.json")? {
        let prompt = |names: &[&str]| {
            let found = names.iter().find_map(|name| more["prompts"][*name].as_str());
            found.unwrap_or_default().to_owned()
        };
        config.question_prefix = prompt(&["query"]);
        config.text_prefix = prompt(&["passage", "document"]);
    }
    config.check()?;
    let tokenizer = tokenizer_json::read(&source.read_beside(file, "tokenizer.json")?)?;
    let tensors = if file.to_lowercase().ends_with(".onnx") || bytes.first() == Some(&8) {
        Tensors::new(onnx::tensors(bytes)?)
    } else {
        Tensors::new(safetensors::tensors(bytes)?)
    };
    Ok(Parts {
        rows: tensors.word_rows(tokenizer.pieces.len(), &config)?,
        positions: tensors.positions(first_position, &config)?,
        norm: tensors.first_norm(&config)?,
        layers: (0..config.layers)
            .map(|layer| tensors.layer(layer, &config))
            .collect::<Result<_>>()?,
        kind: tokenizer.kind,
        pieces: tokenizer.pieces,
        scores: tokenizer.scores,
        replacements: tokenizer.replacements,
        word_bits: 8,
        card: Card::of(config),
    })
}

fn number(value: &Value, name: &str) -> Option<usize> {
    value[name]
        .as_u64()
        .and_then(|number| usize::try_from(number).ok())
}

/// Reads `config.json`. Also returns the number of the first position.
fn config(about: &Value) -> Result<(Config, usize)> {
    let unsupported = |what: String| Err(ModelError::Unsupported(what));
    let need = |name: &str| {
        number(about, name).ok_or_else(|| ModelError::Missing(format!("config.json has no {name}")))
    };
    let first_position = match about["model_type"].as_str().unwrap_or_default() {
        "bert" => 0,
        // Their positions count from the number of the padding on.
        "roberta" | "xlm-roberta" => number(about, "pad_token_id").unwrap_or(1).saturating_add(1),
        other => {
            return unsupported(format!(
                "it is of the type {other}, expected bert, roberta or xlm-roberta"
            ));
        }
    };
    if about["position_embedding_type"].as_str().unwrap_or("absolute") != "absolute" {
        return unsupported("its positions are relative".to_owned());
    }
    let activation = match about["hidden_act"].as_str().unwrap_or("gelu") {
        "gelu" => Activation::Gelu,
        "relu" => Activation::Relu,
        other => return unsupported(format!("its activation is {other}")),
    };
    let epsilon = about["layer_norm_eps"].as_f64().unwrap_or(1e-12);
    let config = Config {
        layers: need("num_hidden_layers")?,
        heads: need("num_attention_heads")?,
        width: need("hidden_size")?,
        inner_width: need("intermediate_size")?,
        positions: need("max_position_embeddings")?
            .saturating_sub(first_position)
            .min(POSITIONS_MAX),
        activation,
        pooling: Pooling::Mean,
        epsilon: epsilon as f32,
        question_prefix: String::new(),
        text_prefix: String::new(),
    };
    Ok((config, first_position))
}

/// Refuses a model that changes the pooled vector, for example by another matrix.
fn check_modules(modules: &Value) -> Result<()> {
    for module in modules.as_array().into_iter().flatten() {
        let kind = module["type"].as_str().unwrap_or_default();
        let name = kind.rsplit('.').next().unwrap_or_default();
        if !["Transformer", "Pooling", "Normalize"].contains(&name) {
            return Err(ModelError::Unsupported(format!("it has a module {kind}")));
        }
    }
    Ok(())
}

fn pooling_of(pooling: &Value) -> Result<Pooling> {
    let is = |name: &str| pooling[name].as_bool().unwrap_or(false);
    match (is("pooling_mode_mean_tokens"), is("pooling_mode_cls_token")) {
        (true, false) => Ok(Pooling::Mean),
        (false, true) => Ok(Pooling::First),
        _ => Err(ModelError::Unsupported(
            "it pools neither by the mean nor by the first token".to_owned(),
        )),
    }
}
