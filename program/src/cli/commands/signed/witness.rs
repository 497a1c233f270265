//! `witness`: remembers the newest head of each origin, and signs that it saw it.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - WIT-1: a witness signs a head only after its file has it, and a head in the file gives way only to one that continues it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::super::prelude::*;
use super::{NOTE_BYTES_MAX, in_one_line};
use crate::cli::signing_keys;
use treering::signed::{TreeRoot, VerifierKey, WitnessRequest};

/// Sign that a head continues the one before
///
/// A witness keeps the newest head of each origin in the file S, and refuses a second history. It needs no store. The
/// printed line belongs at the end of the signed head. It is a cosignature of C2SP, with the time.
///
/// # Notes
/// Exit code 3: the request is not about the head that the witness knows. 5: a second history, or a signature by no trusted
/// key. The first request makes the key `witness`.
///
/// # Examples
/// ```text
/// treering witness request --state heads --key vera+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k
/// treering prove-head 0 | treering witness - --state heads
/// ```
#[derive(Args, Debug)]
#[command(hide = true, verbatim_doc_comment)]
pub(crate) struct Witness {
    /// What treering prove-head prints; - is standard input
    file: PathBuf,
    /// The file with the newest head of each origin, which the first request makes
    #[arg(long, value_name = "S")]
    state: PathBuf,
    /// A verifier key that may have signed the head; may be repeated
    #[arg(long, value_name = "VKEY")]
    key: Vec<VerifierKey>,
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
        let keys = signing_keys::trusted(self.key)?;
        let request = WitnessRequest::parse(&read_input(context, &self.file, NOTE_BYTES_MAX)?)?;
        let head = &request.head;
        head.verify(&keys)?;
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
        // INVARIANT WIT-1
        write_state(&self.state, &known)
            .and_then(|()| folder.sync_all())
            .map_err(failed)?;
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

fn write_state(file: &Path, lines: &[Line]) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut new = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    for line in lines {
        writeln!(new, "{} {} {}", line.origin, line.size, BASE64.encode(line.root))?;
    }
    new.as_file().sync_all()?;
    new.persist(file).map(drop).map_err(|error| error.error)
}
