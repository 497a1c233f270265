//! The vocabulary and the word embeddings of the sentence model all-MiniLM-L6-v2, as `model/make.py` writes them. The
//! package `treering-model` reads them.

/// The embeddings of the words. `treering-model` describes the layout.
pub static WORDS: &[u8] = include_bytes!("../data/words.bin");

/// The word pieces of `bert-base-uncased`, one a line. The number of a piece is its line, from 0.
pub static VOCABULARY: &str = include_str!("../data/vocabulary.txt");

/// The numbers of the pieces in the order of their bytes, each as two bytes, the low one first.
pub static ORDER: &[u8] = include_bytes!("../data/order.bin");
