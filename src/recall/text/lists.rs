//! Word lists of English: what carries no meaning of its own, and forms that no rule derives.
//!
//! # Layer
//! Pure data of `recall::text`.

/// Words that are neither indexed nor asked for, as the tokeniser writes them.
pub(crate) const STOP_WORDS: &str = "\
     a about above after again against ain aint all also am an and any are aren arent as at be \
     because been before being below between both but by can cannot cant could couldn couldnt d did \
     didn didnt do does doesn doesnt doing don dont down during each few for from further had hadn \
     hadnt has hasn hasnt have haven havent having he her here hers herself him himself his how i id \
     if im in into is isn isnt it its itself ive just let ll m may me might more most must my myself \
     no nor not of off on once only or other our ours ourselves out over own re s same shall she \
     should shouldn shouldnt so some such t than that the their theirs them themselves then there \
     these they this those through to too under until up us ve very was wasn wasnt we were weren \
     werent what when where which while who whom why will with won wont would wouldn wouldnt you your \
     yours yourself yourselves";

/// Words that frame a question ("what did she mention about") more than they say what is asked for.
pub(crate) const FRAME_WORDS: &str = "\
     according ask asked asking aspect aspects bring brought chat consider considered conversation \
     conversations currently describe described describes detail details different discuss discussed \
     discussing discussion earlier explain give given happen happened item items kind know likely \
     list many mention mentioned mentioning much often order particular particularly please \
     potentially previously recall recommend recommended remember said say saying sort specific \
     suggest suggested talk talked talking tell telling thing things throughout told type various \
     walk";

/// A base form and the forms that the stemmer does not bring to it.
pub(crate) const IRREGULAR: &[(&str, &str)] = &[
    ("be", "am are been is was were"),
    ("become", "became"),
    ("begin", "began begun"),
    ("bend", "bent"),
    ("bite", "bit bitten"),
    ("blow", "blew blown"),
    ("break", "broke broken"),
    ("bring", "brought"),
    ("build", "built"),
    ("buy", "bought"),
    ("catch", "caught"),
    ("child", "children"),
    ("choose", "chose chosen"),
    ("come", "came"),
    ("do", "did done"),
    ("draw", "drawn drew"),
    ("drink", "drank drunk"),
    ("drive", "driven drove"),
    ("eat", "ate eaten"),
    ("fall", "fallen fell"),
    ("feed", "fed"),
    ("feel", "felt"),
    ("fight", "fought"),
    ("find", "found"),
    ("fly", "flew flown"),
    ("foot", "feet"),
    ("forget", "forgot forgotten"),
    ("freeze", "froze frozen"),
    ("get", "got gotten"),
    ("give", "gave given"),
    ("go", "gone went"),
    ("grow", "grew grown"),
    ("have", "had has"),
    ("hear", "heard"),
    ("hide", "hid hidden"),
    ("hold", "held"),
    ("hurt", "hurts"),
    ("keep", "kept"),
    ("knife", "knives"),
    ("know", "knew known"),
    ("lead", "led"),
    ("leave", "left"),
    ("lend", "lent"),
    ("lie", "lain lay"),
    ("light", "lit"),
    ("lose", "lost"),
    ("make", "made"),
    ("man", "men"),
    ("mean", "meant"),
    ("meet", "met"),
    ("mouse", "mice"),
    ("pay", "paid"),
    ("person", "people persons"),
    ("ride", "ridden rode"),
    ("rise", "risen rose"),
    ("run", "ran"),
    ("say", "said"),
    ("see", "saw seen"),
    ("seek", "sought"),
    ("sell", "sold"),
    ("send", "sent"),
    ("shake", "shaken shook"),
    ("shine", "shone"),
    ("shoot", "shot"),
    ("show", "shown"),
    ("sing", "sang sung"),
    ("sink", "sank sunk"),
    ("sit", "sat"),
    ("sleep", "slept"),
    ("speak", "spoke spoken"),
    ("spend", "spent"),
    ("stand", "stood"),
    ("steal", "stole stolen"),
    ("stick", "stuck"),
    ("strike", "struck"),
    ("swear", "swore"),
    ("swim", "swam swum"),
    ("take", "taken took"),
    ("teach", "taught"),
    ("tear", "tore torn"),
    ("tell", "told"),
    ("think", "thought"),
    ("throw", "threw thrown"),
    ("tooth", "teeth"),
    ("understand", "understood"),
    ("wake", "woke woken"),
    ("wear", "wore worn"),
    ("wife", "wives"),
    ("win", "won"),
    ("woman", "women"),
    ("write", "written wrote"),
];
