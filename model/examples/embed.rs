//! Prints the vectors of the lines of standard input, and on standard error what a vector took.
use std::io::{BufRead, Write};
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let started = Instant::now();
    let model = treering_model::SentenceModel::bundled();
    eprintln!("read in {:?}", started.elapsed());
    let lines: Vec<String> = std::io::stdin().lock().lines().collect::<Result<_, _>>()?;
    let started = Instant::now();
    let vectors: Vec<_> = lines.iter().map(|line| model.embed(line)).collect();
    eprintln!(
        "{} vectors, {:?} each",
        vectors.len(),
        started.elapsed() / vectors.len().max(1) as u32
    );
    let mut out = std::io::stdout().lock();
    for vector in vectors {
        let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
        writeln!(out, "{}", numbers.join(" "))?;
    }
    Ok(())
}
