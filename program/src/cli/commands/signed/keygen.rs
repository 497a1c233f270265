//! `keygen`: makes a key that signs heads.
//!
//! # Layer
//! Layer 10, part of cli.

use super::super::prelude::*;
use crate::cli::signing_keys;

/// Make a key that signs heads
///
/// # Notes
/// The private key is `$XDG_CONFIG_HOME/treering/keys/NAME`, which only you can read. The printed verifier key checks
/// what it signs. Give it to whoever audits the store. It is also added to your list trusted-keys beside the folder.
///
/// # Examples
/// ```text
/// treering keygen vera
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Keygen {
    /// The name of the key, which every signature shows: letters, digits, `.`, `_`, `-`
    name: String,
}

/// The answer of `keygen`.
#[derive(Serialize, JsonSchema)]
struct KeyMade {
    name: String,
    /// The verifier key of C2SP's signed notes.
    public: String,
    /// The file of the private key.
    file: String,
}

impl Verb for Keygen {
    const ANSWERS: &'static [Form] = &[form::<KeyMade>("")];

    fn run(self, context: &mut Context) -> Done {
        let made = signing_keys::generate(&self.name)?.ok_or_else(|| {
            let text = format!("there is a key '{}' already", self.name);
            refused(
                ErrorCode::FileExists,
                text,
                "choose another name, and sign with both keys once, so that verifiers can change",
            )
        })?;
        let public = made.0.verifier();
        if self.name != signing_keys::WITNESS {
            signing_keys::trust(&public)?;
        }
        let answer = KeyMade {
            name: self.name,
            public: public.to_string(),
            file: made.1.display().to_string(),
        };
        let note = "whoever checks a signed head needs the verifier key above; keep a copy of the file in a safe place";
        context.say_with_note(&answer, &answer.public, "next", note)
    }
}
