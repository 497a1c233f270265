//! Numbers of several words, and quantities with a unit.
//!
//! # Layer
//! Knows the tokens and the languages.

use super::class::Class;
use super::language::{Language, unit_at};
use super::tokens::{Kind, Token};
use super::typed::{has, joined, number_of};
use super::value::Value;

/// A number in Chinese characters, if it has several or something is counted.
pub(super) fn sino_number(language: &Language, _: &[Token], rest: &[Token]) -> Option<(Token, usize)> {
    let digits: Vec<usize> = rest
        .iter()
        .take_while(|token| token.is_word())
        .map_while(|token| language.sino.get(&token.text).copied())
        .take(SINO_MAX)
        .collect();
    let next = rest.get(digits.len())?;
    let is_counted = next.classes.has(Class::Counter) || unit_at(&rest[digits.len()..]).is_some();
    if digits.is_empty() || (digits.len() == 1 && !is_counted) {
        return None;
    }
    let text = joined(&rest[..digits.len()], language);
    Some((Token::of_value(text, Value::Number(sino(&digits))), digits.len()))
}

/// The largest number of characters of a number.
const SINO_MAX: usize = 16;
/// The place of the half in the list of characters, behind the digits and the powers of ten.
pub(super) const SINO_HALF: usize = 14;

/// Returns the number of these places in the list: ten digits, ten, hundred, thousand, ten thousand, half.
fn sino(places: &[usize]) -> f64 {
    let (mut high, mut middle, mut low) = (0.0, 0.0, 0.0);
    for place in places {
        match place {
            10..=12 => {
                middle += f64::max(low, 1.0) * [10.0, 100.0, 1_000.0][place - 10];
                low = 0.0;
            }
            13 => {
                high += f64::max(middle + low, 1.0) * 10_000.0;
                (middle, low) = (0.0, 0.0);
            }
            &SINO_HALF => low += 0.5,
            digit => low = *digit as f64,
        }
    }
    high + middle + low
}

/// A number of several words: "twenty five", "two hundred", "doce y media", "3 thousand".
pub(super) fn compound(_: &Language, _: &[Token], rest: &[Token]) -> Option<(Token, usize)> {
    let mut sum = number_of(rest.first())?;
    let mut length = 1;
    let is_word = !rest[0].text.starts_with(|letter: char| letter.is_ascii_digit());
    loop {
        let joins = usize::from(has(rest.get(length), Class::Joins));
        let Some(next) = number_of(rest.get(length + joins)) else {
            break;
        };
        let is_digits = rest[length + joins]
            .text
            .starts_with(|letter: char| letter.is_ascii_digit());
        if is_digits {
            break;
        }
        let fits = sum % if next < 10.0 { 10.0 } else { 100.0 } < 1e-9 && sum >= 20.0 && next < 100.0;
        if next >= 100.0 && joins == 0 {
            sum *= next;
        } else if is_word && fits || (next < 1.0 && joins == 1) {
            sum += next;
        } else {
            break;
        }
        length += joins + 1;
    }
    (length > 1).then(|| (Token::of_value(rest[0].text.clone(), Value::Number(sum)), length))
}

/// A number with a unit after it, or a currency before it.
pub(super) fn quantity(language: &Language, _: &[Token], rest: &[Token]) -> Option<(Token, usize)> {
    let (value, length) = currency_first(rest)
        .or_else(|| month(rest))
        .or_else(|| measure(rest))?;
    Some((Token::of_value(joined(&rest[..length], language), value), length))
}

/// The currencies whose sign stands before the number.
const CURRENCIES: [&str; 4] = ["dollar", "euro", "sterling", "yen"];

/// "$ 5".
fn currency_first(rest: &[Token]) -> Option<(Value, usize)> {
    let is_sign = !rest[0].text.contains(char::is_alphanumeric);
    let (length, unit) = unit_at(rest).filter(|(_, unit)| is_sign && CURRENCIES.contains(&unit.dimension))?;
    let count = number_of(rest.get(length))?;
    Some((Value::Quantity(count, unit), length + 1))
}

/// A month of the calendar, as a number and the character of the month.
fn month(rest: &[Token]) -> Option<(Value, usize)> {
    let number = number_of(rest.first()).filter(|number| (1.0..=12.0).contains(number))?;
    let is_month = has(rest.get(1), Class::MonthSign);
    let month = usize::try_from(number as i64 - 1).ok().filter(|_| is_month)?;
    Some((Value::Month(month), 2))
}

/// "5 km", "half an hour", "three quarters of an hour", "1 h 40 min", "five foot seven".
fn measure(rest: &[Token]) -> Option<(Value, usize)> {
    let is_quarter = has(rest.first(), Class::Quarter) && has(rest.get(2), Class::One);
    let mut count = number_of(rest.first()).or(is_quarter.then_some(0.25))?;
    let mut at = 1;
    if has(rest.get(at), Class::Quarter) {
        count *= 0.25;
        at += 1;
    }
    if count < 1.0 {
        let between = rest[at..].iter().take(2);
        at += between
            .take_while(|token| token.classes.has(Class::One) || token.text == "of")
            .count();
    }
    let (length, unit) = unit_at(&rest[at..])?;
    let mut sum = count * unit.factor + unit.offset;
    let is_foot = rest[at].text.starts_with('f') && unit.dimension == "length";
    at += length;
    while let Some(more) = number_of(rest.get(at))
        && let Some((length, other)) = unit_at(&rest[at + 1..])
        && other.dimension == unit.dimension
        && other.factor < unit.factor
    {
        sum += more * other.factor;
        at += 1 + length;
    }
    if let Some(inches) = number_of(rest.get(at)).filter(|_| is_foot) {
        sum += inches * INCH;
        at += 1;
    }
    Some((Value::Quantity(sum, unit), at))
}

/// The length of an inch in metres.
const INCH: f64 = 0.0254;

/// One of a unit of time: "an hour". Only after a verb or a preposition, because "four times a day" is a rate.
pub(super) fn one_unit(language: &Language, before: &[Token], rest: &[Token]) -> Option<(Token, usize)> {
    let first = rest.first().filter(|token| token.is_word())?;
    let last = before.last();
    let free = last.is_none_or(|last| {
        last.kind != Kind::Word || last.classes.has(Class::Preposition) || last.classes.has(Class::Copula)
    });
    if !free || number_of(last).is_some() {
        return None;
    }
    let one = first.classes.has(Class::One);
    let skipped = usize::from(one) + usize::from(one && has(rest.get(1), Class::Light));
    let (length, unit) = unit_at(&rest[skipped..])?;
    let bare =
        matches!(language.name, "ru" | "uk" | "pl" | "cs") || unit.factor.total_cmp(&1_209_600.0).is_eq();
    let is_long = rest[skipped].text.chars().count() > 2;
    if unit.dimension != "time" || !is_long || !(one || bare) {
        return None;
    }
    let length = skipped + length;
    let text = joined(&rest[..length], language);
    Some((Token::of_value(text, Value::Quantity(unit.factor, unit)), length))
}
