//! The short form of an id: the first bits of its key path as text, such as `~4k0w8n2mzt6c`.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - SID-1: a short form belongs to one id, whatever the state contains: it is made of the id alone. It names no object
//!   if two objects of a state have the same one.
//!
//! # Limits
//! - Two ids have the same short form with a probability of 2^-60. To choose an id with the short form of another one takes
//!   about 2^60 hashes.

use super::{State, View};
use crate::digest::KeyPath;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object};
use crate::trie::Below;

/// What a short form begins with.
const MARK: char = '~';
/// The digits of a short form: five bits each, without letters that look like digits.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The number of digits of a short form.
const LENGTH: usize = 12;
/// The digits of a key path, of four bits each, in a short form.
const DIGITS_OF_PATH: usize = 5 * LENGTH / 4;
/// The bits that a short form leaves out of eight bytes.
const REST: u32 = 64 - 5 * LENGTH as u32;

/// Returns the first bits of a key path.
#[expect(
    clippy::big_endian_bytes,
    reason = "a short form has the first bits of the path, in their order"
)]
fn bits_of(key: &KeyPath) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&key.as_bytes()[..8]);
    u64::from_be_bytes(first) >> REST
}

/// Returns the bits of a short form, or `None` if the text is none.
fn read(text: &str) -> Option<u64> {
    let digits = text.strip_prefix(MARK).filter(|digits| digits.len() == LENGTH)?;
    digits.bytes().try_fold(0, |bits, byte| {
        let digit = DIGITS.iter().position(|known| *known == byte)?;
        Some(bits << 5 | digit as u64)
    })
}

/// Returns whether a text has the form of a short id. An id may have this form, too.
pub fn is_short_id(text: &str) -> bool {
    read(text).is_some()
}

impl View {
    /// Returns the short form of an id.
    #[doc(hidden)]
    pub fn short_id(&self, id: &Id) -> String {
        let bits = bits_of(&self.key(id));
        let digits = (0..LENGTH as u32)
            .rev()
            .map(|place| (bits >> (5 * place)) as usize & 31);
        let digits = digits.map(|digit| char::from(DIGITS[digit]));
        std::iter::once(MARK).chain(digits).collect()
    }

    /// Returns the object whose id has this short form. Returns `None` if there is none, or if the text is no short form.
    ///
    /// # Errors
    /// `InvalidInput` (code `ambiguous`) if two ids of this state have this short form; the errors of [`Self::get`].
    #[doc(hidden)]
    #[expect(
        clippy::big_endian_bytes,
        reason = "a short form has the first bits of the path, in their order"
    )]
    pub fn of_short_id(&self, text: &str) -> Result<Option<Object>> {
        let Some(bits) = read(text) else { return Ok(None) };
        let mut path = [0; 32];
        path[..8].copy_from_slice(&(bits << REST).to_be_bytes());
        let State { trie, store, .. } = self.state();
        match trie.below(&KeyPath::from_bytes(path), DIGITS_OF_PATH, &**store)? {
            Below::Nothing => Ok(None),
            Below::One(entry) => {
                let what = || format!("the object with the short id '{text}'");
                self.load_kept(&entry, what).map(Some)
            }
            Below::Several => Err(
                Error::invalid(format!("several ids have the short form '{text}'"))
                    .with_code(ErrorCode::Ambiguous)
                    .with_hint("give the whole id"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Memory, Writer};
    use crate::object::{Kind, NewObject};

    /// INVARIANT SID-1: a short form belongs to one id, whatever the state contains.
    #[test]
    fn a_short_form_names_its_object_and_no_other() {
        let memory = Memory::in_memory().unwrap();
        let ids: Vec<Id> = (0..500)
            .map(|number| Id::new(&format!("facts/{number}")).unwrap())
            .collect();
        let mut draft = memory.draft(&Writer::user());
        for id in &ids {
            draft
                .put(NewObject::new(id.clone(), Kind::new("fact").unwrap()))
                .unwrap();
        }
        memory.commit(draft, "put").unwrap();
        let shorts: Vec<String> = ids.iter().map(|id| memory.view().short_id(id)).collect();
        for (id, short) in ids.iter().zip(&shorts) {
            assert!(is_short_id(short) && short.len() == 13, "{short}");
            let found = memory.view().of_short_id(short).unwrap().unwrap();
            assert!(found.is_named(id));
        }
        // What is gone is found by no other's short form, and an id of this form is not read as one.
        memory.remove(&ids[7], &Writer::user()).unwrap();
        let like = Id::new(&shorts[7]).unwrap();
        memory
            .put(
                NewObject::new(like.clone(), Kind::new("fact").unwrap()),
                &Writer::user(),
            )
            .unwrap();
        let view = memory.view();
        assert!(view.of_short_id(&shorts[7]).unwrap().is_none());
        assert!(
            view.of_short_id(&view.short_id(&like))
                .unwrap()
                .unwrap()
                .is_named(&like)
        );
        for text in ["", "~", "facts/1", "~abc", "~ILOU56789012", "x0123456789ab"] {
            assert!(
                !is_short_id(text) && view.of_short_id(text).unwrap().is_none(),
                "{text}"
            );
        }
    }
}
