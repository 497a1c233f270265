//! `get`: shows one object with all its fields.
//!
//! # Layer
//! Layer 10, part of cli.

use super::marks::Marks;
use super::prelude::*;
use crate::answers::objects::Whole;
use treering::inspect::engine;

/// The number of children in the output for people.
const CHILDREN_SHOWN: usize = 20;
/// The largest width of the column of attribute names.
const ATTRIBUTE_MAX: usize = 24;

/// Show one object
///
/// # Examples
/// ```text
/// treering get tea
/// treering get tea --at snap:0 --json
/// treering get --digest 5f0c81d2
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Get {
    /// The object to show; omit ID if --digest names a version
    #[arg(value_name = "ID", required_unless_present = "digest")]
    id: Option<String>,
    /// The digest of a version, or its first 8 or more digits; also shows a version that is not in this state
    #[arg(long, value_name = "DIGEST", conflicts_with = "id")]
    digest: Option<String>,
}

impl Verb for Get {
    const ANSWERS: &'static [Form] = &[form::<Whole>("")];

    fn run(self, context: &mut Context) -> Done {
        let (memory, view) = context.open_view()?;
        let is_json = context.output.is_json();
        if let Some(digest) = &self.digest {
            let version = version_of(&memory, &view, digest)?;
            return context.answer(&Whole::of_version(&view, version, is_json)?, show_whole);
        }
        let named = context.by_hand(&memory, &view, self.id.as_deref().unwrap_or_default(), "show")?;
        let id = &named.id;
        let Some(object) = view.get(id)? else {
            let newest = memory.changes_of(id).next().transpose()?;
            return Err(named.told(no_object(&memory, id, &view, newest.as_ref())));
        };
        let mark = Marks::new(context, &memory, &view).of(&view, &object)?;
        let whole = Whole::of(&view, object, is_json)?;
        context.answer(&whole, |whole, context| show_marked(whole, mark, context))
    }
}

/// Returns the version that a full or abbreviated digest names.
pub(super) fn version_of(memory: &Memory, view: &View, digits: &str) -> Result<Object> {
    let unknown = || {
        Error::not_found(format!(
            "no version of an object has a digest that starts with {}",
            one_line(digits)
        ))
        .with_hint("treering inspect digest DIGITS lists everything whose digest starts with DIGITS")
    };
    if let Ok(digest) = digits.parse::<ObjectDigest>() {
        memory.check_kept(digest)?;
        return memory.version(digest)?.ok_or_else(unknown);
    }
    // A second match proves that the digits are ambiguous.
    let meanings = memory.meanings(digits, view, 2)?;
    let mut versions = meanings.into_iter().filter_map(|meaning| match meaning {
        engine::Meaning::Version(digest, _, _) => Some(digest),
        _ => None,
    });
    match (versions.next(), versions.next()) {
        (Some(digest), None) => memory.version(digest)?.ok_or_else(unknown),
        (None, _) => Err(unknown()),
        (Some(_), Some(_)) => Err(Error::invalid(format!("{digits} matches several versions"))
            .with_code(ErrorCode::Ambiguous)
            .with_hint("type more digits; treering inspect digest DIGITS lists the matching versions")),
    }
}

fn show_whole(answer: &Whole, context: &mut Context) -> Result<()> {
    show_marked(answer, None, context)
}

fn show_marked(answer: &Whole, mark: Option<String>, context: &mut Context) -> Result<()> {
    let (listed, output) = (&answer.listed, &context.output);
    let is_compact = output.is_compact();
    let heading = output.paint(Meaning::Heading, one_line(&listed.id));
    let digest = listed.digest;
    let digest = if is_compact {
        short(digest.as_bytes())
    } else {
        digest.to_hex()
    };
    let conflict = answer.conflict.as_ref();
    let conflict =
        conflict.map(|fields| format!("{} (treering conflicts)", super::merge::fields_line(fields)));
    let updated = listed.updated.filter(|_| listed.updated != listed.created);
    let age = |time: Option<Time>| time.map(|time| time::with_age(time, answer.now, output));
    let fields = [
        ("kind", Some(one_line(&listed.kind))),
        ("scope", Some(one_line(&listed.scope))),
        ("parent", listed.parent.as_deref().map(one_line)),
        ("position", listed.position.as_deref().map(one_line)),
        ("event time", listed.event_time.map(|time| time.to_string())),
        ("expires", listed.expires.map(|time| time.to_string())),
        ("origin", Some(listed.origin.name().to_owned())),
        ("digest", Some(digest)),
        ("state", mark),
        ("conflict", conflict),
        ("created", age(listed.created)),
        ("updated", age(updated)),
    ];
    context.line(heading)?;
    context.fields(2, fields)?;
    let output = &mut context.output;
    let attributes = listed.object.attributes();
    let names = attributes.iter().map(|(name, _)| name.chars().count());
    let most = if is_compact { 0 } else { ATTRIBUTE_MAX };
    let width = names.max().unwrap_or_default().min(most);
    for (name, value) in &attributes {
        let name = output.paint(Meaning::Name, format_args!("{:<width$}", one_line(name)));
        output.line(format_args!("  {name} = {}", human::value(value)))?;
    }
    if !answer.children.is_empty() {
        let children = counted(answer.children_total, "child object");
        output.line(format_args!("  {children}"))?;
    }
    for child in answer.children.iter().take(CHILDREN_SHOWN) {
        output.line(format_args!("    {}", one_line(child)))?;
    }
    let more = answer.children_total.saturating_sub(CHILDREN_SHOWN as u64);
    if more > 0 {
        output.line(format_args!(
            "    and {more} more; treering list --parent ID lists all of them"
        ))?;
    }
    match answer.content_erased_by {
        Some(_) if listed.object.is_lost() => {
            output.line("  the content was damaged, and the salvage could not recover it")?;
        }
        Some(by) => {
            let by = short(by.as_bytes());
            output.line(format_args!("  the content was erased by commit {by}"))?;
        }
        None => {}
    }
    if let Some(content) = &answer.content {
        output.line("")?;
        output.line(printable(content.trim_end_matches('\n')))?;
    }
    Ok(())
}
