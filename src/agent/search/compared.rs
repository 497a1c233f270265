//! Compares new texts with those of a state by meaning.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::sync::Arc;

use super::vectors::{Vectors, text_key};
use crate::engine::{Memory, View};
use treering_text::recall::{TextMeaning, VectorTable};

/// The vectors of the texts of a state, and of new texts.
pub(in crate::agent) struct ComparedTexts<'a> {
    pub(super) vectors: &'a Vectors,
    pub(super) memory: &'a Memory,
    pub(super) view: &'a View,
}

impl TextMeaning for ComparedTexts<'_> {
    fn of_new(&self, text: &str, among_others: bool) -> Option<Vec<f32>> {
        let key = text_key(self.memory.suite(), text);
        self.vectors.embed_new(key, text, among_others)
    }

    fn with_stored(&self, vector: &[f32], text: &str) -> Option<f32> {
        let key = text_key(self.memory.suite(), text);
        let table = self.table();
        if table.knows(&key) {
            return table.cosine_with(vector, &key);
        }
        drop(table);
        let drops = self.vectors.drops();
        let of_text = self.vectors.embed_stored(key, text)?;
        self.vectors.add(&mut vec![of_text], drops);
        self.vectors.table().cosine_with(vector, &key)
    }

    fn table(&self) -> Arc<VectorTable> {
        self.vectors.load(self.memory, self.view);
        self.vectors.table()
    }
}
