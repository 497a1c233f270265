//! The layers of the sentence model all-MiniLM-L6-v2, as `model/make.py` writes them. The package `treering-model` reads
//! them.

/// The positions, the six layers and their norms. `treering-model` describes the layout.
pub static LAYERS: &[u8] = include_bytes!("../data/layers.bin");
