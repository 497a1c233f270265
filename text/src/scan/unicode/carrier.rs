//! Decides whether the invisible characters of a text that are legitimate one by one carry a hidden message: a bit for
//! each place where such a character stands or does not stand, or stands in one of two forms.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

/// The maximal number of soft hyphens in a text.
const SOFT_HYPHENS_MAX: usize = 16;
/// The minimal number of other invisible characters that carry a message, and the number of visible characters for each of
/// them that no writing system goes below.
const OTHERS: (usize, usize) = (8, 6);
/// The minimal number of each of the two selectors of emoji that stand for two bits.
const SELECTORS_MIN: usize = 3;

/// The kinds of invisible characters that carry a message in one text.
#[derive(Clone, Copy, Default)]
pub(super) struct Carrier {
    has_soft_hyphens: bool,
    has_others: bool,
    has_selectors: bool,
}

impl Carrier {
    /// Counts the invisible characters of `text`.
    pub(super) fn of(text: &str) -> Self {
        if text.is_ascii() {
            return Self::default();
        }
        let (mut visible, mut soft, mut others, mut selectors) = (0, 0, 0, (0, 0));
        for char in text.chars() {
            match char {
                '\u{AD}' => soft += 1,
                '\u{FE0E}' => selectors.0 += 1,
                '\u{FE0F}' => selectors.1 += 1,
                _ if is_other(char) => others += 1,
                _ => visible += 1,
            }
        }
        Self {
            has_soft_hyphens: soft > SOFT_HYPHENS_MAX,
            has_others: others >= OTHERS.0 && others * OTHERS.1 > visible,
            has_selectors: selectors.0 >= SELECTORS_MIN && selectors.1 >= SELECTORS_MIN,
        }
    }

    /// Returns whether `char` is of a kind that carries a message.
    pub(super) fn has(self, char: char) -> bool {
        match char {
            '\u{AD}' => self.has_soft_hyphens,
            '\u{FE0E}' | '\u{FE0F}' => self.has_selectors,
            _ => self.has_others && is_other(char),
        }
    }
}

/// Returns whether `char` is invisible, and legitimate in some writing systems. Joiners do not count, because every emoji
/// of a family has up to three.
const fn is_other(char: char) -> bool {
    matches!(char, '\u{200C}' | '\u{200E}' | '\u{200F}' | '\u{61C}' | '\u{FE00}'..='\u{FE0D}' | '\u{E0100}'..='\u{E01EF}'
        | '\u{180B}'..='\u{180F}' | '\u{115F}' | '\u{1160}')
}
