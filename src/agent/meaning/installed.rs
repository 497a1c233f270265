//! The installed models: one file each in a folder of the user, which all stores share.
//!
//! # Layer
//! Layer 7, inside `agent/meaning`.
//!
//! # Invariants
//! - MDF-1: a file gets its name only after it was written whole, synced, and passed its probe.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::agent::Embedder;
use treering_model::{BUNDLED_ID, Card, SentenceModel, read_card};
use treering_text::recall::is_english;

use super::Named;
use super::outside::Fault;

/// The name of the bundled model in settings.
pub const BUNDLED: &str = "bundled";
/// The ending of the files.
const ENDING: &str = "model";
/// The longest name.
const NAME_BYTES_MAX: usize = 64;
/// Three texts, of which the first two have one meaning. A model must find them closest.
const ALIKE: [&str; 3] = [
    "The meeting was moved to Tuesday morning.",
    "On Tuesday morning we will meet instead.",
    "Ada bakes bread with rye flour.",
];

/// A file in the folder, and the card of its model.
pub struct Installed {
    pub path: PathBuf,
    pub name: String,
    /// The card, or why it is unreadable.
    pub card: Result<Card, String>,
    pub bytes: u64,
}

/// Returns the installed models in the order of their names.
///
/// # Errors
/// The error of the system if the folder exists and is unreadable.
pub fn list(folder: &Path) -> io::Result<Vec<Installed>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| is_name(name) && path_of(folder, name) == path) else {
            continue;
        };
        found.push(Installed {
            name: name.to_owned(),
            card: read_card(&path).map_err(|error| error.to_string()),
            bytes: path.metadata().map_or(0, |about| about.len()),
            path,
        });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Whether a text can be the name of a model.
pub fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(is_plain)
        && !name.starts_with('.')
        && name != BUNDLED
        && name != super::NONE
}

/// Returns the path of the file of a model.
pub fn path_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.{ENDING}"))
}

/// Returns the installed model of this name, or the first one if there is no name.
pub(super) fn choose(folder: &Path, name: Option<&str>) -> Result<Option<Named>, String> {
    let listed = list(folder).map_err(|error| format!("the folder of the models is unreadable: {error}"))?;
    let mut fitting = listed
        .into_iter()
        .filter(|one| name.is_none_or(|name| one.name == name));
    let Some(found) = fitting.next() else {
        return Ok(None);
    };
    let card = found
        .card
        .map_err(|why| format!("the installed model {} is unusable: {why}", found.name))?;
    let model = FromFile {
        path: found.path,
        id: card.id.clone(),
        is_english_only: card.languages == ["en"],
        model: OnceLock::new(),
        fault: Fault::default(),
    };
    Ok(Some((card.id, Arc::new(model))))
}

/// Returns the bundled model.
pub(super) fn bundled() -> Named {
    (BUNDLED_ID.to_owned(), Arc::new(Bundled))
}

/// The bundled model. The first text reads its weights.
struct Bundled;

impl Embedder for Bundled {
    fn embed(&self, text: &str) -> Vec<f32> {
        SentenceModel::bundled().embed(text)
    }

    fn prepare(&self) {
        let _model = SentenceModel::bundled();
    }

    fn knows(&self, text: &str, among_others: bool) -> bool {
        is_english(text, among_others)
    }
}

/// A model in a file. The first text opens it. If the file is damaged by then, or has another model, no text has a vector, and
/// the user is told.
struct FromFile {
    path: PathBuf,
    id: String,
    is_english_only: bool,
    model: OnceLock<Option<SentenceModel>>,
    fault: Fault,
}

impl FromFile {
    fn model(&self) -> Option<&SentenceModel> {
        let open = || match SentenceModel::open(&self.path) {
            Ok(model) if model.id() == self.id => Some(model),
            Ok(_) => {
                self.fault.set("another model was installed meanwhile");
                None
            }
            Err(error) => {
                self.fault.set(error.to_string());
                None
            }
        };
        self.model.get_or_init(open).as_ref()
    }

    fn vector(&self, of: impl FnOnce(&SentenceModel) -> Vec<f32>) -> Vec<f32> {
        let Some(model) = self.model() else {
            return Vec::new();
        };
        let vector = of(model);
        if vector.is_empty() {
            // Every text has a vector, unless a row of its words is damaged. Such a row says nothing about other texts.
            let path = self.path.display();
            self.fault.set(format!(
                "the model is damaged: {path}: a row of the words does not fit its checksum"
            ));
        }
        vector
    }
}

impl Embedder for FromFile {
    fn embed(&self, text: &str) -> Vec<f32> {
        self.vector(|model| model.embed(text))
    }

    fn embed_question(&self, question: &str) -> Vec<f32> {
        self.vector(|model| model.embed_question(question))
    }

    fn prepare(&self) {
        let _model = self.model();
    }

    fn knows(&self, text: &str, among_others: bool) -> bool {
        !self.is_english_only || is_english(text, among_others)
    }

    fn fault(&self) -> Option<String> {
        self.fault.get()
    }
}

/// Writes the file of a model into the folder, if `is_fit` accepts it (MDF-1). Returns its path, or `None` if the model
/// is not fit.
///
/// # Errors
/// The error of the system.
pub fn install(
    folder: &Path,
    name: &str,
    bytes: &[u8],
    is_fit: impl FnOnce(&SentenceModel) -> bool,
) -> io::Result<Option<PathBuf>> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    let model = treering_model::check(file.path()).and_then(|_| SentenceModel::open(file.path()));
    let model = model.map_err(io::Error::other)?;
    if !is_fit(&model) {
        return Ok(None);
    }
    let path = path_of(folder, name);
    file.persist(&path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()?;
    Ok(Some(path))
}

/// Whether a model that is not on the list finds two texts of one meaning closer than others.
pub fn finds_meaning(model: &SentenceModel) -> bool {
    let [a, b, c] = ALIKE.map(|text| model.embed(text));
    let near = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    near(&a, &b) > near(&a, &c) && near(&a, &b) > near(&b, &c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT MEA-1: damage that the first use shows is told.
    #[test]
    fn a_damaged_model_tells_its_fault() {
        let model = FromFile {
            path: PathBuf::from("/no/such.model"),
            id: "such@1".to_owned(),
            is_english_only: false,
            model: OnceLock::new(),
            fault: Fault::default(),
        };
        assert_eq!(model.fault(), None);
        assert!(model.embed_question("tea?").is_empty());
        assert!(model.fault().unwrap().contains("/no/such.model"));
    }
}
