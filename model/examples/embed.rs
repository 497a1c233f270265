//! Prints the vectors of the lines of standard input, and on standard error what a vector took. The bundled model computes
//! them, or the model in the file that the argument names. With `--questions`, the lines are questions.
#![expect(clippy::print_stderr, reason = "the program prints what a vector took")]

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use treering_model::SentenceModel;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let asks = arguments.iter().any(|argument| argument == "--questions");
    arguments.retain(|argument| argument != "--questions");
    let started = Instant::now();
    let opened;
    let model = match arguments.first() {
        Some(path) => {
            opened = SentenceModel::open(path.as_ref())?;
            &opened
        }
        None => SentenceModel::bundled(),
    };
    let read = started.elapsed();
    let lines: Vec<String> = std::io::stdin().lock().lines().collect::<Result<_, _>>()?;
    let mut times = Vec::new();
    let mut out = std::io::stdout().lock();
    for line in &lines {
        let started = Instant::now();
        let vector = if asks {
            model.embed_question(line)
        } else {
            model.embed(line)
        };
        times.push(started.elapsed());
        let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
        writeln!(out, "{}", numbers.join(" "))?;
    }
    times.sort();
    let at = |share: usize| {
        times
            .get(times.len() * share / 100)
            .copied()
            .unwrap_or(Duration::ZERO)
    };
    eprintln!(
        "{}: read in {read:?}; a vector in {:?} (10th percentile {:?})",
        model.id(),
        at(50),
        at(10)
    );
    Ok(())
}
