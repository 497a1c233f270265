//! One turn of an agent whose memory takes a bad turn back.
//!
//! The turn takes a snapshot, asks the model, and stores what the model wants to remember. If a check of the host fails,
//! a rollback to the snapshot takes back all writes of the turn, and the model gets the reasons and a second try.

use std::error::Error;

use serde::Deserialize;
use treering::agent::{Agent, Alike, EnvelopeRequest, NewItem, Reach, RememberOptions, Status};
use treering::{ErrorKind, Origin, Root, Writer};

/// The number of times that the model may try to make a turn.
const TRIES_MAX: usize = 2;
/// The number of facts that the model may store in one turn.
const FACTS_MAX: usize = 3;

/// The instructions for the model: the system message.
const INSTRUCTIONS: &str = r#"Answer with one JSON object and nothing else: {"say": TEXT, "remember": [TEXT, ...]}.
"say" is your answer. "remember" has at most 3 facts that you will need in later turns, one sentence each; it may be empty."#;

/// A language model.
pub(crate) trait Model {
    /// Returns the name of the model. The store keeps it as the actor of the commits.
    fn name(&self) -> &str;

    /// Answers one message of the user. `instructions` is the system message.
    fn answer(&mut self, instructions: &str, message: &str) -> Result<String, Box<dyn Error>>;
}

/// The answer that the model must give.
#[derive(Deserialize)]
struct Answer {
    say: String,
    #[serde(default)]
    remember: Vec<String>,
}

/// The end of a turn.
pub(crate) enum Turn {
    /// The memory keeps the facts of the turn. The text is the model's answer.
    Kept(String),
    /// No try passed the checks, and the memory has the state from before the turn.
    GivenUp,
}

/// Makes one turn. `tell` gets a line about each step.
pub(crate) fn turn(
    agent: &Agent,
    model: &mut dyn Model,
    session: &str,
    asked: &str,
    tell: &mut dyn FnMut(String),
) -> Result<Turn, Box<dyn Error>> {
    let memory = agent.memory();
    let host = Writer::host("agent-loop").session(session);
    let before = memory.snapshot(None, &host)?;
    tell(format!(
        "snapshot of seq {}, root {}",
        before.seq,
        short(before.root)
    ));
    let mut reasons = Vec::new();
    for _ in 0..TRIES_MAX {
        let mut request = EnvelopeRequest::new(Reach::All);
        request.query = Some(asked.to_owned());
        let mut envelope = agent.envelope(&memory.view(), &request)?;
        if envelope.text.is_empty() {
            // A question such as "And now?" names no item, so the model gets the newest ones.
            request.query = None;
            envelope = agent.envelope(&memory.view(), &request)?;
        }
        let answered = model.answer(INSTRUCTIONS, &message(&envelope.text, asked, &reasons))?;
        let writer = Writer::model(model.name()).session(session);
        let said = store(agent, &answered, &writer, &mut reasons);
        if reasons.is_empty() {
            return Ok(Turn::Kept(said?));
        }
        for reason in &reasons {
            tell(format!("refused: {reason}"));
        }
        let back = memory.rollback(before.commit).by(&host)?.commit;
        assert_eq!(back.commit.root, before.root, "the whole state is back");
        tell(format!("rolled back, root {} again", short(back.commit.root)));
        said?;
    }
    Ok(Turn::GivenUp)
}

/// Returns the first digits of a root.
pub(crate) fn short(root: Root) -> String {
    format!("{:.8}", root.to_string())
}

/// Returns the message for the model. The envelope escapes every stored text, and belongs into a message of the user,
/// never into the system message.
fn message(envelope: &str, asked: &str, reasons: &[String]) -> String {
    let again = reasons
        .iter()
        .map(|reason| format!("Your last answer was taken back: {reason}\n"));
    format!("{envelope}\n{asked}\n{}", again.collect::<String>())
}

/// Stores the facts of an answer, and lists in `reasons` what the host does not accept. Returns the model's words.
///
/// # Errors
/// An error that is not the model's fault, such as a full disk. It is the reason, too, so that the host rolls back.
fn store(
    agent: &Agent,
    answered: &str,
    writer: &Writer,
    reasons: &mut Vec<String>,
) -> treering::Result<String> {
    reasons.clear();
    let answer: Answer = match serde_json::from_str(answered) {
        Ok(answer) => answer,
        Err(error) => {
            reasons.push(format!("it is not the JSON object that was asked for: {error}"));
            return Ok(String::new());
        }
    };
    if answer.remember.len() > FACTS_MAX {
        let count = answer.remember.len();
        reasons.push(format!(
            "it stores {count} facts, and a turn may store {FACTS_MAX}"
        ));
        return Ok(String::new());
    }
    for fact in answer.remember {
        let shown = format!("\"{fact:.60}\"");
        let stored = match agent.remember(NewItem::new(fact), &RememberOptions::default(), writer) {
            Ok(stored) => stored,
            Err(error) => {
                reasons.push(format!("{shown}: {error}"));
                // The scan refused the text, or a limit did. Any other error is not the model's fault.
                match error.kind() {
                    ErrorKind::Denied | ErrorKind::InvalidInput => continue,
                    _ => return Err(error),
                }
            }
        };
        // The model may correct itself, but not a person.
        let said_by_a_person = |one: &&Alike| one.shown.trust == Origin::DirectUser;
        for other in stored.conflicts.iter().filter(said_by_a_person) {
            let text = other.shown.text.as_deref().unwrap_or("a withheld text");
            reasons.push(format!("{shown} contradicts what a person said: \"{text}\""));
        }
        if stored.status == Status::Quarantined {
            reasons.push(format!(
                "{shown} looks like an order to a model, and is in quarantine"
            ));
        }
    }
    Ok(answer.say)
}
