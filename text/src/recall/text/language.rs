//! The languages of a text, which decide how its words are stemmed.
//!
//! Most scripts have one language here. Several languages share the Latin, the Cyrillic and the Arabic script. Among
//! them, the function words and the special letters of a text decide. English, Russian and Arabic are the usual
//! languages of these scripts: another language needs more words that speak for it than the usual one has, and at least
//! `SIGNS_MIN`. A short text stays with the usual language, so a name alone says nothing.
//!
//! # Layer
//! Uses runs, lists and folding.
//!
//! # Invariants
//! - LNG-1: the languages of a text depend only on the text, and at most `WORDS_MAX` words of it are read.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

use super::lists::{self, named};
use super::runs::{RunKind, Runs};
use super::terms::{facts_of, fold};

/// The number of words of a text that are read.
const WORDS_MAX: usize = 64;
/// The number of different words that must speak for an unusual language.
const SIGNS_MIN: u32 = 2;

named! {
    /// A language, with the name that Snowball gives it.
    pub(crate) enum Language {
        Arabic => "arabic",
        Armenian => "armenian",
        Catalan => "catalan",
        Czech => "czech",
        Danish => "danish",
        Dutch => "dutch",
        English => "english",
        Finnish => "finnish",
        French => "french",
        German => "german",
        Greek => "greek",
        Hindi => "hindi",
        Hungarian => "hungarian",
        Indonesian => "indonesian",
        Italian => "italian",
        Norwegian => "norwegian",
        Persian => "persian",
        Polish => "polish",
        Portuguese => "portuguese",
        Romanian => "romanian",
        Russian => "russian",
        Spanish => "spanish",
        Swedish => "swedish",
        Tamil => "tamil",
        Turkish => "turkish",
        Ukrainian => "ukrainian",
        /// Has no stemmer, because its words do not change. Its accents tell words apart.
        Vietnamese => "vietnamese",
    }
}

impl Language {
    /// Returns the stemmer of the language; `None` if its words do not change.
    pub(crate) fn stemmer(self) -> Option<Stemmer> {
        static STEMMERS: LazyLock<Vec<Option<Stemmer>>> = LazyLock::new(|| {
            let algorithm = |language: &Language| Algorithm::from_name(language.name()).ok();
            let all = Language::ALL.iter();
            all.map(|language| algorithm(language).map(Stemmer::new))
                .collect()
        });
        STEMMERS.get(self as usize).copied().flatten()
    }
}

/// The name of the line with the letters of loans.
const LOANS: &str = "loans";

/// A script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Script {
    Latin,
    Cyrillic,
    Arabic,
    /// A script with one language.
    Of(Language),
}

impl Script {
    /// Returns the script of the first letter of a word; `None` for a digit, and for a script without stemming rules.
    fn of(word: &str) -> Option<Self> {
        let letter = word.chars().next()?;
        Some(match u32::from(letter) {
            0x41..=0x5A | 0x61..=0x7A | 0xC0..=0x24F | 0x1E00..=0x1EFF => Self::Latin,
            0x370..=0x3FF | 0x1F00..=0x1FFF => Self::Of(Language::Greek),
            0x400..=0x52F => Self::Cyrillic,
            0x531..=0x58F => Self::Of(Language::Armenian),
            0x600..=0x6FF | 0x750..=0x77F | 0xFB50..=0xFDFF | 0xFE70..=0xFEFF => Self::Arabic,
            0x900..=0x97F => Self::Of(Language::Hindi),
            0xB80..=0xBFF => Self::Of(Language::Tamil),
            _ => return None,
        })
    }

    /// Returns the script of a language of the list.
    fn of_language(language: Language) -> Self {
        match language {
            Language::Russian | Language::Ukrainian => Self::Cyrillic,
            Language::Arabic | Language::Persian => Self::Arabic,
            _ => Self::Latin,
        }
    }
}

/// What speaks for the languages of the list. Each language has a bit, in the order of the list.
struct Signs {
    languages: Vec<Language>,
    words: HashMap<&'static str, u32>,
    letters: HashMap<char, u32>,
    /// The letters that English has in loans and names. They count only beside a word or another letter of a language.
    loans: HashSet<char>,
}

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    let mut signs = Signs {
        languages: Vec::new(),
        words: HashMap::new(),
        letters: HashMap::new(),
        loans: HashSet::new(),
    };
    for (name, listed) in named(lists::LANGUAGES) {
        if name == LOANS {
            signs.loans = listed.flat_map(str::chars).collect();
            continue;
        }
        let bit = 1 << signs.languages.len();
        signs
            .languages
            .push(Language::from_name(name).expect("a test reads the list"));
        for sign in listed {
            match sign.chars().next() {
                Some(letter) if !sign.is_ascii() && sign.len() == letter.len_utf8() => {
                    *signs.letters.entry(letter).or_default() |= bit;
                }
                _ => *signs.words.entry(sign).or_default() |= bit,
            }
        }
    }
    signs
});

/// The languages of a text by the scripts that several languages share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Languages {
    pub(crate) latin: Language,
    cyrillic: Language,
    arabic: Language,
}

impl Languages {
    /// The usual language of each script.
    const USUAL: Self = Self {
        latin: Language::English,
        cyrillic: Language::Russian,
        arabic: Language::Arabic,
    };

    /// Returns the languages of `text`.
    pub(crate) fn of(text: &str) -> Self {
        Self::read(text).0
    }

    /// Returns the languages of `text`, and whether more words speak for English than for any other language.
    fn read(text: &str) -> (Self, bool) {
        let mut counts = [0u32; u32::BITS as usize];
        // The number of English words, and the languages that have more than letters of loans.
        let (mut english, mut sure) = (0, 0);
        let mut seen: Vec<&str> = Vec::with_capacity(WORDS_MAX);
        let mut folded = String::new();
        let words = Runs::new(text).filter(|run| run.kind == RunKind::Word);
        for word in words.take(WORDS_MAX).map(|run| run.text) {
            // A name in capitals is no sign of a language.
            let is_name = !seen.is_empty() && word.starts_with(char::is_uppercase);
            if is_name || seen.contains(&word) {
                continue;
            }
            seen.push(word);
            fold(word, &mut folded);
            let mut signs = SIGNS.words.get(folded.as_str()).copied().unwrap_or_default();
            let is_english = facts_of(&folded).stop;
            if is_english && signs != 0 {
                // A word of several languages, such as "in", speaks for none.
                continue;
            }
            english += u32::from(is_english);
            sure |= signs;
            for letter in word
                .chars()
                .filter(|letter| !letter.is_ascii())
                .flat_map(char::to_lowercase)
            {
                let of_letter = SIGNS.letters.get(&letter).copied().unwrap_or_default();
                signs |= of_letter;
                if !SIGNS.loans.contains(&letter) {
                    sure |= of_letter;
                }
            }
            while signs != 0 {
                counts[signs.trailing_zeros() as usize] += 1;
                signs &= signs - 1;
            }
        }
        let mut languages = Self::USUAL;
        let best = |script: Script, usual: Language, usual_count: u32| {
            let all = SIGNS.languages.iter().enumerate().zip(counts);
            let fitting = all.filter(|&((at, language), count)| {
                let is_sure = sure >> at & 1 == 1;
                Script::of_language(*language) == script && is_sure && count >= SIGNS_MIN
            });
            // Of equal counts the first language of the list wins.
            let best = fitting.rev().max_by_key(|&(_, count)| count);
            best.filter(|&(_, count)| count > usual_count)
                .map_or(usual, |((_, &language), _)| language)
        };
        languages.latin = best(Script::Latin, languages.latin, english);
        languages.cyrillic = best(Script::Cyrillic, languages.cyrillic, 0);
        languages.arabic = best(Script::Arabic, languages.arabic, 0);
        let shows_english = english > counts.iter().copied().max().unwrap_or_default();
        (languages, shows_english)
    }

    /// Returns the language of a word of the text; `None` if no rules are known for its script.
    pub(crate) fn of_word(self, word: &str) -> Option<Language> {
        Some(match Script::of(word)? {
            Script::Latin => self.latin,
            Script::Cyrillic => self.cyrillic,
            Script::Arabic => self.arabic,
            Script::Of(language) => language,
        })
    }

    /// Returns the languages that are not the usual ones of their script.
    pub(crate) fn unusual(self) -> impl Iterator<Item = Language> {
        let usual = Self::USUAL;
        let all = [
            (self.latin, usual.latin),
            (self.cyrillic, usual.cyrillic),
            (self.arabic, usual.arabic),
        ];
        all.into_iter()
            .filter(|(language, usual)| language != usual)
            .map(|(language, _)| language)
    }
}

/// Returns whether a text is in English, as far as its words tell. If the text is `among_others`, words of English must
/// tell it. Otherwise a text of a few words in Latin letters counts as English.
///
/// A model that knows only English can use this for `Embedder::knows`.
pub fn is_english(text: &str, among_others: bool) -> bool {
    let (mut latin, mut others) = (0, 0);
    for run in Runs::new(text).take(WORDS_MAX) {
        if Script::of(run.text) == Some(Script::Latin) {
            latin += 1;
        } else if run.text.chars().any(char::is_alphabetic) {
            others += 1;
        }
    }
    let (languages, shows_english) = Languages::read(text);
    let is_shown = shows_english || !among_others;
    others <= latin && languages.latin == Language::English && is_shown
}

/// Returns all languages that a text can have besides the usual ones.
pub(crate) fn unusual_languages() -> impl Iterator<Item = Language> {
    let all = SIGNS.languages.iter().copied();
    all.filter(|language| !matches!(language, Language::Russian | Language::Arabic))
}

/// Returns the languages in which a word of a question is stemmed: the usual one of its script, and those of `others`
/// that share the script.
pub(crate) fn languages_of_word(word: &str, others: &[Language]) -> Vec<Language> {
    let Some(script) = Script::of(word) else {
        return Vec::new();
    };
    let usual = Languages::USUAL.of_word(word);
    let shares = |language: &Language| Script::of_language(*language) == script;
    usual
        .into_iter()
        .chain(others.iter().copied().filter(shares))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn languages(text: &str) -> Languages {
        Languages::of(text)
    }

    #[test]
    fn languages_are_told_by_function_words_and_letters() {
        let cases = [
            ("Who repairs the boiler in the cellar?", Language::English),
            ("Wer repariert die Heizung im Keller?", Language::German),
            ("Was ist in dem Haus?", Language::German),
            ("Qui répare la chaudière dans la cave ?", Language::French),
            ("¿Quién repara la caldera del sótano?", Language::Spanish),
            ("Chi ripara la caldaia nella cantina?", Language::Italian),
            ("Quem conserta a caldeira no porão?", Language::Portuguese),
            (
                "Qui repara la caldera del soterrani amb els veïns?",
                Language::Catalan,
            ),
            ("Cine repară centrala din pivniță pentru noi?", Language::Romanian),
            (
                "Wie repareert de ketel in het huis van mijn buren?",
                Language::Dutch,
            ),
            (
                "Vem är det som lagar pannan i källaren och när?",
                Language::Swedish,
            ),
            (
                "Hvem er det som reparerer kedlen af mine naboer, og hvad blev sagt?",
                Language::Danish,
            ),
            (
                "Hva ble sagt av naboene, og etter hvem er det?",
                Language::Norwegian,
            ),
            (
                "Kuka korjaa kellarin kattilan, kun se ei ole päällä?",
                Language::Finnish,
            ),
            ("Ki javítja meg a kazánt, ha az nem működik?", Language::Hungarian),
            (
                "Kto naprawia piec w piwnicy i kiedy to się stało?",
                Language::Polish,
            ),
            ("Kdo opravuje kotel ve sklepě a kde je?", Language::Czech),
            (
                "Kazan dairesini kim onarıyor ve ne zaman bitiyor?",
                Language::Turkish,
            ),
            ("Ai sửa lò sưởi trong tầng hầm?", Language::Vietnamese),
            ("Siapa yang memperbaiki ketel di ruang ini?", Language::Indonesian),
        ];
        for (text, wanted) in cases {
            assert_eq!(languages(text).latin, wanted, "LNG-1: of {text:?}");
        }
    }

    #[test]
    fn names_and_short_texts_stay_with_the_usual_language() {
        for text in [
            "",
            "Visited Los Angeles, La Jolla, El Paso",
            "Crème brûlée with Zoë in the café",
            "Kaffee",
            "port 8080",
            "We ate at Le Pain de la Rue with the twins",
        ] {
            assert_eq!(languages(text), Languages::USUAL, "of {text:?}");
        }
    }

    #[test]
    fn each_script_has_its_language() {
        let both = languages("Wer ist das? Це їжа і питво");
        assert_eq!(both.of_word("Wer"), Some(Language::German));
        assert_eq!(both.of_word("їжа"), Some(Language::Ukrainian));
        assert_eq!(
            both.unusual().collect::<Vec<_>>(),
            [Language::German, Language::Ukrainian]
        );
        let usual = languages("");
        for (word, language) in [
            ("книга", Some(Language::Russian)),
            ("βιβλίο", Some(Language::Greek)),
            ("كتاب", Some(Language::Arabic)),
            ("किताब", Some(Language::Hindi)),
            ("գիրք", Some(Language::Armenian)),
            ("நூல்", Some(Language::Tamil)),
            ("ספר", None),
            ("8080", None),
        ] {
            assert_eq!(usual.of_word(word), language, "{word}");
        }
        assert_eq!(languages("این کتاب چیست و گربه کجاست").arabic, Language::Persian);
        assert_eq!(
            languages_of_word("Haus", &[Language::German, Language::Ukrainian]),
            [Language::English, Language::German]
        );
    }

    #[test]
    fn the_list_of_languages_is_read() {
        assert!(unusual_languages().count() > 15);
        assert!(SIGNS.languages.len() < u32::BITS as usize);
        for word in SIGNS.words.keys() {
            let mut folded = String::new();
            fold(word, &mut folded);
            assert_eq!(*word, folded, "the list has folded words");
        }
    }
}
