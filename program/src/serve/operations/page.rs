//! The page of an answer that a call asks for, and the cursor that names the next page.
//!
//! A cursor names the state by its root, so the pages of one answer are of one state, whatever is committed in between.
//! It also names the time at which expiry and recency were judged, and a check of the other arguments.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - PGE-1: all pages of an answer come from one state at one time.

use serde_json::{Map, Value as Json};

use crate::serve::Service;
use treering::{Error, ErrorCode, Result, Time, View};

/// The number of digits of the root in a cursor.
const ROOT_DIGITS: usize = 16;
/// The base of the numbers in a cursor.
const RADIX: u32 = 16;
/// The largest place in an answer that a cursor may name.
const START_MAX: usize = 1_000_000;

/// The page that a call asks for.
pub(crate) struct Page {
    /// The number of rows, or of characters, before the page.
    pub(super) start: usize,
    /// The state of the pages before; `None` for the first page.
    view: Option<View>,
}

impl Page {
    /// Reads the cursor of a call.
    ///
    /// # Errors
    /// `InvalidInput` (code `usage`) if the text is no cursor, or belongs to a call with other arguments. `NotFound` if the store no
    /// longer has the state.
    pub(super) fn read(
        service: &Service,
        cursor: Option<&Json>,
        arguments: &Map<String, Json>,
    ) -> Result<Self> {
        let Some(cursor) = cursor else {
            return Ok(Self { start: 0, view: None });
        };
        let refused = || {
            Error::invalid("the cursor is not one of an earlier answer to this call")
                .with_code(ErrorCode::Usage)
                .with_hint(
                    "repeat the call without cursor, or with the cursor and the arguments of the last page",
                )
        };
        let parts: Vec<&str> = cursor.as_str().ok_or_else(refused)?.split('.').collect();
        let [root, now, start, check] = parts[..] else {
            return Err(refused());
        };
        let now = i64::from_str_radix(now, RADIX).map_err(|_| refused())?;
        let start = usize::from_str_radix(start, RADIX).map_err(|_| refused())?;
        let is_root = root.len() == ROOT_DIGITS && root.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_root || start > START_MAX || check != check_of(arguments) {
            return Err(refused());
        }
        let head = service.head()?;
        let is_head = head.root().to_string().starts_with(root);
        let view = if is_head { head } else { service.state(root)? };
        Ok(Self {
            start,
            view: Some(view.with_now(Time::from_micros(now))),
        })
    }

    /// Returns the state to read: that of the pages before (PGE-1), else the one that `at` names, else the head.
    ///
    /// # Errors
    /// The errors of [`Service::state`].
    pub(super) fn view(&self, service: &Service, at: Option<&str>) -> Result<View> {
        match (&self.view, at) {
            (Some(view), _) => Ok(view.clone()),
            (None, Some(at)) => service.state(at),
            (None, None) => service.head(),
        }
    }

    /// Returns the cursor of the page that begins at `start`.
    pub(super) fn cursor(view: &View, start: usize, arguments: &Map<String, Json>) -> String {
        let root = view.root().to_string();
        let (root, now) = (
            &root[..ROOT_DIGITS.min(root.len())],
            view.now().as_micros().max(0),
        );
        format!("{root}.{now:x}.{start:x}.{}", check_of(arguments))
    }
}

/// Returns a check of the arguments, whatever their order. It protects from mistakes, not from an attacker.
fn check_of(arguments: &Map<String, Json>) -> String {
    let mut sorted: Vec<_> = arguments
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    sorted.sort_unstable();
    format!("{:04x}", crc32fast::hash(sorted.join("\n").as_bytes()) >> 16)
}
