//! Word lists of the decision about duplicates: opposites, and words that captions and reports exchange.
//!
//! General English only, as the lexicon of `recall::text`.
//!
//! # Layer
//! Pure data of `recall::duplicates`.

/// Pairs of opposites: one on each side, not shared, and the two texts contradict each other.
pub(crate) const ANTONYMS: &str = "\
     above/below accept/refuse accept/reject add/remove admit/deny agree/deny agree/disagree \
     alive/dead allow/ban allow/forbid always/never approve/oppose approve/reject arrive/depart \
     arrive/leave ascend/descend assemble/disassemble attack/defend awake/asleep before/after \
     begin/end better/worse big/small black/white borrow/lend bottom/top boy/girl break/fix \
     brother/sister build/destroy busy/idle buy/sell catch/miss catch/throw cheap/expensive \
     clean/dirty client/server climb/descend confirm/deny connect/disconnect create/delete \
     create/destroy crowded/empty day/night deep/shallow dress/undress early/late east/west \
     enable/disable encrypt/decrypt enter/leave everyone/nobody fast/slow fill/empty find/lose \
     first/last follow/avoid follow/lead forget/remember front/back full/empty gain/lose gain/loss \
     good/bad guilty/innocent happy/sad hard/easy hard/soft he/she high/low higher/lower hire/fire \
     his/her hit/miss hot/cold ignore/listen import/export in/out include/exclude increase/decrease \
     indoor/outdoor input/output inside/outside install/uninstall internal/external king/queen \
     land/takeoff large/small laugh/cry left/right lend/borrow lift/drop light/dark like/dislike \
     live/die load/unload local/remote lock/unlock loud/quiet love/hate majority/minority male/female \
     man/woman manual/automatic many/few maximum/minimum men/women minimize/maximize mom/dad \
     monday/tuesday more/less morning/evening mother/father near/far new/old noisy/quiet north/south \
     on/off one/two open/close over/under pass/fail permit/forbid pick/drop plug/unplug \
     present/absent public/private push/pull put/take quickly/slowly read/write rich/poor rise/fall \
     rose/fell rough/smooth safe/dangerous same/different sell/buy sharp/dull short/long \
     single/married sit/stand sleep/wake smile/frown son/daughter start/finish start/stop strong/weak \
     succeed/fail success/failure summer/winter support/oppose tall/short teach/learn thick/thin \
     three/four top/bottom true/false two/three uncle/aunt up/down upload/download visible/hidden \
     walk/run wear/remove wet/dry wide/narrow wife/husband win/lose won/lost young/old zip/unzip";

/// The first word and each of the others stand for each other, for this decision only.
pub(crate) const SYNONYMS: &[&str] = &[
    "person man woman boy girl guy lady people human",
    "child boy girl kid",
    "man guy gentleman person",
    "woman lady person",
    "people man men woman person",
    "crowd group people",
    "group team people",
    "kid child boy girl",
    "speak talk",
    "slice cut chop dice",
    "cut slice chop",
    "fry cook",
    "jump leap hop",
    "walk stroll hike",
    "ride drive",
    "road street path",
    "street road",
    "large big",
    "little small",
    "stand pose",
    "look watch stare view see gaze",
    "perform play",
    "near next beside close",
    "ball football basketball",
    "pan pot skillet",
    "motorcycle motorbike bike",
    "bike bicycle",
    "boat ship",
    "couch sofa",
    "throw toss",
    "hold carry grip",
    "put place",
    "forest wood",
    "ocean sea",
    "rock stone boulder cliff",
    "say report state tell announce",
    "police officer",
    "company firm",
    "rise climb increase gain",
    "fall drop decline",
    "show display",
    "wear dress",
];
