//! The register of verified stores: when this user last verified a store, and it was whole. A file in the XDG state folder,
//! because `verify` writes nothing to the store.
//!
//! # Layer
//! Layer 8. `verify` writes it, and the metrics of a server read it.

use serde::{Deserialize, Serialize};

use treering::inspect::agent::projects::UserRegister;
use treering::inspect::digest::to_hex;
use treering::{Memory, Result, Time};

/// The most stores in the register.
const ENTRIES_MAX: usize = 1_000;

/// A store that was whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct VerifiedStore {
    /// The id of the store, in hexadecimal digits.
    store: String,
    /// In microseconds since 1970.
    micros: i64,
}

fn open() -> Result<UserRegister<VerifiedStore>> {
    UserRegister::open("verified", "verified stores")
}

/// Notes that the store in a folder was whole at `time`.
///
/// # Errors
/// `NotFound` if no variable names a folder; `Denied` if other users may change the register; `Io`.
pub(crate) fn note(store: &std::path::Path, time: Time) -> Result<()> {
    let store = to_hex(&Memory::id_of_store(store)?);
    open()?.change(|entries| {
        entries.retain(|entry| entry.store != store);
        entries.drain(..entries.len().saturating_sub(ENTRIES_MAX - 1));
        entries.push(VerifiedStore {
            store,
            micros: time.as_micros(),
        });
    })
}

/// Returns when the store in a folder was last whole; `None` if this user never verified it.
#[cfg(feature = "http")]
pub(crate) fn last(store: &std::path::Path) -> Option<Time> {
    let store = to_hex(&Memory::id_of_store(store).ok()?);
    let register = open().ok()?;
    let found = register.entries().iter().find(|entry| entry.store == store);
    found.map(|entry| Time::from_micros(entry.micros))
}
