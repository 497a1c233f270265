//! The configuration of a model: the size of its layers, the way it reads a text, and its prefixes.
//!
//! # Layer
//! Layer 0, inside `model`.

use serde::{Deserialize, Serialize};

use super::error::{ModelError, Result};
use super::linear::{INPUTS_MAX, PANEL};

/// The number of weights that share a scale in a row of word embeddings.
pub(crate) const GROUP: usize = 32;
/// The largest number of word pieces that a model reads of a text.
pub(crate) const POSITIONS_MAX: usize = 512;
/// The largest number of layers.
const LAYERS_MAX: usize = 48;

/// The function between the two matrices of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// The exact Gaussian error linear unit.
    Gelu,
    /// max(x, 0).
    Relu,
}

/// How the vectors of the tokens become the vector of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean of all tokens.
    Mean,
    /// The vector of the first token.
    First,
}

/// The configuration of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The number of layers.
    pub layers: usize,
    /// The number of attention heads of a layer.
    pub heads: usize,
    /// The number of dimensions of a vector.
    pub width: usize,
    /// The number of dimensions between the two matrices of a layer.
    pub inner_width: usize,
    /// The number of word pieces that are read of a text, at most 512.
    pub positions: usize,
    /// The function between the two matrices of a layer.
    pub activation: Activation,
    /// How the vectors of the tokens become one.
    pub pooling: Pooling,
    /// The number that keeps a norm from dividing by zero.
    pub epsilon: f32,
    /// The prefix of a question.
    pub question_prefix: String,
    /// The prefix of a text that is searched.
    pub text_prefix: String,
}

impl Config {
    /// Checks that the encoder can compute such a model.
    ///
    /// # Errors
    /// `Unsupported` names the first number that is outside its bounds.
    pub fn check(&self) -> Result<()> {
        let fits = |what: &str, value: usize, max: usize, multiple: usize| {
            if value == 0 || value > max || !value.is_multiple_of(multiple) {
                let text = format!("{what} is {value}, expected a multiple of {multiple} up to {max}");
                return Err(ModelError::Unsupported(text));
            }
            Ok(())
        };
        fits("the number of layers", self.layers, LAYERS_MAX, 1)?;
        fits("the width", self.width, INPUTS_MAX, PANEL)?;
        fits("the inner width", self.inner_width, INPUTS_MAX, PANEL)?;
        fits("the number of positions", self.positions, POSITIONS_MAX, 1)?;
        fits("the number of heads", self.heads, self.width / 16, 1)?;
        if self.positions < 3 || !self.width.is_multiple_of(self.heads) {
            let text = format!("{} heads share {} dimensions", self.heads, self.width);
            return Err(ModelError::Unsupported(text));
        }
        fits("the width of a head", self.width / self.heads, INPUTS_MAX, 16)?;
        if !(self.epsilon > 0.0 && self.epsilon < 0.1) {
            let text = format!("the epsilon of the norms is {}", self.epsilon);
            return Err(ModelError::Unsupported(text));
        }
        Ok(())
    }
}
