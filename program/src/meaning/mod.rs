//! Chooses the model for recall by meaning: the one that a setting names, else an installed one, else the bundled one.
//!
//! # Layer
//! Layer 8. Knows the package `treering-model` and the trait `Embedder`. Does not know stores.
//!
//! # Invariants
//! - MEA-1: a missing or damaged model is never an error. The caller gets no model, and a note for the user.
//! - MEA-2: no text leaves this machine, unless a setting names the address twice.
//! - MEA-3: the name of a model changes with its weights and prefixes, as far as the program can know them.
#![cfg_attr(
    not(feature = "semantic"),
    allow(dead_code, reason = "without models, only a verb that recalls asks for one")
)]

#[cfg(feature = "semantic")]
mod address;
#[cfg(feature = "semantic")]
mod command;
#[cfg(feature = "semantic")]
pub(crate) mod installed;

use std::path::Path;
use std::sync::Arc;

use treering::agent::{Embedder, MeaningSettings};

/// The setting that switches recall by meaning off.
const NONE: &str = "none";

/// A model with its name.
pub(crate) type Named = (String, Arc<dyn Embedder + Send + Sync>);

/// The chosen model, or none.
pub(crate) struct Chosen {
    /// The model. Its weights are read when it is first used.
    pub(crate) model: Option<Named>,
    /// Why there is no model, unless the user wants none.
    pub(crate) note: Option<String>,
}

impl Chosen {
    fn none(note: Option<String>) -> Self {
        Self { model: None, note }
    }
}

/// Chooses the model (MEA-1). `folder` is the folder of the installed models. Reads no weights.
pub(crate) fn choose(settings: &MeaningSettings, folder: Option<&Path>) -> Chosen {
    if settings.model.as_deref() == Some(NONE) {
        return Chosen::none(None);
    }
    match named(settings, folder) {
        Ok(model) => Chosen {
            model: Some(model),
            note: None,
        },
        Err(note) => Chosen::none(note.map(|note| format!("{note}; recall uses words only"))),
    }
}

#[cfg(feature = "semantic")]
fn named(settings: &MeaningSettings, folder: Option<&Path>) -> Result<Named, Option<String>> {
    let is_set = |setting: &&String| setting.as_str() != NONE;
    if let Some(address) = settings.address.as_ref().filter(is_set) {
        return address::embedder(address, settings).map_err(Some);
    }
    if !settings.command.is_empty() {
        return Ok(command::embedder(&settings.command));
    }
    let name = settings.model.as_deref();
    if name != Some(installed::BUNDLED) {
        let found = folder.map(|folder| installed::choose(folder, name));
        if let Some(found) = found.transpose().map_err(Some)?.flatten() {
            return Ok(found);
        }
        if let Some(name) = name {
            let hint = "treering model list shows the installed ones";
            return Err(Some(format!("no model {name} is installed ({hint})")));
        }
    }
    Ok(installed::bundled())
}

#[cfg(not(feature = "semantic"))]
fn named(settings: &MeaningSettings, _folder: Option<&Path>) -> Result<Named, Option<String>> {
    let is_asked = *settings != MeaningSettings::default();
    let note = "this program was built without the feature `semantic`, so it has no models";
    Err(is_asked.then(|| note.to_owned()))
}

#[cfg(all(test, feature = "semantic"))]
mod tests {
    use super::*;

    fn note(settings: &MeaningSettings) -> String {
        let chosen = choose(settings, None);
        assert!(chosen.model.is_none());
        chosen.note.unwrap_or_default()
    }

    #[test]
    fn the_bundled_model_is_the_usual_one() {
        let chosen = choose(&MeaningSettings::default(), None);
        let (name, embedder) = chosen.model.unwrap();
        assert_eq!(name, treering_model::BUNDLED_ID);
        assert_eq!(embedder.embed("tea").len(), 384);
        assert_eq!(chosen.note, None);
    }

    #[test]
    fn none_is_not_worth_a_note() {
        let settings = MeaningSettings {
            model: Some("none".to_owned()),
            ..MeaningSettings::default()
        };
        let chosen = choose(&settings, None);
        assert!(chosen.model.is_none() && chosen.note.is_none());
    }

    /// INVARIANT MEA-1: a missing model is a note.
    #[test]
    fn a_missing_model_is_a_note() {
        let settings = MeaningSettings {
            model: Some("e5".to_owned()),
            ..MeaningSettings::default()
        };
        assert!(note(&settings).contains("no model e5 is installed"));
    }

    /// INVARIANT MEA-3: models of other settings have other names. The package `treering-model` tests its own.
    #[test]
    fn the_name_changes_with_the_settings() {
        let name = |model: &str, command: &[&str]| {
            let settings = MeaningSettings {
                address: command.is_empty().then(|| "http://127.0.0.1:1".to_owned()),
                address_model: Some(model.to_owned()),
                command: command.iter().map(|&part| part.to_owned()).collect(),
                ..MeaningSettings::default()
            };
            choose(&settings, None).model.unwrap().0
        };
        let long = |end: &str| "x".repeat(300) + end;
        let names = [
            name("a", &[]),
            name("b", &[]),
            name("", &["e", "1"]),
            name("", &["e", "2"]),
            name("", &["e 2"]),
            name("", &["e", &long("1")]),
            name("", &["e", &long("2")]),
        ];
        for (at, one) in names.iter().enumerate() {
            assert!(!names[at + 1..].contains(one), "{names:?}");
        }
    }

    /// INVARIANT MEA-2, ADR-1: another machine is asked only if a second setting names it.
    #[test]
    fn another_machine_needs_a_second_setting() {
        let with = |address: &str, texts_leave_to: Option<&str>| MeaningSettings {
            address: Some(address.to_owned()),
            address_model: Some("m".to_owned()),
            texts_leave_to: texts_leave_to.map(str::to_owned),
            ..MeaningSettings::default()
        };
        assert!(note(&with("http://10.1.2.3:80", None)).contains("texts_leave_to"));
        assert!(note(&with("http://10.1.2.3:80", Some("http://10.1.2.4:80"))).contains("texts_leave_to"));
        assert!(note(&with("http://localhost.example.com", None)).contains("texts_leave_to"));
        assert!(note(&with("http://127.0.0.1@10.1.2.3/", None)).contains("not an address"));
        assert!(note(&with("https://10.1.2.3", Some("https://10.1.2.3"))).contains("https"));
        for (address, second) in [
            ("http://127.0.0.1:11434", None),
            ("http://localhost:8080/", None),
            ("http://[::1]:8080", None),
            ("http://10.1.2.3:80", Some("http://10.1.2.3:80")),
        ] {
            assert!(choose(&with(address, second), None).model.is_some(), "{address}");
        }
    }
}
