//! Numbers of several words, and quantities with a unit.
//!
//! # Layer
//! Knows the tokens and the languages.

use super::language::{Class, Language, unit_at};
use super::tokens::{Kind, Token};
use super::typed::{has, joined, number_of};
use super::value::Value;

/// The characters of numbers: the digits, and the powers of ten.
const SINO: &str = "〇零一二两三四五六七八九十百千万半";

/// Characters that follow a number.
const COUNTERS: &str = "点時时月日号人个台年歳岁階楼回件名本冊枚";

/// A number in Chinese characters, if it has several or something is counted.
pub(super) fn sino_number(language: &Language, _: &[Token], rest: &[Token]) -> Option<(Token, usize)> {
    if !language.is_spaceless() {
        return None;
    }
    let digits: Vec<char> = rest
        .iter()
        .take_while(|token| token.value.is_none() && token.kind == Kind::Word)
        .map_while(|token| token.text.chars().next().filter(|letter| SINO.contains(*letter)))
        .take(16)
        .collect();
    let next = rest.get(digits.len())?;
    let is_counted = COUNTERS.contains(&next.text) || unit_at(&rest[digits.len()..]).is_some();
    if digits.is_empty() || (digits.len() == 1 && !is_counted) {
        return None;
    }
    let text = digits.iter().collect();
    Some((Token::of_value(text, Value::Number(sino(&digits))), digits.len()))
}

fn sino(digits: &[char]) -> f64 {
    const VALUES: &str = "〇一二三四五六七八九";
    let (mut high, mut middle, mut low) = (0.0, 0.0, 0.0);
    for digit in digits {
        let power = match digit {
            '十' => 10.0,
            '百' => 100.0,
            '千' => 1_000.0,
            '万' => {
                high += f64::max(middle + low, 1.0) * 10_000.0;
                (middle, low) = (0.0, 0.0);
                continue;
            }
            '半' => {
                low += 0.5;
                continue;
            }
            '两' => {
                low = 2.0;
                continue;
            }
            digit => {
                low = VALUES.chars().position(|one| one == *digit).unwrap_or(0) as f64;
                continue;
            }
        };
        middle += f64::max(low, 1.0) * power;
        low = 0.0;
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
        .or_else(|| month(language, rest))
        .or_else(|| measure(rest))?;
    Some((Token::of_value(joined(&rest[..length], language), value), length))
}

/// "$ 5".
fn currency_first(rest: &[Token]) -> Option<(Value, usize)> {
    let (length, unit) = unit_at(rest).filter(|_| matches!(rest[0].text.as_str(), "$" | "€" | "£" | "¥"))?;
    let count = number_of(rest.get(length))?;
    Some((Value::Quantity(count, unit), length + 1))
}

/// A month of the calendar: "3月".
fn month(language: &Language, rest: &[Token]) -> Option<(Value, usize)> {
    let number = number_of(rest.first()).filter(|number| (1.0..=12.0).contains(number))?;
    let is_month = language.is_spaceless() && rest.get(1).is_some_and(|token| token.text == "月");
    is_month.then_some((Value::Month(number as usize - 1), 2))
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

/// One of a unit of time: "an hour", "час". Only after a verb or a preposition, because "four times a day" is a rate.
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
