//! What every text goes through before it reaches the log: the scan, the redaction of secrets, the quotas.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - REV-1: no secret that the scan knows leaves the review in any field of an item.
//! - REV-2: no character that cannot be seen leaves it, but where writing systems and emoji need it; and no name with one, or
//!   with letters of several scripts in a word.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::agent::Agent;
use super::item::NewItem;
use super::settings::{Quotas, Secrets};
use super::vocabulary::attribute;
use crate::engine::{Draft, Writer};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{NewObject, Value};
use crate::scan::{Category, Finding, Neutral, Report, Verdict};

/// An item as it may be stored, and what the scan said of it as it was given.
#[derive(Clone, Debug)]
pub struct Reviewed {
    /// The item without secrets and invisible characters; with the rules that it met as the attribute `flags`.
    pub item: NewItem,
    /// What is to be done with it.
    pub verdict: Verdict,
    /// What was found, without the text.
    pub findings: Vec<Finding>,
    /// 0 to 99: how likely the text is hostile. Advice for sorting.
    pub score: u8,
    /// Which name it is refused for, such as `the id`: a name is not put right, it would be another one.
    pub bad_name: Option<&'static str>,
}

impl Reviewed {
    /// Returns the rules that were met, each once, in the order of the text.
    pub fn rules(&self) -> Vec<&'static str> {
        let mut rules = Vec::new();
        for finding in &self.findings {
            if !rules.contains(&finding.rule) {
                rules.push(finding.rule);
            }
        }
        rules
    }

    /// Returns why the verdict is as it is, in a sentence.
    pub fn reason(&self) -> String {
        let rules = self.rules().join(", ");
        match self.bad_name {
            Some(name) => format!("{name} holds what no name may; the scan found {rules}"),
            None => format!("the scan found {rules}"),
        }
    }
}

impl Agent {
    /// Reads every text of `item`, redacts secrets, takes invisible characters out, and gives a verdict.
    ///
    /// # Errors
    /// `InvalidInput` (code `over_limit`): the item is over a quota.
    pub(crate) fn review(&self, mut item: NewItem) -> Result<Reviewed> {
        check_quotas(&item, &self.settings().quotas)?;
        let scanner = self.scanner();
        let mut others = std::mem::take(&mut item.others).into_map();
        let mut report = {
            let fields = fields_of(&mut item, &mut others);
            scanner.scan_fields(fields.iter().map(|(name, text)| (name.as_str(), text.as_str())))
        };
        let bad_name = self.review_names(&item, &others, &mut report);
        if !report.findings.is_empty() {
            let mut is_redacted = false;
            for (name, text) in fields_of(&mut item, &mut others) {
                // REV-1, REV-2: whatever the verdict, this is all that may be kept of the text.
                let clean = scanner.neutralise(text, Neutral::Strip).into_owned();
                if let Cow::Owned(redacted) = scanner.redact_field(&name, &clean) {
                    *text = redacted;
                    is_redacted = true;
                } else {
                    *text = clean;
                }
            }
            if is_redacted && self.settings().secrets == Secrets::Refuse {
                report.verdict = Verdict::Block;
            }
        }
        item.others = others.into_iter().collect();
        let mut reviewed = Reviewed {
            item,
            verdict: report.verdict,
            findings: report.findings,
            score: report.score,
            bad_name,
        };
        let rules = reviewed.rules();
        if reviewed.verdict != Verdict::Allow && !rules.is_empty() {
            let rules = rules.into_iter().map(Value::from).collect::<Vec<_>>();
            drop(reviewed.item.others.insert(attribute::FLAGS, rules));
        }
        Ok(reviewed)
    }

    /// Puts what stands in names beside what stands in texts, and blocks for what no name may hold. Each is looked at by itself: what a
    /// report leaves out of its list hides nothing here.
    fn review_names(
        &self,
        item: &NewItem,
        others: &BTreeMap<String, Value>,
        report: &mut Report,
    ) -> Option<&'static str> {
        let mut bad = None;
        for (what, name) in names_of(item, others) {
            if !is_looked_at(name) {
                continue;
            }
            let found = self.scanner().scan(name);
            report.verdict = report.verdict.max(found.verdict);
            if is_no_name(name, &found) {
                report.verdict = Verdict::Block;
                bad.get_or_insert(what);
            }
            report.findings.extend(found.findings);
        }
        bad
    }
}

impl Agent {
    /// A draft by `writer`; see [`Self::admitted`].
    pub(crate) fn draft(&self, writer: &Writer) -> Result<Draft> {
        Ok(self.memory().draft(self.admitted(writer.clone())?))
    }

    /// The writer as every verb that writes takes it: with markers in the place of secrets in its reason and source, which go
    /// into the log with the commit.
    ///
    /// # Errors
    /// `Denied` (code `disabled`) if the memory is switched off; as [`Self::refuse_secret`], of the actor and the session.
    pub(crate) fn admitted(&self, mut writer: Writer) -> Result<Writer> {
        if self.settings().is_disabled {
            return Err(Error::new(ErrorKind::Denied, "the memory is switched off")
                .with_code(ErrorCode::Disabled)
                .with_hint("nothing was stored; Settings::is_disabled says so"));
        }
        let clean = |text: &String| self.scanner().redact(text).into_owned();
        for (what, name) in [("the actor", &writer.actor), ("the session", &writer.session)] {
            if let Some(name) = name {
                self.refuse_secret(what, name)?;
            }
        }
        writer.reason = writer.reason.as_ref().map(clean);
        writer.source = writer.source.as_ref().map(clean);
        Ok(writer)
    }

    /// Refuses a name that holds a secret: with a marker in it, it would be another name.
    ///
    /// # Errors
    /// `Denied` (code `refused`).
    pub(crate) fn refuse_secret(&self, what: &str, name: &str) -> Result<()> {
        if !is_looked_at(name) || matches!(self.scanner().redact(name), Cow::Borrowed(_)) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Denied,
            format!("{what} holds what looks like a secret"),
        )
        .with_code(ErrorCode::Refused)
        .with_hint("nothing was stored; names stay in the log as they are, so give another one"))
    }

    /// Refuses an object that is put without a review and has a name which the review would refuse: with a secret or with what
    /// looks like another name.
    ///
    /// # Errors
    /// `Denied` (code `refused`).
    pub(crate) fn refuse_bad_names(&self, object: &NewObject) -> Result<()> {
        self.refuse_secret_names(object)?;
        let parent = object
            .parent
            .as_ref()
            .map(|parent| ("the parent", parent.as_str()));
        let names = [
            ("the id", object.id.as_str()),
            ("the scope", object.scope.as_str()),
        ];
        for (what, name) in names.into_iter().chain(parent) {
            if is_looked_at(name) && is_no_name(name, &self.scanner().scan(name)) {
                return Err(
                    Error::new(ErrorKind::Denied, format!("{what} holds what no name may"))
                        .with_code(ErrorCode::Refused)
                        .with_hint("nothing was stored; give a name in letters of one script, all of which can be seen"),
                );
            }
        }
        Ok(())
    }

    /// Refuses an object of which a name holds a secret.
    ///
    /// # Errors
    /// As [`Self::refuse_secret`].
    pub(crate) fn refuse_secret_names(&self, object: &NewObject) -> Result<()> {
        self.refuse_secret("the id", object.id.as_str())?;
        if let Some(parent) = &object.parent {
            self.refuse_secret("the parent", parent.as_str())?;
        }
        if let Some(position) = &object.position {
            self.refuse_secret("the position", position.as_str())?;
        }
        self.refuse_secret("the scope", object.scope.as_str())?;
        self.refuse_secret("the kind", object.kind.as_str())?;
        for (name, value) in &object.attributes {
            let mut keys = vec![name.as_str()];
            add_keys(value, &mut keys);
            for key in keys {
                self.refuse_secret(ATTRIBUTE, key)?;
            }
        }
        Ok(())
    }
}

/// Whether the scan of a name found what no name may hold.
fn is_no_name(name: &str, found: &Report) -> bool {
    let is_refused = |one: &Finding| matches!(one.category, Category::Secret | Category::Unicode);
    // These are excused where people read them, but two names that differ by one look alike.
    name.contains(['\u{ad}', '\u{feff}']) || found.findings.iter().any(is_refused)
}

/// What a name of an attribute, or within one, is called in refusals.
const ATTRIBUTE: &str = "the name of an attribute";
/// From this length on a name may be a secret itself; a shorter one has to give a value to a word.
const NAME_BYTES_MIN: usize = 20;

/// Whether a name can be anything but a name: the others are not worth the time.
fn is_looked_at(name: &str) -> bool {
    let gives = || name.contains(['=', ':']) && name.bytes().any(|byte| byte.is_ascii_digit());
    name.len() >= NAME_BYTES_MIN || !name.is_ascii() || gives()
}

/// The names in an item, with what they are: ids, scope, kind, and those of attributes.
fn names_of<'a>(item: &'a NewItem, others: &'a BTreeMap<String, Value>) -> Vec<(&'static str, &'a str)> {
    let mut names: Vec<(&'static str, &'a str)> = vec![
        ("the scope", item.scope.as_str()),
        ("the kind", item.kind.as_str()),
    ];
    names.extend(item.id.iter().map(|id| ("the id", id.as_str())));
    let superseded = item.supersedes.iter();
    names.extend(superseded.map(|id| ("an id that it supersedes", id.as_str())));
    for (name, value) in others {
        let mut keys = vec![name.as_str()];
        add_keys(value, &mut keys);
        names.extend(keys.into_iter().map(|key| (ATTRIBUTE, key)));
    }
    names
}

/// The keys in a value, which are names as well.
fn add_keys<'a>(value: &'a Value, keys: &mut Vec<&'a str>) {
    match value {
        Value::List(list) => list.iter().for_each(|value| add_keys(value, keys)),
        Value::Map(map) => map.iter().for_each(|(key, value)| {
            keys.push(key);
            add_keys(value, keys);
        }),
        _ => {}
    }
}

/// Every text of an item with its name; that of the text itself is empty.
fn fields_of<'a>(
    item: &'a mut NewItem,
    others: &'a mut BTreeMap<String, Value>,
) -> Vec<(String, &'a mut String)> {
    let mut fields = vec![(String::new(), &mut item.text)];
    fields.extend(item.tags.iter_mut().map(|tag| (attribute::TAGS.to_owned(), tag)));
    for (name, text) in [
        (attribute::SPEAKER, &mut item.speaker),
        (attribute::SUBJECT, &mut item.subject),
        (attribute::SESSION, &mut item.session),
        (attribute::SOURCE, &mut item.source),
    ] {
        fields.extend(text.iter_mut().map(|text| (name.to_owned(), text)));
    }
    for citation in &mut item.citations {
        fields.push(("file".to_owned(), &mut citation.file));
        fields.extend(citation.note.iter_mut().map(|note| ("note".to_owned(), note)));
    }
    for (name, value) in others {
        add_texts(name, value, &mut fields);
    }
    fields
}

/// The texts of a value and of what is in it.
fn add_texts<'a>(name: &str, value: &'a mut Value, fields: &mut Vec<(String, &'a mut String)>) {
    match value {
        Value::Text(text) => fields.push((name.to_owned(), text)),
        Value::List(list) => {
            for value in list {
                add_texts(name, value, fields);
            }
        }
        Value::Map(map) => {
            for (name, value) in map {
                add_texts(name, value, fields);
            }
        }
        _ => {}
    }
}

/// Items that one may supersede: each is asked about whenever one of them is found.
const SUPERSEDES_MAX: usize = 64;

/// Refuses what is over a quota of single items; those of a whole scope are counted where it is stored.
fn check_quotas(item: &NewItem, quotas: &Quotas) -> Result<()> {
    let chars = |text: &str| text.chars().count();
    let longest = |texts: &mut dyn Iterator<Item = &str>| texts.map(chars).max().unwrap_or(0);
    let citations = &item.citations;
    let measures = [
        ("the text", "characters", chars(&item.text), quotas.text_chars_max),
        ("the item", "tags", item.tags.len(), quotas.tags_max),
        (
            "a tag",
            "characters",
            longest(&mut item.tags.iter().map(String::as_str)),
            quotas.tag_chars_max,
        ),
        ("the item", "citations", citations.len(), quotas.citations_max),
        (
            "the item",
            "superseded items",
            item.supersedes.len(),
            SUPERSEDES_MAX,
        ),
        (
            "the file of a citation",
            "characters",
            longest(&mut citations.iter().map(|one| one.file.as_str())),
            quotas.citation_file_chars_max,
        ),
        (
            "the note of a citation",
            "characters",
            longest(&mut citations.iter().filter_map(|one| one.note.as_deref())),
            quotas.citation_note_chars_max,
        ),
    ];
    for (what, of, count, most) in measures {
        if count > most {
            return Err(
                Error::invalid(format!("{what} has {count} {of}, {most} are allowed"))
                    .with_code(ErrorCode::OverLimit)
                    .with_hint("shorten it, or split it into several items"),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;
    use crate::engine::Memory;
    use crate::object::Id;

    fn agent(settings: Settings) -> Agent {
        Agent::new(Memory::in_memory().unwrap(), settings)
    }

    /// A key as a scanner of repositories must not find it here.
    fn key() -> String {
        format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    }

    /// INVARIANT REV-1.
    #[test]
    fn a_secret_leaves_no_trace_in_any_field() {
        let agent = agent(Settings::default());
        let mut item = NewItem::new(format!("the token is {}", key()));
        item.tags = vec![key()];
        item.source = Some(format!("mail with {}", key()));
        item.citations = vec![super::super::Citation {
            file: "notes.md".to_owned(),
            line: None,
            note: Some(key()),
        }];
        let reviewed = agent.review(item).unwrap();
        assert_eq!(reviewed.verdict, Verdict::Flag);
        assert!(!format!("{:?}", reviewed.item).contains(&key()), "{reviewed:?}");
        assert!(
            reviewed.item.text.contains("[REDACTED:"),
            "{}",
            reviewed.item.text
        );
    }

    /// INVARIANT REV-1.
    #[test]
    fn a_secret_in_an_attribute_of_any_name_is_redacted_too() {
        let agent = agent(Settings::default());
        let mut item = NewItem::new("how to get in");
        let inner = Value::Map(BTreeMap::from([("deep".to_owned(), Value::Text(key()))]));
        drop(item.others.insert("notes", Value::List(vec![inner])));
        drop(item.others.insert("password", "correct-horse-7-battery"));
        drop(item.others.insert("count", 7_i64));
        let reviewed = agent.review(item).unwrap();
        let kept = format!("{:?}", reviewed.item);
        assert!(!kept.contains(&key()) && !kept.contains("horse"), "{kept}");
        assert_eq!(reviewed.item.others.get("count"), Some(&Value::Integer(7)));
    }

    /// INVARIANT REV-1.
    #[test]
    fn a_secret_in_a_name_is_refused_and_a_plain_long_name_is_not() {
        let agent = agent(Settings::default());
        let named = |name: &str| {
            let mut item = NewItem::new("tea");
            item.id = Some(Id::new(name).unwrap());
            agent.review(item).unwrap().verdict
        };
        assert_eq!(named(&key()), Verdict::Block);
        for name in [
            "0198a7c2-1f3e-7b8a-9c4d-5e6f70819203",
            "tea/fact/0198a7c2-1f3e-7b8a-9c4d-5e6f70819203",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV-and-more",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "longmemeval/answer_280352e9/turn_12",
            "src/agent/session/token_budget.rs:120",
        ] {
            assert_eq!(named(name), Verdict::Allow, "{name}");
        }
        let mut item = NewItem::new("tea");
        drop(item.others.insert(key(), true));
        assert_eq!(agent.review(item).unwrap().verdict, Verdict::Block);
        let mut item = NewItem::new("tea");
        let within = BTreeMap::from([(key(), Value::Null)]);
        drop(item.others.insert("list", vec![Value::Map(within)]));
        assert_eq!(agent.review(item).unwrap().verdict, Verdict::Block);
    }

    #[test]
    fn secrets_may_be_refused() {
        let settings = Settings {
            secrets: Secrets::Refuse,
            ..Settings::default()
        };
        let reviewed = agent(settings).review(NewItem::new(key())).unwrap();
        assert_eq!(reviewed.verdict, Verdict::Block);
    }

    /// INVARIANT REV-1, in what goes into the log beside the items.
    #[test]
    fn a_secret_goes_into_no_field_of_a_commit() {
        let agent = agent(Settings::default());
        let writer = Writer {
            source: Some(format!("mail with {}", key())),
            ..Writer::new().reason(format!("because {}", key()))
        };
        let clean = agent.admitted(writer).unwrap();
        assert!(!format!("{clean:?}").contains(&key()), "{clean:?}");
        for writer in [Writer::new().actor(key()), Writer::new().session(key())] {
            assert_eq!(agent.draft(&writer).err().unwrap().code(), "refused");
        }
    }

    /// INVARIANT REV-2.
    #[test]
    fn what_cannot_be_seen_is_taken_out_and_flagged() {
        let reviewed = agent(Settings::default())
            .review(NewItem::new("te\u{202e}a"))
            .unwrap();
        assert_eq!(reviewed.item.text, "tea");
        assert!(reviewed.verdict >= Verdict::Flag, "{reviewed:?}");
    }

    #[test]
    fn plain_text_passes_as_it_is() {
        let item = NewItem::new("Ada drinks green tea");
        let reviewed = agent(Settings::default()).review(item.clone()).unwrap();
        assert_eq!((reviewed.item, reviewed.verdict), (item, Verdict::Allow));
    }

    #[test]
    fn quotas_are_counted_in_characters() {
        let mut settings = Settings {
            quotas: Quotas::BLOCKS,
            ..Settings::default()
        };
        settings.quotas.text_chars_max = 3;
        let agent = agent(settings);
        assert!(agent.review(NewItem::new("\u{e9}\u{e9}\u{e9}")).is_ok());
        assert_eq!(
            agent.review(NewItem::new("four")).unwrap_err().code(),
            "over_limit"
        );
    }
}
