//! Tests whether a store honours conditional writes. A store that ignores them would lose the pushes of two machines.
//!
//! # Layer
//! Layer 7, part of `remote/bucket`.

use super::{Bucket, BucketError, BucketResult};
use crate::digest::to_hex;
use crate::error::{Error, ErrorCode, Result};

/// The start of the name of an object that a probe writes and deletes.
const PREFIX: &str = "treering-probe-";

named! {
    /// What is wrong with a store.
    pub enum Fault {
        /// It creates a name that exists already, and replaces its content.
        CreatesTwice => "it replaces an object that a conditional write (If-None-Match) should only create",
        /// It replaces an object although the version is another one.
        IgnoresVersion => "it replaces an object although the version of the write (If-Match) is outdated",
        /// It refuses a write with the present version.
        RefusesVersion => "it refuses to replace an object with a conditional write (If-Match)",
        /// It returns other bytes than were written.
        ReadsOther => "it returns other bytes than were written",
        /// It does not list what is there.
        ListsNothing => "it does not list an object that is there",
    }
}

/// Writes, replaces, reads, lists and deletes an object of an unused name. Returns the first fault of the store.
///
/// # Errors
/// `InvalidInput` (code `no_conditional_writes`) with the fault; `Io` if the store cannot be reached or refuses the caller.
pub fn probe(bucket: &dyn Bucket, random: [u8; 16]) -> Result<()> {
    let name = format!("{PREFIX}{}", to_hex(&random));
    let found = find_fault(bucket, &name);
    let deleted = bucket.delete(&name);
    let doing = "cannot write to";
    match found.map_err(|error| error.at(bucket, doing))? {
        None => deleted.map_err(|error| error.at(bucket, doing)),
        Some(fault) => {
            let text = format!("{} cannot be a remote: {}", bucket.describe(), fault.name());
            Err(Error::invalid(text)
                .with_code(ErrorCode::NoConditionalWrites)
                .with_hint("use a store that honours conditional writes; nothing was stored"))
        }
    }
}

pub(super) fn find_fault(bucket: &dyn Bucket, name: &str) -> BucketResult<Option<Fault>> {
    let [one, two, three, four] = [b"1", b"2", b"3", b"4"];
    bucket.put_new(name, one)?;
    match bucket.put_new(name, two) {
        Err(BucketError::Exists) => {}
        Err(error) => return Err(error),
        Ok(()) => return Ok(Some(Fault::CreatesTwice)),
    }
    let first = bucket.get(name, None)?;
    if first.bytes != one {
        return Ok(Some(Fault::ReadsOther));
    }
    match bucket.swap(name, &first.version, three) {
        Ok(_) => {}
        Err(BucketError::Stale) => return Ok(Some(Fault::RefusesVersion)),
        Err(error) => return Err(error),
    }
    match bucket.swap(name, &first.version, four) {
        Err(BucketError::Stale) => {}
        Err(error) => return Err(error),
        Ok(_) => return Ok(Some(Fault::IgnoresVersion)),
    }
    if bucket.get(name, None)?.bytes != three {
        return Ok(Some(Fault::ReadsOther));
    }
    let is_listed = bucket.list(PREFIX)?.iter().any(|listed| listed == name);
    Ok((!is_listed).then_some(Fault::ListsNothing))
}
