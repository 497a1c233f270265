//! `forget --about`: shows the items that answer a question, and forgets those that a person chooses.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - FAB-1: without a choice at a terminal, at most one item is forgotten, and only with `--yes`.

use super::forget::{Forget, note_left, note_still, show_moved};
use crate::answers::agent::items::{ItemAbout, ItemsAbout, Outcome};
use crate::cli::commands::prelude::*;
use treering::agent::{Agent, Forgetting, RecallQuery, Recalled};

/// Shows the items about a question, and forgets those chosen.
pub(super) fn run(context: &mut Context, verb: &Forget, question: &str) -> Done {
    // A preview needs no right to write.
    let asks = !verb.dry_run && !verb.yes && context.output.can_ask();
    let is_preview = !(verb.yes || asks) || verb.dry_run;
    let agent = context.agent_to_change(is_preview)?;
    let mut query = RecallQuery::new(question, context.reach(&verb.scopes)?).without_touch();
    query.with_untrusted = verb.shown.with_untrusted;
    query.recency = 0.0;
    let recalled = agent.recall(&agent.memory().view(), &query)?;
    let mut answer = about(&agent, &recalled, verb.shown.with_untrusted)?;
    answer.outcome.dry_run = is_preview;
    if verb.yes && !is_preview {
        let chosen = only_one(&answer)?;
        forget(context, &agent, &mut answer, vec![chosen])?;
    }
    context.answer(&answer, show)?;
    if asks {
        let chosen = ask(context, &answer)?;
        if chosen.is_empty() {
            return context.line("nothing was forgotten").map(|()| DONE);
        }
        forget(context, &agent, &mut answer, chosen)?;
        show_done(&answer, context)?;
    } else if is_preview && !answer.items.is_empty() {
        let text = "nothing was forgotten; forget the items that you mean by their ids";
        context.note("dry_run", text);
    }
    Ok(DONE)
}

/// Returns the items that answer the question: the good matches, or all matches if none is good.
fn about(agent: &Agent, recalled: &Recalled, with_untrusted: bool) -> Result<ItemsAbout> {
    let view = agent.memory().view();
    let hits = recalled
        .hits
        .iter()
        .filter(|hit| recalled.no_good_match || !hit.is_weak);
    let mut items = Vec::new();
    for hit in hits {
        if let Some(object) = view.get(&hit.id)? {
            items.push(ItemAbout::of(agent, object, hit, with_untrusted));
        }
    }
    Ok(ItemsAbout {
        items,
        no_good_match: recalled.no_good_match,
        forgotten: Vec::new(),
        outcome: Outcome::of(agent, true, None),
    })
}

/// Returns the only good match, or an error that lists the candidates (FAB-1).
fn only_one(answer: &ItemsAbout) -> Result<Id> {
    let ids = || {
        answer
            .items
            .iter()
            .map(|one| one.item.id.clone())
            .collect::<Vec<_>>()
    };
    let hint = "forget the items that you mean by their ids";
    match answer.items.as_slice() {
        [] => Err(Error::not_found("no item is about this")),
        _ if answer.no_good_match => Err(Error::not_found("no item is a good match")
            .with_ids(ids())
            .with_hint(hint)),
        [one] if one.is_pinned => Err(usage_error(format!("the item '{}' is pinned", one.item.id), hint)),
        [one] => Id::new(&one.item.id),
        several => {
            let message = format!(
                "{} match, so nothing was forgotten",
                counted(several.len() as u64, "item")
            );
            Err(refused(ErrorCode::Ambiguous, message, hint).with_ids(ids()))
        }
    }
}

/// Asks a person which items to forget.
fn ask(context: &mut Context, answer: &ItemsAbout) -> Result<Vec<Id>> {
    if answer.items.is_empty() {
        return Ok(Vec::new());
    }
    let question = "which ones shall be forgotten? numbers such as 1 3, or all; nothing forgets nothing";
    let typed = context.output.ask(question)?;
    chosen(answer, &typed)
}

/// Returns the ids of the items with the typed numbers.
fn chosen(answer: &ItemsAbout, typed: &str) -> Result<Vec<Id>> {
    let words: Vec<&str> = typed
        .split(|letter: char| letter.is_whitespace() || letter == ',')
        .filter(|word| !word.is_empty())
        .collect();
    let of = |one: &ItemAbout| Id::new(&one.item.id);
    if words == ["all"] {
        return answer.items.iter().map(of).collect();
    }
    let numbered = words.into_iter().map(|word| {
        let number = word
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let one = number.and_then(|at| answer.items.get(at));
        let wrong = || {
            let hint = "type numbers of the list, separated by blanks";
            usage_error(
                format!("'{word}' is no number of the list, so nothing was forgotten"),
                hint,
            )
        };
        of(one.ok_or_else(wrong)?)
    });
    numbered.collect()
}

fn forget(context: &mut Context, agent: &Agent, answer: &mut ItemsAbout, ids: Vec<Id>) -> Result<()> {
    let what = Forgetting {
        ids,
        ..Forgetting::default()
    };
    let forgot = agent.forget(&what, &context.writer(), false)?;
    answer.outcome = Outcome::of(agent, false, forgot.commit.as_ref());
    answer.forgotten = forgot
        .items
        .iter()
        .map(|item| item.object().id().clone())
        .collect();
    note_left(
        context,
        &forgot.others,
        "the item does not meet the other conditions",
    );
    note_still(context, &forgot.still);
    Ok(())
}

fn show(answer: &ItemsAbout, context: &mut Context) -> Result<()> {
    if answer.items.is_empty() {
        context.output.nothing_found();
        return Ok(());
    }
    if answer.no_good_match {
        context.line("no good match; the nearest items:")?;
    }
    let numbered = (1_usize..).zip(&answer.items);
    context.write_rows(numbered.map(Ok), |(at, one), context| {
        let mut cells = vec![("number", number(*at as u64))];
        cells.extend(columns(&one.item, &["id", "kind", "scope"], context));
        cells.extend(text_cells(&one.item.shown, GIST_CHARS));
        cells
    })?;
    if answer.outcome.commit.is_some() {
        show_done(answer, context)?;
    }
    Ok(())
}

fn show_done(answer: &ItemsAbout, context: &mut Context) -> Result<()> {
    let items = answer.items.iter().map(|one| &one.item);
    let gone: Vec<_> = items
        .filter(|item| answer.forgotten.iter().any(|id| id.as_str() == item.id))
        .collect();
    show_moved(context, ["would forget", "forgot"], &gone, &answer.outcome)?;
    context.note_unforget("restore the items with");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::agent::{NewItem, Reach, RememberOptions, Settings};
    use treering::{Memory, Writer};

    fn answer(question: &str) -> ItemsAbout {
        let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
        for text in [
            "The office is in Oslo",
            "The office has a green door",
            "Ada plays chess",
        ] {
            drop(
                agent
                    .remember(NewItem::new(text), &RememberOptions::default(), &Writer::user())
                    .unwrap(),
            );
        }
        let recalled = agent
            .recall(&agent.memory().view(), &RecallQuery::new(question, Reach::All))
            .unwrap();
        about(&agent, &recalled, false).unwrap()
    }

    #[test]
    fn only_typed_numbers_are_chosen() {
        let answer = answer("office");
        assert_eq!(answer.items.len(), 2);
        assert_eq!(chosen(&answer, "\n").unwrap().len(), 0);
        assert_eq!(
            chosen(&answer, "2").unwrap(),
            [Id::new(&answer.items[1].item.id).unwrap()]
        );
        assert_eq!(chosen(&answer, "1, 2").unwrap().len(), 2);
        assert_eq!(chosen(&answer, "all").unwrap().len(), 2);
        for bad in ["0", "3", "y", "1 x"] {
            assert_eq!(
                chosen(&answer, bad).unwrap_err().code(),
                ErrorCode::Usage,
                "{bad}"
            );
        }
    }

    #[test]
    fn several_matches_are_never_forgotten_without_a_choice() {
        assert_eq!(
            only_one(&answer("office")).unwrap_err().code(),
            ErrorCode::Ambiguous
        );
        assert!(only_one(&answer("who plays chess")).is_ok());
        assert_eq!(
            only_one(&answer("volcano")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }
}
