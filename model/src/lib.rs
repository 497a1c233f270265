//! A sentence model in plain Rust: the meaning of a text as a vector, without a network and without a runtime.
//!
//! The bundled model is all-MiniLM-L6-v2: six layers of a transformer with 384 dimensions. Its weights are data of two
//! packages, 15.4 MB together. Two texts with similar meaning have vectors with a large inner product. The model knows
//! English; it reads at most 256 word pieces of a text. Other encoders of the BERT family are converted to one file
//! each, which this package writes and reads.
//!
//! ```
//! let model = treering_model::SentenceModel::bundled();
//! let close = |a: &str, b: &str| {
//!     let (a, b) = (model.embed(a), model.embed(b));
//!     a.iter().zip(&b).map(|(x, y)| x * y).sum::<f32>()
//! };
//! let question = "When do we ship?";
//! assert!(close(question, "Deploys happen on Friday at 15:00.") > close(question, "The office has a blue door."));
//! ```
//!
//! # Layer
//! Layer 0, beside the text code. Pure: the same text has the same vector on every machine, because the order of all
//! operations is fixed.

mod bundled;
mod config;
mod encoder;
mod error;
mod file;
pub mod import;
mod linear;
mod math;
mod model;
mod tokens;
mod words;

pub use self::config::{Activation, Config, Pooling};
pub use self::error::{ModelError, Result};
pub use self::file::{Card, check, read_card};
pub use self::model::{BUNDLED_ID, SentenceModel};
