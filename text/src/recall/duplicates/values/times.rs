//! Times of the day, and dates.
//!
//! # Layer
//! Knows the tokens and the languages.

use super::class::Class;
use super::counts::SINO_HALF;
use super::language::{Language, unit_at};
use super::tokens::{Kind, Token};
use super::typed::{has, joined, number_of, phrase_length, value_of};
use super::value::Value;

/// A time of the day.
pub(super) fn clock(language: &Language, before: &[Token], rest: &[Token]) -> Option<(Token, usize)> {
    let (minutes, length) = match value_of(rest.first()) {
        Some(Value::Clock(minutes)) => {
            let (hour, length) = half_of_day(minutes / 60.0, &rest[1..]);
            (length > 0).then_some((hour * 60.0, length + 1))?
        }
        _ => fraction_first(language, rest)
            .or_else(|| minutes_first(rest))
            .or_else(|| hour_first(language, before, rest))?,
    };
    let token = Token::of_value(joined(&rest[..length], language), Value::Clock(minutes));
    Some((token, length))
}

/// "Half past ten", "a quarter to nine", "halb acht".
fn fraction_first(language: &Language, rest: &[Token]) -> Option<(f64, usize)> {
    let fractions = [
        (Class::Past30, 30.0),
        (Class::Before30, -30.0),
        (Class::Past15, 15.0),
        (Class::Before15, -15.0),
    ];
    let found = fractions.iter().find(|(class, _)| has(rest.first(), *class));
    let (class, minutes) = found?;
    let length = phrase_length(language, rest, *class);
    let hour = number_of(rest.get(length)).filter(|hour| *hour <= 24.0)?;
    let (hour, more) = half_of_day(hour, &rest[length + 1..]);
    Some((hour * 60.0 + minutes, length + 1 + more))
}

/// "Twenty to seven".
fn minutes_first(rest: &[Token]) -> Option<(f64, usize)> {
    let minutes = number_of(rest.first()).filter(|minutes| *minutes < 60.0)?;
    let sign = match rest.get(1) {
        Some(token) if token.classes.has(Class::Before) => -1.0,
        Some(token) if token.classes.has(Class::After) => 1.0,
        _ => return None,
    };
    let hour = number_of(rest.get(2)).filter(|hour| *hour <= 24.0)?;
    Some((hour * 60.0 + sign * minutes, 3))
}

/// "Nine o'clock", "8 pm", "14.30 Uhr".
fn hour_first(language: &Language, before: &[Token], rest: &[Token]) -> Option<(f64, usize)> {
    let hour = number_of(rest.first()).filter(|hour| (0.0..=24.0).contains(hour))?;
    let unit = unit_at(&rest[1..]);
    // Some words are the hour of a clock or a time span; what is around them tells.
    let is_span = match unit {
        Some((length, _)) => {
            length > 1 || !has(before.last(), Class::At) && half_of_day(hour, &rest[2..]).1 == 0
        }
        None => false,
    };
    let oclock = usize::from(has(rest.get(1), Class::Oclock) && !is_span);
    // "14.30 Uhr" has minutes, not a fraction.
    let hour = match rest[0].text.split_once('.') {
        Some((_, minutes)) if minutes.len() == 2 => {
            hour.floor() + minutes.parse::<f64>().unwrap_or(0.0) / 60.0
        }
        _ => hour,
    };
    let (mut hour, half) = half_of_day(hour, &rest[1 + oclock..]);
    if oclock + half == 0 {
        return None;
    }
    if hour < 12.0
        && before
            .iter()
            .rev()
            .take(2)
            .any(|token| token.classes.has(Class::Afternoon))
    {
        hour += 12.0;
    }
    let (minutes, more) = sino_minutes(language, &rest[1 + oclock..]);
    Some((hour * 60.0 + minutes, 1 + oclock + half + more))
}

/// Returns the minutes behind an hour in Chinese or Japanese, and the number of their tokens.
fn sino_minutes(language: &Language, rest: &[Token]) -> (f64, usize) {
    let is_half = |token: &Token| language.sino.get(&token.text) == Some(&SINO_HALF);
    match number_of(rest.first()) {
        Some(minutes) if has(rest.get(1), Class::MinuteSign) => (minutes, 2),
        _ if rest.first().is_some_and(is_half) => (30.0, 1),
        _ => (0.0, 0),
    }
}

/// Returns the hour by the words that follow it, and their number: "pm", "in the morning".
fn half_of_day(hour: f64, rest: &[Token]) -> (f64, usize) {
    let skipped = rest.iter().take(2).take_while(|token| {
        token.value.is_none() && (token.classes.has(Class::Preposition) || token.classes.has(Class::Article))
    });
    let skipped = skipped.count();
    let at_noon = |hour: f64| if hour >= 12.0 { hour - 12.0 } else { hour };
    if has(rest.get(skipped), Class::Morning) {
        (at_noon(hour), skipped + 1)
    } else if has(rest.get(skipped), Class::Afternoon) {
        (at_noon(hour) + 12.0, skipped + 1)
    } else {
        (hour, 0)
    }
}

/// A day and a month, a month and a year, or all of them.
pub(super) fn date(language: &Language, _: &[Token], rest: &[Token]) -> Option<(Token, usize)> {
    let skip = |at: usize| at + usize::from(is_joint(rest.get(at)));
    let month_of = |at: usize| match value_of(rest.get(at)) {
        Some(Value::Month(month)) => Some(*month),
        _ => None,
    };
    let day_first = day_of(rest.first()).filter(|_| month_of(skip(1)).is_some());
    let at = if day_first.is_some() { skip(1) } else { 0 };
    let month = month_of(at)?;
    let (day, mut at) = match day_first {
        Some(day) => (Some(day), at + 1),
        None => day_behind(rest, at + 1),
    };
    let year = whole(rest.get(skip(at))).filter(|year| (1000..3000).contains(year));
    if year.is_some() {
        at = skip(at) + 1;
    }
    if day.is_none() && year.is_none() {
        return None;
    }
    let text = joined(&rest[..at], language);
    Some((Token::of_value(text, Value::Date { year, month, day }), at))
}

/// Returns the day behind a month, and the place after it: "May the fifth".
fn day_behind(rest: &[Token], at: usize) -> (Option<u32>, usize) {
    let next = at + usize::from(has(rest.get(at), Class::Article));
    let day = day_of(rest.get(next));
    if day.is_none() {
        return (None, at);
    }
    let is_counted = has(rest.get(next + 1), Class::DaySign);
    (day, next + 1 + usize::from(is_counted))
}

fn whole(token: Option<&Token>) -> Option<u32> {
    match value_of(token) {
        Some(Value::Number(number) | Value::Ordinal(number)) if *number >= 1.0 && number.fract() < 1e-9 => {
            u32::try_from(*number as i64).ok()
        }
        _ => None,
    }
}

fn day_of(token: Option<&Token>) -> Option<u32> {
    whole(token).filter(|day| *day <= 31)
}

/// Whether a token only joins the parts of a date.
fn is_joint(token: Option<&Token>) -> bool {
    token.is_some_and(|token| {
        token.classes.has(Class::Stop) || token.kind == Kind::Mark && matches!(token.text.as_str(), "." | ",")
    })
}
