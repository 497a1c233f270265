//! `witness`: remembers the newest head of each origin, and signs that it saw it.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - WIT-1: a witness signs a head only after its file has it, and a head in the file gives way only to one that continues it.
//! - WIT-2: a head of a known origin is signed by a key that signed the head before. So a key that is trusted for one
//!   origin signs no other.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::super::prelude::*;
use super::{in_one_line, note_bytes};
use crate::cli::signing_keys;
use treering::signed::{TreeRoot, WitnessRequest};

/// Countersign a head as a witness
///
/// A witness keeps the newest head of each origin in the file S, and refuses a second history. It needs no store. The
/// printed line belongs at the end of the signed head. It is a cosignature of C2SP, with the time.
///
/// # Notes
/// Exit code 3: the request is not about the head that the witness knows. 5: a second history, or a signature by no trusted
/// key, or by another key than the head before. The first request makes the key `witness`. The file S.keys has the keys of
/// each origin. For a new key, sign one head with both.
///
/// # Examples
/// ```text
/// treering witness request --state heads --key vera+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k
/// treering prove-head 0 | treering witness - --state heads
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Witness {
    /// What treering prove-head prints; - is standard input
    file: PathBuf,
    /// The file with the newest head of each origin, which the first request makes
    #[arg(long, value_name = "S")]
    state: PathBuf,
    /// A verifier key that may have signed the head; may be repeated
    #[arg(long, value_name = "VKEY")]
    key: Vec<String>,
}

/// The answer of `witness`.
#[derive(Serialize, JsonSchema)]
struct Witnessed {
    origin: String,
    size: u64,
    root: String,
    /// The line to add to the signed head.
    cosignature: String,
    /// The verifier key of the witness.
    public: String,
}

impl Verb for Witness {
    const ANSWERS: &'static [Form] = &[form::<Witnessed>("")];

    fn run(self, context: &mut Context) -> Done {
        let keys = signing_keys::trusted(&self.key)?;
        let request = WitnessRequest::parse(&note_bytes(context, &self.file)?)?;
        let head = &request.head;
        let keys = keys.of(&head.origin);
        let signers = head
            .verify(&keys)?
            .into_iter()
            .filter(|signer| signer.time.is_none());
        let signers: Vec<String> = signers.map(|signer| signer.key.to_string()).collect();
        let own = match signing_keys::generate(signing_keys::WITNESS)? {
            Some((made, _)) => made,
            None => signing_keys::load(signing_keys::WITNESS)?,
        };
        let failed = |error| Error::io(format_args!("the state {}", shown(&self.state)), error);
        let folder = self
            .state
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new("."))).map_err(failed)?;
        folder.lock().map_err(failed)?;
        let mut known = read_state(&self.state)?;
        let is_new = known.is_empty();
        let newest = known.iter().position(|line| line.origin == head.origin);
        request.follows(newest.map(|at| (known[at].size, known[at].root)))?;
        let line = Line {
            origin: head.origin.clone(),
            size: head.size,
            root: head.root,
        };
        match newest {
            Some(at) => known[at] = line,
            None => known.push(line),
        }
        self.bind(&head.origin, &signers)?;
        // INVARIANT WIT-1
        let lines = known.iter();
        let lines = lines.map(|line| format!("{} {} {}", line.origin, line.size, BASE64.encode(line.root)));
        replace(&self.state, lines)
            .and_then(|()| folder.sync_all())
            .map_err(failed)?;
        if is_new {
            let text = format!(
                "{} had no head yet, so no older head was compared",
                shown(&self.state)
            );
            context.output.warn("new_state", &text);
        }
        let since = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let answer = Witnessed {
            origin: head.origin.clone(),
            size: head.size,
            root: to_hex(&head.root),
            cosignature: head.cosign(&own, Time::from_micros(since.as_micros() as i64)),
            public: own.cosigner().to_string(),
        };
        context.answer(&answer, |answer, context| {
            context.output.text(&answer.cosignature)?;
            context.output.note_for_people(
                "seen",
                format!(
                    "saw {}; the verifier key of the witness is {}",
                    in_one_line(head),
                    answer.public
                ),
            );
            Ok(())
        })
    }
}

impl Witness {
    /// Notes the keys that sign the heads of an origin, if one of them signed the head before (WIT-2).
    fn bind(&self, origin: &str, signers: &[String]) -> Result<()> {
        let mut file = self.state.clone().into_os_string();
        file.push(".keys");
        let file = PathBuf::from(file);
        let failed = |error| Error::io(format_args!("the keys {}", shown(&file)), error);
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(failed)?,
        };
        // A line is `KEY ORIGIN`.
        let (own, others): (Vec<_>, Vec<_>) = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .partition(|(_, of)| *of == origin);
        if !own.is_empty()
            && !own
                .iter()
                .any(|(key, _)| signers.iter().any(|signer| signer == key))
        {
            let text = format!("another key signed the heads of {} before", one_line(origin));
            return Err(Error::corrupt(text)
                .with_code(ErrorCode::NotSigned)
                .with_hint("for a new key, sign one head with both: treering sign --key OLD --key NEW"));
        }
        if own
            .iter()
            .map(|(key, _)| *key)
            .eq(signers.iter().map(String::as_str))
        {
            return Ok(());
        }
        let own = signers.iter().map(|key| format!("{key} {origin}"));
        let others = others.iter().map(|(key, of)| format!("{key} {of}"));
        replace(&file, others.chain(own)).map_err(failed)
    }
}

/// The newest head of an origin.
struct Line {
    origin: String,
    size: u64,
    root: TreeRoot,
}

fn read_state(file: &Path) -> Result<Vec<Line>> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|error| Error::io(format_args!("the state {}", shown(file)), error))?,
    };
    let read = |line: &str| {
        let (rest, root) = line.rsplit_once(' ')?;
        let (origin, size) = rest.rsplit_once(' ')?;
        let root = BASE64.decode(root).ok()?.try_into().ok()?;
        Some(Line {
            origin: origin.to_owned(),
            size: size.parse().ok()?,
            root,
        })
    };
    let lines = text.lines().zip(1..).map(|(line, number)| {
        read(line).ok_or_else(|| {
            let text = format!("line {number} of {} is no `origin size root`", shown(file));
            Error::corrupt(text)
                .with_code(ErrorCode::BadNote)
                .with_hint("put back a copy of the file: without it, a second history is not found")
        })
    });
    lines.collect()
}

/// Replaces a file by one with these lines.
fn replace(file: &Path, lines: impl Iterator<Item = String>) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut new = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    for line in lines {
        writeln!(new, "{line}")?;
    }
    new.as_file().sync_all()?;
    new.persist(file).map(drop).map_err(|error| error.error)
}
