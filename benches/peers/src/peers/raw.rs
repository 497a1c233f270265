//! The limit of a durable write: a file to which bytes are appended, with one `fdatasync` for each commit.

use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The name of the limit in the tables.
pub const NAME: &str = "append + fdatasync";

pub struct RawFile(File);

impl RawFile {
    pub fn create(folder: &Path, name: &str) -> Self {
        Self(File::create(folder.join(name)).unwrap())
    }

    /// Appends the bytes durably.
    pub fn append(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
        self.0.sync_data().unwrap();
    }
}
