//! Order keys: texts whose byte order is the order of siblings.
//!
//! A key is a number of eight digits in base 36. If no number is free between two keys, a new key gets more digits,
//! which are a fraction. The first keys of a list are evenly spaced and start in the middle, so there is space before,
//! between and after them. Existing keys are kept if their order is still right.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.
//!
//! # Invariants
//! - ING-3: the keys of siblings are strictly ascending in their order.
//! - ING-4: as many keys as possible are kept.

/// The base of the keys. The digits are 0 to 9 and a to z, whose values have the order of their bytes.
const BASE: u64 = 36;
/// The number of digits before the fraction.
const WHOLE: usize = 8;
/// The maximal number of digits in a key, which is the maximal length of an object's position.
const LONGEST: usize = 64;
/// The number of values that eight digits can express.
const NUMBERS: u64 = BASE.pow(8);
/// The first key of a new list. Half of all numbers stay free before it.
const FIRST: u64 = NUMBERS / 2;
/// The distance between new keys. This distance allows fifteen inserts in the same place, each of which halves the
/// distance. After the first key, this distance leaves numbers for thirty million keys.
const STEP: u64 = BASE.pow(3);

/// The keys for a list of siblings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Assigned {
    /// The key of each sibling, in order.
    pub(super) keys: Vec<String>,
    /// Whether every key is new, because no number was free between the old keys.
    pub(super) respaced: bool,
}

/// Assigns keys to siblings, some of which already have a key.
pub(super) fn assign(existing: &[Option<&str>]) -> Assigned {
    let existing: Vec<Option<&str>> = existing
        .iter()
        .map(|key| key.filter(|key| is_valid(key)))
        .collect();
    let kept = longest_rise(&existing);
    let mut keys = Vec::with_capacity(existing.len());
    let mut last: Option<&str> = None;
    for place in kept.iter().copied().map(Some).chain([None]) {
        let next = place.and_then(|place| existing[place]);
        let count = place.unwrap_or(existing.len()) - keys.len();
        let Some(between) = between(last, next, count) else {
            return Assigned {
                keys: fresh(existing.len()),
                respaced: true,
            };
        };
        keys.extend(between);
        keys.extend(next.map(str::to_owned));
        last = next;
    }
    Assigned {
        keys,
        respaced: false,
    }
}

/// Returns evenly spaced keys for a list without keys.
fn fresh(count: usize) -> Vec<String> {
    spaced(
        FIRST,
        STEP.min((NUMBERS - FIRST) / (count as u64 + 1)).max(1),
        count,
    )
}

/// Returns `count` keys from the number `first` on, at a distance of `step`.
fn spaced(first: u64, step: u64, count: usize) -> Vec<String> {
    let numbers = (0..count as u64).map(|place| first + place * step);
    numbers.map(write_number).collect()
}

/// Returns the indexes of the longest strictly ascending subsequence of values, in order.
pub(super) fn longest_rise<T: Ord>(values: &[Option<T>]) -> Vec<usize> {
    // `ends[n]` is the index of the last value of an ascending subsequence of length n + 1. If there are several such
    // subsequences, the index belongs to the subsequence with the lowest last value.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; values.len()];
    for (place, value) in values.iter().enumerate().filter(|(_, value)| value.is_some()) {
        let length = ends.partition_point(|end| values[*end] < *value);
        before[place] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if length == ends.len() {
            ends.push(place);
        } else {
            ends[length] = place;
        }
    }
    let mut run: Vec<usize> = std::iter::successors(ends.last().copied(), |place| before[*place]).collect();
    run.reverse();
    run
}

/// Returns whether `key` has the form of an assigned key. A key of any other form was set by a person, and ingestion
/// replaces it.
fn is_valid(key: &str) -> bool {
    (WHOLE..=LONGEST).contains(&key.len())
        && key
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
        && (key.len() == WHOLE || !key.ends_with('0'))
}

/// Returns `count` keys between two others. Returns `None` if there are not enough free keys.
fn between(low: Option<&str>, high: Option<&str>, count: usize) -> Option<Vec<String>> {
    if count == 0 {
        return Some(Vec::new());
    }
    let span = STEP.checked_mul(count as u64)?;
    // Before the first key and after the last key, the distance between new keys is `STEP`, if enough numbers are free.
    let first = match (low, high) {
        (None, None) => return Some(fresh(count)),
        (Some(low), None) => {
            let low = read_number(low);
            (low.checked_add(span)? < NUMBERS).then_some(low + STEP)
        }
        (None, Some(high)) => read_number(high).checked_sub(span).filter(|first| *first > 0),
        (Some(_), Some(_)) => None,
    };
    first.map(|first| spaced(first, STEP, count)).or_else(|| {
        let low = low.map_or_else(Vec::new, read_digits);
        divide(&low, high.map(read_digits).as_deref(), count as u64)
    })
}

fn read_number(key: &str) -> u64 {
    read_digits(&key[..WHOLE])
        .iter()
        .fold(0, |number, digit| number * BASE + u64::from(*digit))
}

fn write_number(number: u64) -> String {
    let digits = (0..WHOLE as u32)
        .rev()
        .map(|place| (number / BASE.pow(place) % BASE) as u8);
    write_digits(&digits.collect::<Vec<_>>())
}

fn read_digits(key: &str) -> Vec<u8> {
    let digit = |character: char| character.to_digit(BASE as u32).unwrap_or_default();
    key.chars().map(|character| digit(character) as u8).collect()
}

fn write_digits(digits: &[u8]) -> String {
    let zeros = digits.iter().rev().take_while(|digit| **digit == 0).count();
    let digits = &digits[..WHOLE.max(digits.len() - zeros)];
    digits
        .iter()
        .filter_map(|digit| char::from_digit(u32::from(*digit), BASE as u32))
        .collect()
}

/// Divides the range between two keys evenly, with as few digits as possible. If `high` is `None`, the range ends after
/// the largest number.
fn divide(low: &[u8], high: Option<&[u8]>, count: u64) -> Option<Vec<String>> {
    let shortest = WHOLE.max(low.len()).max(high.map_or(0, <[u8]>::len));
    let key = |width: usize, part: u64| part_between(low, high, width, part, count + 1);
    // With too few digits, the first key would equal the lower end.
    let width = (shortest..=LONGEST).find(|width| key(*width, 1) != key(*width, 0))?;
    Some((1..=count).map(|part| write_digits(&key(width, part))).collect())
}

/// Returns the number that divides the distance from `low` to `high` at the fraction `part / parts`, rounded down to
/// `width` digits.
fn part_between(low: &[u8], high: Option<&[u8]>, width: usize, part: u64, parts: u64) -> Vec<u8> {
    let digit = |digits: &[u8], place: usize| u128::from(digits.get(place).copied().unwrap_or(0));
    let (base, part, parts) = (u128::from(BASE), u128::from(part), u128::from(parts));
    // Without `high`, the range ends at the number after the largest number. That number has an additional digit 1 at
    // the front.
    let mut remainder = if high.is_none() { part } else { 0 };
    let weighted = |place: usize| {
        let above = high.map_or(0, |high| digit(high, place));
        let sum = remainder * base + digit(low, place) * (parts - part) + above * part;
        remainder = sum % parts;
        sum / parts
    };
    let mut digits: Vec<u128> = (0..width).map(weighted).collect();
    for place in (1..width).rev() {
        digits[place - 1] += digits[place] / base;
        digits[place] %= base;
    }
    digits.iter().map(|digit| *digit as u8).collect()
}

#[cfg(test)]
mod tests;
