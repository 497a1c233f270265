//! Models that are converted and installed, from outside. The model is tiny and made up.
#![allow(missing_docs, reason = "a test has no readers of its documentation")]
#![allow(clippy::unwrap_used, reason = "a test that fails shows where")]

use std::fs;
use std::path::Path;

use serde_json::json;
use treering_model::import::{Source, Wanted, convert, find};
use treering_model::{ModelError, SentenceModel, check, read_card};

const WIDTH: usize = 64;
const INNER: usize = 128;
const POSITIONS: usize = 16;
const PIECES: [&str; 8] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "green", "##s", "?"];

/// Returns numbers that look random, and are the same each time.
fn numbers(seed: usize, count: usize) -> Vec<u8> {
    let number = |at: usize| ((at * 7_919 + seed * 104_729) % 2_003) as f32 / 1_001.5 - 1.0;
    (0..count)
        .flat_map(|at| (number(at) * 0.2).to_le_bytes())
        .collect()
}

/// Returns the bytes of a file of the format safetensors.
fn safetensors() -> Vec<u8> {
    let mut shapes = vec![
        (
            "embeddings.word_embeddings.weight".to_owned(),
            vec![PIECES.len(), WIDTH],
        ),
        (
            "embeddings.position_embeddings.weight".to_owned(),
            vec![POSITIONS, WIDTH],
        ),
        (
            "embeddings.token_type_embeddings.weight".to_owned(),
            vec![2, WIDTH],
        ),
    ];
    let norm = |name: &str, shapes: &mut Vec<_>| {
        shapes.push((format!("{name}.weight"), vec![WIDTH]));
        shapes.push((format!("{name}.bias"), vec![WIDTH]));
    };
    norm("embeddings.LayerNorm", &mut shapes);
    let layer = "encoder.layer.0";
    for (name, outputs, inputs) in [
        ("attention.self.query", WIDTH, WIDTH),
        ("attention.self.key", WIDTH, WIDTH),
        ("attention.self.value", WIDTH, WIDTH),
        ("attention.output.dense", WIDTH, WIDTH),
        ("intermediate.dense", INNER, WIDTH),
        ("output.dense", WIDTH, INNER),
    ] {
        shapes.push((format!("{layer}.{name}.weight"), vec![outputs, inputs]));
        shapes.push((format!("{layer}.{name}.bias"), vec![outputs]));
    }
    norm(&format!("{layer}.attention.output.LayerNorm"), &mut shapes);
    norm(&format!("{layer}.output.LayerNorm"), &mut shapes);
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (seed, (name, shape)) in shapes.into_iter().enumerate() {
        let start = data.len();
        data.extend(numbers(seed, shape.iter().product()));
        let entry = json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()] });
        header.insert(format!("bert.{name}"), entry);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(data);
    file
}

/// Writes the files of a published model, with changes to `config.json`.
fn publish(folder: &Path, changes: &serde_json::Value) {
    let vocabulary: serde_json::Map<_, _> = PIECES
        .iter()
        .enumerate()
        .map(|(number, piece)| ((*piece).to_owned(), json!(number)))
        .collect();
    let tokenizer = json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": true, "strip_accents": null },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "vocab": vocabulary },
    });
    let mut config = json!({
        "model_type": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": WIDTH,
        "intermediate_size": INNER, "max_position_embeddings": POSITIONS, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
    });
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    fs::write(folder.join("model.safetensors"), safetensors()).unwrap();
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
}

fn converted(folder: &Path, prefix: Option<&str>) -> Result<Vec<u8>, ModelError> {
    let mut source = Source::open(folder)?;
    let found = find(&mut source)?;
    let wanted = Wanted {
        name: "tiny".to_owned(),
        question_prefix: prefix.map(str::to_owned),
        text_prefix: None,
    };
    Ok(convert(&mut source, &found, &wanted)?.bytes)
}

#[test]
fn a_published_model_is_installed_and_has_an_id_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    publish(folder.path(), &json!({}));
    let file = folder.path().join("tiny.model");
    fs::write(&file, converted(folder.path(), None).unwrap()).unwrap();
    let card = check(&file).unwrap();
    assert_eq!((card.name.as_str(), card.config.width), ("tiny", WIDTH));
    let model = SentenceModel::open(&file).unwrap();
    assert_eq!(model.id(), card.id);
    assert_eq!(model.embed("green teas?").len(), WIDTH);
    assert_eq!(model.embed("green teas?"), model.embed("GREEN  teas ?"));
    assert_ne!(model.embed("green"), model.embed("tea"));
    assert_eq!(model.embed_question("tea"), model.embed("tea"));

    let file = folder.path().join("other.model");
    fs::write(&file, converted(folder.path(), Some("green ")).unwrap()).unwrap();
    let other = SentenceModel::open(&file).unwrap();
    assert_ne!(other.id(), card.id);
    assert_eq!(other.embed_question("tea"), model.embed("green tea"));
}

/// INVARIANT CNV-2: weights are read again for the conversion, so others than those of the digest are refused.
#[test]
fn weights_that_change_after_the_search_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    publish(folder.path(), &json!({}));
    let mut source = Source::open(folder.path()).unwrap();
    let found = find(&mut source).unwrap();
    let weights = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, bytes).unwrap();
    assert!(matches!(
        convert(&mut source, &found, &Wanted::default()),
        Err(ModelError::Damaged(_))
    ));
}

/// INVARIANT MOD-2: a header with numbers that no file has, and a checksum that fits.
#[test]
fn a_crafted_header_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    publish(folder.path(), &json!({}));
    let bytes = converted(folder.path(), None).unwrap();
    let size = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    let (header, rest) = bytes[24..].split_at(size);
    let mut header: serde_json::Value = serde_json::from_slice(header).unwrap();
    for rows in [u64::MAX, u64::MAX / 2, 1 << 60] {
        header["word_rows"] = rows.into();
        let header = serde_json::to_vec(&header).unwrap();
        let mut crafted = bytes[..8].to_vec();
        crafted.extend((header.len() as u32).to_le_bytes());
        crafted.extend(crc32c::crc32c(&header).to_le_bytes());
        crafted.extend(&bytes[16..24]);
        crafted.extend(header);
        crafted.extend(rest);
        let file = folder.path().join("crafted.model");
        fs::write(&file, crafted).unwrap();
        assert!(
            matches!(SentenceModel::open(&file), Err(ModelError::Damaged(_))),
            "{rows}"
        );
    }
}

/// INVARIANT CNV-1: positions that no matrix has.
#[test]
fn a_crafted_configuration_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for padding in [u64::MAX, u64::MAX - 20, u64::MAX / 2] {
        let changes = json!({
            "model_type": "roberta", "pad_token_id": padding, "max_position_embeddings": u64::MAX,
        });
        publish(folder.path(), &changes);
        assert!(
            matches!(converted(folder.path(), None), Err(ModelError::Unsupported(_))),
            "{padding}"
        );
    }
}

/// INVARIANT MOD-1, MOD-2: a damaged file is refused or gives no vector, and never panics.
#[test]
fn a_damaged_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    publish(folder.path(), &json!({}));
    let bytes = converted(folder.path(), None).unwrap();
    let file = folder.path().join("tiny.model");
    for at in (0..bytes.len()).step_by(97).chain(0..40) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(&file, &damaged).unwrap();
        assert!(check(&file).is_err(), "byte {at}");
    }
    for length in (0..bytes.len()).step_by(211) {
        fs::write(&file, &bytes[..length]).unwrap();
        assert!(SentenceModel::open(&file).is_err(), "{length} bytes");
    }
    let last = bytes.len() - 1;
    let mut damaged = bytes;
    damaged[last] ^= 1;
    fs::write(&file, &damaged).unwrap();
    let model = SentenceModel::open(&file).unwrap();
    assert_eq!(model.embed("?"), Vec::<f32>::new());
    assert!(!model.embed("tea").is_empty());
    assert!(read_card(&file).is_ok());
}

#[test]
fn other_kinds_of_models_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (changes, reason) in [
        (json!({ "model_type": "t5" }), "t5"),
        (json!({ "hidden_act": "silu" }), "silu"),
        (json!({ "position_embedding_type": "relative_key" }), "relative"),
        (json!({ "num_hidden_layers": 2 }), "encoder.layer.1"),
        (json!({ "num_attention_heads": 3 }), "heads"),
        (json!({ "hidden_size": 128 }), "shape"),
    ] {
        publish(folder.path(), &changes);
        match converted(folder.path(), None) {
            Err(ModelError::Unsupported(why)) => assert!(why.contains(reason), "{changes}: {why}"),
            other => panic!("{changes}: {:?}", other.map(|bytes| bytes.len())),
        }
    }
    publish(folder.path(), &json!({}));
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    assert!(matches!(
        converted(folder.path(), None),
        Err(ModelError::Missing(_))
    ));
    fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    assert!(matches!(
        converted(folder.path(), None),
        Err(ModelError::Missing(_))
    ));
}
