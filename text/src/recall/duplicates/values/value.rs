//! The values that a statement can give: numbers, quantities, clocks, dates, weekdays, colours, languages, yes and no.
//!
//! Two values of one kind can be compared however they are written: "2 m" is "200 cm", and "a quarter past ten" is
//! "10:15".
//!
//! # Layer
//! Imports nothing of the comparison.

/// The difference below which quantities in two units are equal, because one of them is rounded.
const ROUNDED: f64 = 0.025;

/// A unit, as a number of its base unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Unit {
    pub(super) dimension: &'static str,
    pub(super) factor: f64,
    pub(super) offset: f64,
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Number(f64),
    /// A number with more than one dot or slash.
    Version(String),
    /// Letters and digits: the number of a seat, a gate, a flight.
    Code(String),
    /// A number of base units, and the unit it was written in.
    Quantity(f64, Unit),
    /// Minutes since midnight.
    Clock(f64),
    Weekday(usize),
    Month(usize),
    Date {
        year: Option<u32>,
        month: usize,
        day: Option<u32>,
    },
    Ordinal(f64),
    Colour(usize),
    Tongue(usize),
    Flag(bool),
}

impl Value {
    /// Returns the value of the word in this place of a list; `None` if there is no such list.
    pub(super) fn of_list(list: &str, place: usize) -> Option<Self> {
        let count = place as f64 + 1.0;
        Some(match list {
            "weekdays" => Self::Weekday(place),
            "months" => Self::Month(place),
            "numbers" => Self::Number(count),
            "tens" if place < 7 => Self::Number((count + 2.0) * 10.0),
            "tens" => Self::Number([100.0, 1_000.0, 1_000_000.0][place.min(9) - 7]),
            "half" => Self::Number(0.5),
            "noon" => Self::Clock(if place == 0 { 720.0 } else { 0.0 }),
            "ordinals" => Self::Ordinal(count),
            "colours" => Self::Colour(place),
            "tongues" => Self::Tongue(place),
            _ => return None,
        })
    }

    /// Whether two values are of the same kind, so that one can contradict the other.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Quantity(_, one), Self::Quantity(_, two)) => one.dimension == two.dimension,
            (Self::Number(_) | Self::Version(_), Self::Number(_) | Self::Version(_))
            | (Self::Month(_) | Self::Date { .. }, Self::Month(_) | Self::Date { .. }) => true,
            (Self::Clock(_), Self::Number(hour)) | (Self::Number(hour), Self::Clock(_)) => {
                (0.0..=24.0).contains(hour) && (hour * 2.0).fract() < 1e-9
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Whether two values say the same, or one says the other in more detail.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Quantity(one, unit), Self::Quantity(two, other)) if unit.dimension == other.dimension => {
                let rounded = if unit.factor.total_cmp(&other.factor).is_eq() {
                    1e-9
                } else {
                    ROUNDED
                };
                (one - two).abs() <= rounded * one.abs().max(two.abs())
            }
            (Self::Version(long), Self::Number(short)) | (Self::Number(short), Self::Version(long)) => {
                long.starts_with(&format!("{short}."))
            }
            (Self::Number(one), Self::Number(two)) => {
                one.total_cmp(two).is_eq()
                    || one.to_string().starts_with(&format!("{two}."))
                    || two.to_string().starts_with(&format!("{one}."))
            }
            // A bare hour may be in either half of the day.
            (Self::Clock(minutes), Self::Number(hour)) | (Self::Number(hour), Self::Clock(minutes)) => {
                (minutes % 720.0 - hour * 60.0 % 720.0).abs() < 1e-9
            }
            (Self::Date { month, .. }, Self::Month(other))
            | (Self::Month(other), Self::Date { month, .. }) => month == other,
            (
                Self::Date { year, month, day },
                Self::Date {
                    year: other_year,
                    month: other_month,
                    day: other_day,
                },
            ) => {
                let agree =
                    |one: &Option<u32>, two: &Option<u32>| one.is_none() || two.is_none() || one == two;
                month == other_month && agree(year, other_year) && agree(day, other_day)
            }
            _ => self == other,
        }
    }
}

/// Returns the value of a number in digits.
pub(super) fn number(text: &str) -> Value {
    let whole = |text: &str| text.parse::<u32>().ok();
    if let Some((hour, minute)) = text.split_once(':')
        && let (Some(hour), Some(minute)) = (whole(hour), whole(minute))
    {
        return Value::Clock(f64::from(hour) * 60.0 + f64::from(minute));
    }
    let parts: Vec<&str> = text.split('-').collect();
    if let [year, month, rest @ ..] = &parts[..]
        && let (4, Some(year), Some(month @ 1..=12)) = (year.len(), whole(year), whole(month))
        && let Some(day) = match rest {
            [] => Some(None),
            [day] => whole(day).map(Some),
            _ => None,
        }
    {
        return Value::Date {
            year: Some(year),
            month: month as usize - 1,
            day,
        };
    }
    let groups: Vec<&str> = text.split([',', '.']).collect();
    let is_grouped = groups.len() > 1
        && !text.starts_with('0')
        && groups[0].trim_start_matches('-').len() <= 3
        && groups[1..].iter().all(|group| group.len() == 3);
    let plain = if is_grouped {
        groups.concat()
    } else {
        text.replace(',', ".")
    };
    let number = plain.parse().ok().filter(|number: &f64| number.is_finite());
    number.map_or(Value::Version(plain), Value::Number)
}
