//! The short names that patterns of the tables use, and how a pattern becomes a regex.
//!
//! # Layer
//! Pure: imports nothing of the crate.

/// What a name in angle brackets stands for. A name may use those above it.
const NAMES: &[(&str, &str)] = &[
    ("near", "[^.]{0,24}"),
    ("gap", "[^.]{0,60}"),
    (
        "some",
        "(?:(?:all|any|every|each|the|of|your|my|our|its|these|those|this|that|and|or|other|such|completely|entirely|just|please|everything|both|whatever|everyone|their|his|her|to|about|from|in|on|with|absolutely|simply|now) ){0,5}",
    ),
    (
        "prior",
        "(?:previous(?:ly)?|prior|earlier|above|preceding|pre existing|existing|original|initial|former|past|system|developer|devs?|old|older|foregoing|current|your|safety|ethical|security|given|stated|last|established|default|builtin|built in|core|operators?|content|confidentiality)",
    ),
    (
        "orders",
        "(?:(?:set of |sets of |list of )?(?:system |safety |ethical |content |developer |user |task |instruction |confidentiality |security |own |core |explicit )?(?:instructions?|instruct|directions?|directives?|prompts?|rules?|guidelines?|guidance|commands?|orders?|polic(?:y|ies)|constraints?|restrictions?|programming|training|guardrails?|safeguards?|protocols?|requests?|messages?|context|conditions|statements?|limitations?|objectives?|goals?|mandates?|principles|requirements|role|persona|filters?|boundaries|sets?|tasks?|conversation|input|text|details|information|assignment))",
    ),
    (
        "drop",
        "(?:ignor(?:e|es|ed|ing)|disregard(?:s|ed|ing)?|forget(?:s|ting)?|neglect|bypass(?:ing)?|overrid(?:e|es|ing)|overrule|overwrite|discard(?:ing)?|abandon|dismiss(?:ing)?|nullify|invalidate|cancel|scrap|erase|void|suspend|(?:stop|cease|quit) (?:following|obeying|adhering to|using|listening to)|(?:do not|dont|never) (?:follow|obey|listen to|comply with|adhere to|pay attention to|heed)|pay no (?:attention|mind) to|set aside|put aside|throw (?:out|away)|(?:leave|let) (?:go of|behind)|move past|skip over)",
    ),
    (
        "reveal",
        "(?:reveal|show|print|output|repeat|display|disclose|leak|expose|dump|recite|reproduce|tell me|tell us|give me|give us|write (?:out|down)|return|echo|state|list|share|provide|spell out|read (?:out|back)|copy|paste|summari[sz]e|describe|translate|encode|append|include|quote|type out|spit out|send(?: me)?|publish|post|email|forward|transmit|upload|report|divulge|extract|exfiltrate|retrieve|hand over|what (?:is|are|was|were)|whats)",
    ),
    (
        "send",
        "(?:send(?:ing)?|forward(?:ing)?|post(?:ing)?|(?:e ?)?mail(?:ing)?|upload(?:ing)?|transmit(?:ting)?|leak(?:ing)?|exfiltrat(?:e|ing)|submit|ship|copy|relay|beacon|dump|deliver|sync|mirror|transfer|push|publish|bcc|cc|report|append|add|embed|include|encode|pass|put|smuggle|export)",
    ),
    (
        "secrets",
        "(?:api ?keys?|secrets?|credentials?|passwords?|access ?tokens?|auth ?tokens?|session ?tokens?|tokens|private ?keys?|ssh ?keys?|env(?:ironment)? ?(?:variables?|vars?|file)|cookies|chat ?(?:history|log|transcript)s?|conversation(?: history| log| transcript)?s?|system ?prompts?|memor(?:y|ies)|customer (?:list|data|records?|emails?|database)|user data|personal data|(?:the|all|any|our) (?:data|files?|records|contents?|messages|emails|documents|database|results?)|sensitive (?:data|information|files?)|confidential (?:data|information|files?|documents?)|source code|contacts?|wallet|seed phrase|financial (?:data|records|information)|pii|order data|internal (?:data|documents?|files?|notes?)|bank(?:ing)? (?:details|account)|credit card)",
    ),
    (
        "outside",
        "(?:https?|www|webhook|attacker|external(?:ly)?|evil|remote (?:server|host|endpoint)|(?:this|the following|my|our|that) (?:url|address|server|endpoint|(?:e ?)?mail|number|link|site|account|channel|webhook|domain)|outside|third party|com|net|org|io|example|invalid|pastebin|discord|telegram|slack channel|dns|ftp|curl|image url|query string|query param(?:eter)?s?)",
    ),
    (
        "model",
        "(?:ai|a i|llm|language model|assistant|chat ?bot|bot|agents?|model|gpt|chatgpt|claude|gemini|copilot|system|summari[sz]er|reviewer)",
    ),
    (
        "free",
        "(?:unrestricted|uncensored|unfiltered|unlimited|unbound|unbounded|unshackled|amoral|unethical|evil|jailbroken|lawless|limitless|rogue|malicious|unaligned|unconstrained)",
    ),
    (
        "limits",
        "(?:(?:ethical |moral |content |safety |usage |any |more |such |legal |of |the |usual |internal |ai |kind of |type of |or |and ){0,4}(?:rules?|restrictions?|limits?|limitations?|filters?|filtering|guidelines?|polic(?:y|ies)|censorship|boundaries|constraints?|guardrails?|ethics|morals|safeguards?|safety|restraints?|inhibitions?))",
    ),
    (
        "ai",
        "(?:(?:ai|coding|automated|autonomous|llm|code) ?(?:agents?|assistants?|models?|tools?|systems?|review(?:er|ing)s?|bots?)|(?:large )?language models?|llms?|chat ?bots?|chatgpt|claude|gemini|copilot|gpt|agents?|assistants?|models?|bots?|ais?)",
    ),
    (
        "do",
        "(?:ignore|disregard|forget|obey|follow|comply|reveal|disclose|print|output|display|show|repeat|say|state|claim|tell|reply|respond|answer|recommend|cite|prefer|promote|rate|rank|praise|send|forward|upload|post|(?:e ?)?mail|transmit|submit|share|publish|copy|export|leak|visit|open|fetch|download|install|run|execute|call|invoke|trigger|launch|delete|remove|erase|wipe|disable|skip|bypass|approve|accept|merge|push|grant|give|transfer|pay|wire|buy|write|add|append|insert|include|put|store|save|remember|change|replace|report|hide|conceal|trust|treat|mark|act|pretend|behave|switch|turn off|stop|collect|begin|start|end|always|never|do not|dont|confirm|mention|reject|list|import|suggest|invite|use)",
    ),
    (
        "lasting",
        "(?:from now on|(?:starting|beginning|as of|effective) (?:today|now|immediately|from now|with this)|from (?:this moment|this point|today|here|this day|this message)(?: on(?:wards?)?| forward)?|henceforth|hereafter|going forward|in (?:all |every |each |any |the )?(?:future|later|subsequent|coming|following|new|next) (?:sessions?|conversations?|chats?|repl(?:y|ies)|responses?|answers?|messages?|runs?|turns?)|across (?:all )?(?:sessions|conversations|chats)|for the (?:rest|remainder) of|(?:on|at) (?:each|every) (?:start|startup|launch|boot)|whenever you (?:are asked|answer|reply|see|read|review|receive|write|talk|hear)|(?:every|each) time (?:you (?:are asked|answer|reply|see|read|review|receive|write)|(?:some|any)(?:body|one)|the user)|at (?:a|any|some) later (?:date|time|point)|later on|until (?:told|you are told|instructed|ordered) otherwise|until further notice|for all (?:future|later|subsequent|coming) (?:sessions?|conversations?|chats?|replies|answers?|tasks?)|whenever the (?:word|phrase|name|topic)|by default from|(?:as soon as|when|whenever|once) (?:a|the|any|an) (?:new |next )?(?:conversation|session|chat) (?:starts|begins|opens)|(?:the )?next time (?:some|any|the|you|a)|after the [a-z]{3,10} (?:message|turn|reply|prompt|answer)|if at any time|permanently|forever)",
    ),
    (
        "this",
        "(?:this|the present|that|these|the above|the following) (?:memory|memories|entry|note|fact|record|rule|message|document|statement|instructions?|sentence|directive|information|preference|setting)s?",
    ),
];

/// Returns the regex of a pattern over words: names replaced, and every space optional.
///
/// A space is optional because what was between two words may have been invisible.
pub(super) fn over_words(pattern: &str) -> String {
    with_names(pattern).replace(' ', " ?")
}

/// Returns the regex of a pattern over marks: names replaced.
pub(super) fn over_marks(pattern: &str) -> String {
    with_names(pattern)
}

fn with_names(pattern: &str) -> String {
    let mut text = pattern.to_owned();
    for (name, meaning) in NAMES.iter().rev() {
        let name = format!("<{name}>");
        if text.contains(&name) {
            text = text.replace(&name, meaning);
        }
    }
    text
}
