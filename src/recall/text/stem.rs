//! The English stemmer of the Snowball project (Porter2, as of Snowball 3).
//!
//! Works on lower-case ASCII letters, digits and apostrophes; any other word is given back as it is, because
//! the rules are rules of English.
//!
//! # Layer
//! Pure; imports nothing.
//!
//! # Invariants
//! - STM-1: the stem of a word is never longer than the word by more than one letter, and never empty unless
//!   the word is.

/// Whole words with a stem of their own; an empty stem stands for the word itself.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("andes", ""),
    ("atlas", ""),
    ("bias", ""),
    ("cosmos", ""),
    ("early", "earli"),
    ("gently", "gentl"),
    ("howe", ""),
    ("idly", "idl"),
    ("news", ""),
    ("only", "onli"),
    ("singly", "singl"),
    ("skies", "sky"),
    ("skis", "ski"),
    ("sky", ""),
    ("ugly", "ugli"),
];
/// Beginnings after which the first region starts, whatever the vowels say.
const REGION_STARTS: &[&str] = &[
    "arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers",
];
/// What may stand alone before "ing" without losing it.
const KEEP_ING: &[&str] = &["even", "cann", "inn", "earr", "herr", "out"];
/// What may stand alone before "eed" without losing its d.
const KEEP_EED: &[&str] = &["succ", "proc", "exc"];
/// Suffixes of step 2 with their replacements; the longest that fits counts.
const STEP_2: &[(&str, &str)] = &[
    ("ization", "ize"),
    ("ational", "ate"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("tional", "tion"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ation", "ate"),
    ("entli", "ent"),
    ("fulli", "ful"),
    ("iviti", "ive"),
    ("ousli", "ous"),
    ("ogist", "og"),
    ("abli", "able"),
    ("alli", "al"),
    ("anci", "ance"),
    ("ator", "ate"),
    ("enci", "ence"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];
/// Suffixes of step 3 with their replacements.
const STEP_3: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("ative", ""),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];
/// Suffixes that step 4 takes off.
const STEP_4: &[&str] = &[
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize",
    "ous", "al", "er", "ic",
];

/// Replaces `word` by its stem.
pub(crate) fn stem(word: &mut String) {
    if word.len() < 3
        || !word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'\'')
    {
        return;
    }
    if let Ok(at) = EXCEPTIONS.binary_search_by(|(exception, _)| (*exception).cmp(word.as_str())) {
        if !EXCEPTIONS[at].1.is_empty() {
            EXCEPTIONS[at].1.clone_into(word);
        }
        return;
    }
    let mut stemmer = Stemmer::new(std::mem::take(word).into_bytes());
    stemmer.step_1a();
    stemmer.step_1b();
    stemmer.step_1c();
    stemmer.step_2();
    stemmer.step_3();
    stemmer.step_4();
    stemmer.step_5();
    stemmer.word.make_ascii_lowercase();
    // Only ASCII was let in, and only ASCII was added.
    *word = String::from_utf8(stemmer.word).unwrap_or_default();
}

/// A word on its way to its stem, with the starts of its two regions.
struct Stemmer {
    word: Vec<u8>,
    first: usize,
    second: usize,
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

impl Stemmer {
    /// Marks a y that is a consonant with a capital, and the two regions.
    fn new(mut word: Vec<u8>) -> Self {
        if word.first() == Some(&b'\'') {
            word.remove(0);
        }
        for at in 0..word.len() {
            if word[at] == b'y' && (at == 0 || is_vowel(word[at - 1])) {
                word[at] = b'Y';
            }
        }
        let end = word.len();
        let region = |from: usize| {
            let vowel = (from..end).find(|&at| is_vowel(word[at]))?;
            (vowel..end).find(|&at| !is_vowel(word[at])).map(|at| at + 1)
        };
        let first = REGION_STARTS
            .iter()
            .find(|start| word.starts_with(start.as_bytes()))
            .map(|start| start.len())
            .or_else(|| region(0))
            .unwrap_or(end);
        let second = region(first).unwrap_or(end);
        Self { word, first, second }
    }

    fn ends(&self, suffix: &str) -> bool {
        self.word.ends_with(suffix.as_bytes())
    }

    /// The start of a suffix of `length` bytes.
    fn start(&self, length: usize) -> usize {
        self.word.len() - length
    }

    fn replace(&mut self, length: usize, by: &str) {
        self.word.truncate(self.start(length));
        self.word.extend_from_slice(by.as_bytes());
    }

    /// Whether the last letters are a short syllable.
    fn ends_short(&self) -> bool {
        match *self.word.as_slice() {
            [.., a, b, c]
                if !is_vowel(a) && is_vowel(b) && !is_vowel(c) && !matches!(c, b'w' | b'x' | b'Y') =>
            {
                true
            }
            [a, b] => is_vowel(a) && !is_vowel(b),
            _ => self.ends("past"),
        }
    }

    fn step_1a(&mut self) {
        for suffix in ["'s'", "'s", "'"] {
            if self.ends(suffix) {
                self.replace(suffix.len(), "");
                break;
            }
        }
        if self.ends("sses") {
            self.replace(2, "");
        } else if self.ends("ied") || self.ends("ies") {
            let by = if self.word.len() > 4 { "i" } else { "ie" };
            self.replace(3, by);
        } else if self.ends("s") && !self.ends("ss") && !self.ends("us") {
            // The s goes if a vowel stands before the letter before it.
            let stays =
                self.word.len() < 3 || !self.word[..self.word.len() - 2].iter().copied().any(is_vowel);
            if !stays {
                self.replace(1, "");
            }
        }
    }

    fn step_1b(&mut self) {
        for suffix in ["eedly", "eed"] {
            if self.ends(suffix) {
                let start = self.start(suffix.len());
                let kept = KEEP_EED.iter().any(|kept| kept.as_bytes() == &self.word[..start]);
                if self.first <= start && !kept {
                    self.replace(suffix.len(), "ee");
                }
                return;
            }
        }
        let Some(suffix) = ["ingly", "edly", "ing", "ed"]
            .into_iter()
            .find(|suffix| self.ends(suffix))
        else {
            return;
        };
        let start = self.start(suffix.len());
        if suffix == "ing" {
            if start == 2 && self.word[1] == b'y' && !is_vowel(self.word[0]) {
                self.replace(4, "ie");
                return;
            }
            if KEEP_ING.iter().any(|kept| kept.as_bytes() == &self.word[..start]) {
                return;
            }
        }
        if !self.word[..start].iter().copied().any(is_vowel) {
            return;
        }
        self.replace(suffix.len(), "");
        self.mend();
    }

    /// Gives an e back, or takes one of two equal letters away, after step 1b took a suffix.
    fn mend(&mut self) {
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.word.push(b'e');
            return;
        }
        if let [.., a, b] = *self.word.as_slice()
            && a == b
            && matches!(b, b'b' | b'd' | b'f' | b'g' | b'm' | b'n' | b'p' | b'r' | b't')
        {
            if !(self.word.len() == 3 && matches!(self.word[0], b'a' | b'e' | b'o')) {
                self.word.pop();
            }
        } else if self.word.len() == self.first && self.ends_short() {
            self.word.push(b'e');
        }
    }

    fn step_1c(&mut self) {
        if let [_, .., before, b'y' | b'Y'] = *self.word.as_slice()
            && !is_vowel(before)
        {
            self.replace(1, "i");
        }
    }

    fn step_2(&mut self) {
        let Some((suffix, by)) = STEP_2.iter().find(|(suffix, _)| self.ends(suffix)) else {
            return;
        };
        let start = self.start(suffix.len());
        if self.first > start {
            return;
        }
        let before = start.checked_sub(1).map(|at| self.word[at]);
        let fits = match *suffix {
            "ogi" => before == Some(b'l'),
            "li" => before.is_some_and(|letter| b"cdeghkmnrt".contains(&letter)),
            _ => true,
        };
        if fits {
            self.replace(suffix.len(), by);
        }
    }

    fn step_3(&mut self) {
        let Some((suffix, by)) = STEP_3.iter().find(|(suffix, _)| self.ends(suffix)) else {
            return;
        };
        let region = if *suffix == "ative" {
            self.second
        } else {
            self.first
        };
        if self.first <= self.start(suffix.len()) && region <= self.start(suffix.len()) {
            self.replace(suffix.len(), by);
        }
    }

    fn step_4(&mut self) {
        let Some(suffix) = STEP_4.iter().find(|suffix| self.ends(suffix)) else {
            return;
        };
        let start = self.start(suffix.len());
        let fits = *suffix != "ion" || (start > 0 && matches!(self.word[start - 1], b's' | b't'));
        if self.second <= start && fits {
            self.replace(suffix.len(), "");
        }
    }

    fn step_5(&mut self) {
        let Some(start) = self.word.len().checked_sub(1) else {
            return;
        };
        match self.word[start] {
            b'e' => {
                self.word.pop();
                let goes = self.second <= start || (self.first <= start && !self.ends_short());
                if !goes {
                    self.word.push(b'e');
                }
            }
            b'l' if self.second <= start && start > 0 && self.word[start - 1] == b'l' => {
                self.word.pop();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    /// Words and their stems as the Snowball project publishes them.
    const VECTORS: &[(&str, &str)] = &include!("stem_vectors.in");

    #[test]
    fn the_published_stems_come_out() {
        for (word, wanted) in VECTORS {
            let mut stemmed = (*word).to_owned();
            stem(&mut stemmed);
            assert_eq!(stemmed, *wanted, "of {word}");
        }
    }

    #[test]
    fn no_short_word_of_letters_breaks_it_and_none_grows() {
        let letters = b"aeiouybdglnrst'";
        for length in 1..5 {
            for number in 0..letters.len().pow(length) {
                let word: String = (0..length)
                    .map(|at| letters[number / letters.len().pow(at) % letters.len()] as char)
                    .collect();
                let mut stemmed = word.clone();
                stem(&mut stemmed);
                assert!(stemmed.len() <= word.len() + 1, "STM-1: {word} -> {stemmed}");
            }
        }
    }

    #[test]
    fn words_of_other_scripts_stay() {
        for word in ["straße", "日本", "писать", "naïvely", ""] {
            let mut stemmed = word.to_owned();
            stem(&mut stemmed);
            assert_eq!(stemmed, word);
        }
    }
}
