//! Computes the similarity of two texts as `remember` does. Reads JSON Lines `{"id","a","b"}` from standard input, and
//! prints `{"id","score","verdict"}`.
//!
//! `cargo run --release --example similarity < pairs.jsonl`
#![expect(clippy::print_stdout, reason = "the program prints its results")]

use std::error::Error;
use std::io::BufRead;

use serde_json::{Value, json};
use treering_text::recall::similarity;

fn main() -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lock().lines() {
        let pair: Value = serde_json::from_str(&line?)?;
        let text = |field: &str| pair[field].as_str().unwrap_or_default();
        let found = similarity(text("a"), text("b"));
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
