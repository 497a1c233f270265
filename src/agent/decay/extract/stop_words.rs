//! Words that say nothing of what a text is about, in English and six languages more. All have four letters at
//! least, since shorter words are left out anyway.
//!
//! # Layer
//! L7, inside `agent`. Pure.

/// In the order of their characters, so that it can be searched by halves.
#[rustfmt::skip]
const STOP_WORDS: [&str; 244] = [
    "aber", "about", "after", "again", "ainda", "alle", "alles", "alors", "also", "although", "among",
    "anche", "auch", "aussi", "avec", "avoir", "because", "been", "before", "beim", "being", "between",
    "both", "cela", "cette", "come", "comme", "como", "could", "cuando", "dalla", "dans", "dass", "dein",
    "della", "delle", "denn", "depois", "depuis", "desde", "diese", "dieser", "dieses", "doch", "does",
    "doing", "donc", "donde", "done", "dopo", "dove", "during", "each", "eine", "einem", "einen", "einer",
    "eines", "eles", "ella", "ellas", "elle", "elles", "ellos", "encore", "entonces", "entre", "essere",
    "esta", "este", "esto", "estos", "even", "fino", "from", "haben", "hanno", "hasta", "hatte", "have",
    "here", "hers", "herself", "hier", "himself", "however", "ihre", "immer", "into", "isso", "itself",
    "jede", "jetzt", "just", "kann", "kein", "keine", "leur", "leurs", "like", "made", "mais", "make",
    "many", "mehr", "mein", "mesmo", "mich", "might", "more", "most", "much", "muito", "muss", "must",
    "m\u{ea}me", "nach", "nella", "nelle", "nicht", "noch", "nous", "oder", "ohne", "once", "onde",
    "only", "other", "ours", "ourselves", "over", "para", "parce", "pela", "pelo", "perch\u{e9}", "pero",
    "porque", "pour", "prima", "quand", "quando", "quel", "quelle", "quello", "quem", "questa", "questo",
    "same", "sans", "schon", "sehr", "sein", "seine", "seus", "shall", "should", "sich", "sind", "sobre",
    "some", "sono", "sont", "sous", "sowie", "still", "such", "sulla", "tambi\u{e9}n", "tamb\u{e9}m",
    "than", "that", "their", "them", "themselves", "then", "there", "therefore", "these", "they", "this",
    "those", "though", "through", "thus", "tiene", "todo", "todos", "tous", "tout", "tr\u{e8}s", "tutti",
    "unas", "under", "unos", "unter", "until", "upon", "very", "viel", "voc\u{ea}", "vous", "weil",
    "well", "wenn", "werden", "were", "what", "when", "where", "which", "while", "wieder", "will", "wird",
    "with", "within", "without", "would", "wurde", "your", "yours", "zwischen", "\u{e9}tait", "\u{ea}tre",
    "\u{fc}ber", "\u{431}\u{43e}\u{43b}\u{435}\u{435}", "\u{431}\u{44b}\u{43b}\u{430}",
    "\u{431}\u{44b}\u{43b}\u{438}", "\u{431}\u{44b}\u{43b}\u{43e}", "\u{431}\u{44b}\u{442}\u{44c}",
    "\u{432}\u{441}\u{435}\u{445}", "\u{435}\u{441}\u{43b}\u{438}", "\u{435}\u{441}\u{442}\u{44c}",
    "\u{43a}\u{43e}\u{433}\u{434}\u{430}", "\u{43a}\u{43e}\u{442}\u{43e}\u{440}\u{44b}\u{439}",
    "\u{43c}\u{43e}\u{436}\u{435}\u{442}", "\u{43f}\u{43e}\u{441}\u{43b}\u{435}",
    "\u{442}\u{430}\u{43a}\u{436}\u{435}", "\u{442}\u{43e}\u{433}\u{43e}",
    "\u{442}\u{43e}\u{43b}\u{44c}\u{43a}\u{43e}", "\u{447}\u{442}\u{43e}\u{431}\u{44b}",
    "\u{44d}\u{442}\u{43e}\u{433}\u{43e}", "\u{44d}\u{442}\u{43e}\u{442}",
];

/// Whether `word`, in lower case, is one of them.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_has_long_words_only() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| word.chars().count() >= 4));
        assert!(is_stop_word("should") && is_stop_word("für") == is_stop_word("der"));
        assert!(!is_stop_word("treering"));
    }
}
