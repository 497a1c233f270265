//! Computes the similarity of two texts as `remember` does: by their words and by the bundled model, or with
//! `TREERING_MODEL=none` by their words alone. Reads JSON Lines `{"id","a","b"}` from standard input, and prints
//! `{"id","score","verdict"}`.
//!
//! `cargo run --release --example similarity < pairs.jsonl`
#![expect(clippy::print_stdout, reason = "the program prints its results")]

use std::error::Error;
use std::io::BufRead;

use serde_json::{Value, json};
use treering_model::SentenceModel;
use treering_text::recall::{similarity, similarity_with};

fn main() -> Result<(), Box<dyn Error>> {
    let has_model = std::env::var_os("TREERING_MODEL").is_none_or(|name| name != "none");
    let model = has_model.then(SentenceModel::bundled);
    for line in std::io::stdin().lock().lines() {
        let pair: Value = serde_json::from_str(&line?)?;
        let text = |field: &str| pair[field].as_str().unwrap_or_default();
        let [one, two] = ["a", "b"].map(text);
        let found = match model {
            Some(model) => {
                let (of_one, of_two) = (model.embed(one), model.embed(two));
                let cosine = of_one.iter().zip(&of_two).map(|(a, b)| a * b).sum();
                similarity_with(one, two, cosine)
            }
            None => similarity(one, two),
        };
        // Two texts that contradict each other get the score 0.
        let likeness = if found.contradiction.is_none() {
            found.likeness
        } else {
            0.0
        };
        let score = (f64::from(likeness) * 1e5).round() / 1e5;
        let relation = format!("{:?}", found.relation());
        println!(
            "{}",
            json!({ "id": pair["id"], "score": score, "verdict": relation })
        );
    }
    Ok(())
}
