//! Relations between ordinary English words, for queries that say it with another word.
//!
//! General English only: kinds and their members, and words that stand for each other. No sentence, name or
//! label of a data set is in it.
//!
//! # Layer
//! Pure data of `recall::text`.

/// A kind and its members: the kind reaches a member with weight 1, a member the kind with a half.
pub(crate) const KINDS: &[(&str, &str)] = &[
    (
        "animal",
        "dog cat puppy kitten bird horse fish turtle tortoise snake rabbit hamster bear lizard frog \
         cow pig sheep goat duck chicken elephant lion tiger wolf deer fox monkey whale dolphin \
         shark parrot squirrel wildlife pet",
    ),
    (
        "pet",
        "dog cat puppy kitten hamster rabbit turtle goldfish parrot lizard snake",
    ),
    (
        "dog",
        "puppy pup labrador retriever poodle terrier beagle bulldog",
    ),
    ("cat", "kitten kitty"),
    ("bird", "parrot eagle owl duck penguin sparrow hawk"),
    ("insect", "bee butterfly ant spider fly beetle"),
    (
        "food",
        "meal dish pizza pasta sandwich soup salad burger chicken beef pork steak rice bread cheese \
         cake cookie fruit vegetable egg pancake taco sushi curry noodle snack breakfast lunch \
         dinner dessert barbecue toast seafood",
    ),
    (
        "dish",
        "pasta soup salad stew curry lasagna casserole pie sushi taco risotto roast recipe meal",
    ),
    ("meal", "breakfast lunch dinner brunch supper"),
    (
        "dessert",
        "cake cookie pie brownie chocolate pudding tart muffin cupcake pastry icecream donut",
    ),
    ("snack", "chips popcorn cookie nut fruit candy cracker"),
    (
        "fruit",
        "apple banana berry strawberry blueberry orange mango grape peach pear lemon cherry \
         pineapple",
    ),
    (
        "vegetable",
        "carrot potato tomato onion broccoli spinach pepper lettuce cucumber bean",
    ),
    ("meat", "beef pork chicken lamb steak bacon turkey sausage"),
    ("seafood", "fish shrimp salmon tuna crab lobster"),
    (
        "drink",
        "coffee tea beer wine water juice soda cocktail milk smoothie whiskey",
    ),
    ("alcohol", "beer wine cocktail whiskey vodka rum drunk"),
    ("ingredient", "flour sugar butter salt garlic spice sauce"),
    (
        "cuisine",
        "italian mexican chinese japanese indian thai french korean",
    ),
    ("pasta", "spaghetti lasagna ravioli noodle macaroni fettuccine"),
    ("allergy", "allergic nut pollen dairy gluten peanut"),
    (
        "sport",
        "basketball football soccer tennis baseball volleyball hockey swimming running golf boxing \
         surfing skiing climbing cycling rugby cricket badminton",
    ),
    (
        "exercise",
        "gym workout run jog yoga swim weight cardio hike bike training pilates stretch",
    ),
    (
        "instrument",
        "guitar piano violin drum flute clarinet saxophone cello ukulele keyboard trumpet bass",
    ),
    (
        "music",
        "song band concert album guitar piano singer jazz rock pop rap classical playlist tune \
         melody orchestra",
    ),
    ("musician", "singer band guitarist pianist drummer composer"),
    (
        "book",
        "novel story author read series trilogy memoir biography fiction",
    ),
    ("movie", "film cinema documentary comedy thriller"),
    (
        "genre",
        "fantasy romance mystery comedy horror thriller drama jazz rock",
    ),
    ("show", "series episode season"),
    (
        "art",
        "painting drawing sculpture pottery sketch gallery museum exhibit exhibition canvas mural",
    ),
    ("artist", "painter sculptor singer musician"),
    (
        "hobby",
        "painting reading cooking hiking gardening photography gaming dancing knitting fishing \
         crafts collecting sewing baking writing",
    ),
    (
        "activity",
        "hiking camping swimming painting running biking dancing fishing yoga pottery kayaking \
         skiing surfing bowling",
    ),
    (
        "family",
        "mother father mom dad sister brother son daughter husband wife parent kid child grandma \
         grandpa grandmother grandfather cousin aunt uncle niece nephew",
    ),
    (
        "relative",
        "mother father sister brother cousin aunt uncle grandmother grandfather grandma grandpa \
         niece nephew",
    ),
    ("parent", "mother father mom dad"),
    ("grandparent", "grandmother grandfather grandma grandpa"),
    ("sibling", "sister brother twin"),
    ("partner", "husband wife boyfriend girlfriend spouse fiance"),
    (
        "relationship",
        "dating boyfriend girlfriend married single divorce breakup husband wife partner",
    ),
    (
        "job",
        "career work position role manager engineer teacher nurse doctor lawyer designer company \
         promotion office interview boss hire",
    ),
    ("career", "job profession work field"),
    (
        "profession",
        "teacher nurse doctor lawyer engineer designer manager chef writer artist accountant",
    ),
    ("colleague", "coworker teammate boss"),
    (
        "health",
        "doctor hospital sick illness diet weight pain injury medicine checkup",
    ),
    (
        "illness",
        "sick flu cold fever cough infection cancer diabetes asthma covid disease",
    ),
    ("symptom", "pain fever cough headache nausea dizzy fatigue"),
    (
        "injury",
        "hurt sprain twist break fracture knee ankle wrist bruise sore pain",
    ),
    ("medicine", "pill medication drug vaccine antibiotic prescription"),
    ("vehicle", "car truck bike motorcycle bus van train boat"),
    ("car", "toyota honda ford tesla mustang jeep sedan suv bmw"),
    (
        "country",
        "america canada mexico england france germany italy spain japan china india turkey brazil \
         ireland sweden greece thailand australia portugal korea",
    ),
    (
        "state",
        "california texas florida oregon washington michigan colorado arizona ohio hawaii",
    ),
    (
        "city",
        "london paris tokyo boston seattle chicago barcelona rome toronto vancouver miami berlin \
         sydney madrid dublin",
    ),
    (
        "place",
        "city beach park mountain restaurant museum cafe country town",
    ),
    (
        "nature",
        "forest mountain beach lake river hike tree park flower ocean sunset trail",
    ),
    ("weather", "rain snow sun storm cold hot wind"),
    (
        "clothing",
        "dress shirt shoes jacket hat jeans sweater coat boots sneakers outfit",
    ),
    (
        "clothes",
        "dress shirt shoes jacket hat jeans sweater coat boots outfit",
    ),
    ("jewelry", "necklace ring bracelet earrings"),
    ("furniture", "chair table sofa couch desk bed shelf lamp"),
    (
        "emotion",
        "happy sad angry anxious excited proud scared stress nervous",
    ),
    (
        "event",
        "party wedding concert festival parade fundraiser conference workshop meetup tournament \
         competition",
    ),
    ("celebration", "birthday party wedding anniversary graduation"),
    ("holiday", "christmas thanksgiving easter halloween vacation"),
    (
        "charity",
        "donate donation fundraiser volunteer shelter homeless nonprofit",
    ),
    (
        "school",
        "college university class student teacher degree course campus exam",
    ),
    ("education", "school college university degree course class study"),
    (
        "subject",
        "math english history science biology physics chemistry",
    ),
    (
        "language",
        "english spanish french german italian chinese japanese",
    ),
    ("color", "red blue green yellow purple pink orange black white"),
    ("season", "spring summer autumn fall winter"),
    ("device", "phone laptop computer tablet camera"),
    ("game", "chess xbox nintendo playstation puzzle"),
    (
        "religion",
        "church faith god pray temple christian jewish muslim catholic",
    ),
    ("flower", "rose tulip sunflower lily daisy"),
    ("plant", "flower tree garden succulent"),
    ("award", "trophy medal prize certificate"),
    ("money", "pay salary budget cost price dollar"),
    ("expense", "cost rent bill price spend"),
    ("house", "kitchen bedroom bathroom garden roof"),
    ("database", "sql postgres postgresql mysql sqlite mongodb redis"),
    ("framework", "django flask react angular vue rails spring"),
    ("test", "pytest unittest jest coverage"),
];

/// The first word and each of the others stand for each other.
pub(crate) const SYNONYMS: &[&str] = &[
    "child kid son daughter",
    "kid toddler",
    "baby infant newborn birth born",
    "mother mom mum mama",
    "father dad papa",
    "grandmother grandma",
    "grandfather grandpa",
    "doctor doc physician",
    "photo picture pic photograph image",
    "movie film",
    "film movie",
    "buy purchase get",
    "car vehicle automobile",
    "start begin launch",
    "finish complete end",
    "travel trip visit vacation journey",
    "trip getaway",
    "vacation holiday",
    "big large huge",
    "small little tiny",
    "happy glad excited",
    "sad upset",
    "sick ill unwell",
    "hurt injure injury pain",
    "house home apartment",
    "occupation job profession",
    "friend buddy pal",
    "love adore enjoy like",
    "dislike hate",
    "interest hobby",
    "fix repair",
    "competition contest tournament",
    "win victory",
    "gift present",
    "store shop",
    "fear phobia afraid scared",
    "study learn",
    "teach instruct tutor",
    "help assist support aid",
    "goal aim objective plan",
    "advice tip suggestion recommendation",
    "meet encounter",
    "exercise workout gym",
    "lawyer attorney",
    "cop police",
    "bike bicycle cycling",
    "tv television",
    "phone cellphone smartphone",
    "computer laptop pc",
    "game match",
    "team squad",
    "angry mad",
    "tired exhausted",
    "famous popular",
    "difficult hard tough challenging",
    "challenge difficulty struggle obstacle",
    "problem issue trouble",
    "important significant meaningful",
    "inspire motivate inspiration motivation",
    "create make build craft",
    "receive get",
    "attend go visit join",
    "host organize hold",
    "participate join attend",
    "adopt adoption",
    "marry wedding marriage",
    "die death pass",
    "quit resign leave",
    "move relocate",
    "company business firm startup",
    "boss manager supervisor",
    "reaction react",
    "opinion think thought",
    "decision decide choose",
    "decide choose",
    "favorite favourite best",
    "passion passionate",
    "university college",
    "exam test",
    "relax chill unwind",
    "cook bake",
    "draw sketch",
    "run running marathon race jog",
    "hike hiking trail",
    "camp camping tent",
    "write author book",
    "cost price spend pay",
    "purchase buy",
    "deadline due",
    "schedule plan calendar",
    "meeting appointment call",
    "error bug exception",
    "increase raise grow",
    "decrease reduce drop",
    "speed fast performance latency",
];
