//! Converts a published model to the file of an installed one: `convert SOURCE FILE`.
use std::path::Path;

use treering_model::SentenceModel;
use treering_model::import::{Source, Wanted, convert, find};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &arguments[..] else {
        return Err("convert SOURCE FILE".into());
    };
    let mut source = Source::open(Path::new(from))?;
    let found = find(&mut source)?;
    let wanted = Wanted {
        name: "converted".to_owned(),
        ..Wanted::default()
    };
    let converted = convert(&mut source, &found, &wanted)?;
    std::fs::write(to, &converted.bytes)?;
    treering_model::check(Path::new(to))?;
    let fits = found
        .known
        .map(|known| SentenceModel::open(Path::new(to)).map(|model| known.fits(&model)));
    println!(
        "{}: {} bytes, probe fits: {fits:?}",
        converted.card.id,
        converted.bytes.len()
    );
    Ok(())
}
