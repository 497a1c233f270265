//! The `treering` program.
fn main() {}
