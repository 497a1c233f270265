//! A day, a week or a month in UTC.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::calendar::{DAY_MICROS, Moment, date_of, day_of, weekday_of};

/// How long a bucket is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// From midnight to midnight.
    Day,
    /// From Monday to Monday.
    Week,
    /// From the first to the first.
    Month,
}

impl Granularity {
    /// All of them, shortest first.
    pub const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// The granularity that `name` says.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|granularity| granularity.name() == name)
    }
}

/// A stretch of time that one summary covers. Buckets are ordered by their beginning, short ones first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bucket {
    /// The first day, counted from 1970-01-01.
    start_day: i64,
    granularity: Granularity,
}

impl Bucket {
    /// The bucket that `time_micros` is in.
    pub fn of(granularity: Granularity, time_micros: i64) -> Self {
        let day = time_micros.div_euclid(DAY_MICROS);
        let start_day = match granularity {
            Granularity::Day => day,
            Granularity::Week => day - weekday_of(day),
            Granularity::Month => {
                let (year, month, _) = date_of(day);
                day_of((year, month, 1))
            }
        };
        Self {
            start_day,
            granularity,
        }
    }

    /// How long it is.
    pub fn granularity(self) -> Granularity {
        self.granularity
    }

    /// Its first microsecond, or the first one there is.
    pub fn start_micros(self) -> i64 {
        self.start_day.saturating_mul(DAY_MICROS)
    }

    /// The first microsecond after it, or the last one there is.
    pub fn end_micros(self) -> i64 {
        let end_day = match self.granularity {
            Granularity::Day => self.start_day + 1,
            Granularity::Week => self.start_day + 7,
            Granularity::Month => {
                let (year, month, _) = date_of(self.start_day);
                day_of(if month == 12 {
                    (year + 1, 1, 1)
                } else {
                    (year, month + 1, 1)
                })
            }
        };
        end_day.saturating_mul(DAY_MICROS)
    }

    /// The granularity and the time it begins, as in `day:2026-04-21T00:00:00.000Z`; the number of its first day where
    /// the year does not have four digits.
    pub fn field(self) -> String {
        let (name, start) = (self.granularity.name(), Moment::of(self.start_micros()));
        if start.has_plain_year() {
            format!("{name}:{start}.000Z")
        } else {
            format!("{name}:{}", self.start_day)
        }
    }
}

impl Serialize for Bucket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Bucket {
    fn schema_name() -> Cow<'static, str> {
        "Bucket".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl fmt::Display for Bucket {
    /// `2026-04-21`, `2026-W17` or `2026-04`. A week has the year that its Thursday is in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.start_day);
        match self.granularity {
            Granularity::Day => write!(f, "{year:04}-{month:02}-{day:02}"),
            Granularity::Week => {
                let thursday = self.start_day + 3;
                let (year, ..) = date_of(thursday);
                let week = (thursday - day_of((year, 1, 1))) / 7 + 1;
                write!(f, "{year:04}-W{week:02}")
            }
            Granularity::Month => write!(f, "{year:04}-{month:02}"),
        }
    }
}
