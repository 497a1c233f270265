//! Patterns as short programs, and the machine that runs them.
//!
//! The crate `regex` builds several automata for a pattern, in milliseconds. That pays for long texts. A rule is tried
//! at the few places of a short text where its words stand, and often once in a process. So this module translates the
//! parsed pattern to steps, in microseconds, and tries the alternatives in order, as a backtracking search does.
//!
//! The first match is the one that `regex` finds: alternatives and repetitions have the same order. A test compares the
//! two for every rule. A backtracking search may try very many ways to match. So the machine counts its steps, and gives
//! up at a limit; `pattern` then searches with the automata of `regex`.
//!
//! # Layer
//! Pure: imports nothing of the crate.
//!
//! # Invariants
//! See SCA-1 of `set`: a program has no unlimited repetition, and the machine stops at a number of steps. Each byte and
//! each alternative that it looks at counts as a step.

use std::ops::Range;

use regex_syntax::hir::{Class, Hir, HirKind, Look};
use regex_syntax::utf8::{Utf8Range, Utf8Sequences};

/// The number of positions that a match reports: start and end of the groups `s` and `n`.
const SLOTS: usize = 4;

/// A set of bytes.
type Bytes = [u64; 4];
const ALL: Bytes = [u64::MAX; 4];

fn has(set: &Bytes, byte: u8) -> bool {
    set[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
}

fn insert(set: &mut Bytes, byte: u8) {
    set[usize::from(byte >> 6)] |= 1 << (byte & 63);
}

/// A step of a program. A target is the index of a step.
enum Step {
    /// The next bytes are these, each with the bits that do not count.
    Letters(Range<u32>),
    /// Some of the next bytes are in a set: as many as possible, or as few.
    Some {
        set: u32,
        least: u32,
        most: u32,
        is_greedy: bool,
    },
    Look(Look),
    /// The first of some alternatives that leads to a match.
    First(Range<u32>),
    Go(u32),
    /// Reports the position.
    Save(u8),
    Match,
}

/// An alternative: the bytes with which it can begin, folded to their lower six bits, and its first step.
struct Alternative {
    first: u64,
    step: u32,
}

/// A pattern that was translated.
pub(super) struct Program {
    steps: Vec<Step>,
    letters: Vec<(u8, u8)>,
    sets: Vec<Bytes>,
    alternatives: Vec<Alternative>,
    /// The bytes with which a match can begin.
    first: Bytes,
    /// The bytes with which a match can begin behind the start of the text.
    inner: Bytes,
    /// Whether a match begins at a word boundary.
    is_at_word: bool,
    /// Letters may be appended to the last step only behind this one, because no step goes there.
    target: usize,
}

/// A match.
pub(super) struct Found {
    pub(super) whole: Range<usize>,
    /// The group `s`.
    pub(super) part: Option<Range<usize>>,
    /// The group `n`.
    pub(super) name: Option<Range<usize>>,
}

/// What remains to be tried.
enum Later {
    /// Fewer bytes of a set, down to the first position, or more, up to it.
    Fewer(u32, usize, usize),
    More(u32, usize, usize),
    /// The rest of some alternatives.
    Others(Range<u32>, usize),
    /// Puts an older position back.
    Restore(u8, usize),
}

/// The machine took more steps than it may.
#[derive(Debug)]
pub(super) struct Exhausted;

/// The memory of the machine.
#[derive(Default)]
pub(super) struct Machine {
    later: Vec<Later>,
    /// The number of steps so far, with the bytes and the alternatives that the machine looked at.
    pub(super) count: usize,
    /// The number of steps at which the machine gives up.
    pub(super) limit: usize,
}

impl Program {
    /// Translates a pattern. Returns `None` if the pattern has an unlimited repetition.
    pub(super) fn new(pattern: &Hir) -> Option<Self> {
        let (first, is_empty) = first_of(pattern, true);
        let (inner, is_inner_empty) = first_of(pattern, false);
        let mut program = Self {
            steps: Vec::new(),
            letters: Vec::new(),
            sets: Vec::new(),
            alternatives: Vec::new(),
            first: if is_empty { ALL } else { first },
            inner: if is_inner_empty { ALL } else { inner },
            is_at_word: begins_at_word(pattern),
            target: 0,
        };
        program.translate(pattern)?;
        program.steps.push(Step::Match);
        Some(program)
    }

    fn translate(&mut self, pattern: &Hir) -> Option<()> {
        match pattern.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => literal.0.iter().for_each(|byte| self.letter(*byte, 0)),
            HirKind::Class(class) => match set_of(class) {
                Some(set) => self.class(&set, 1, 1, true),
                None => self.characters(class),
            },
            HirKind::Look(look) => self.steps.push(Step::Look(*look)),
            HirKind::Capture(group) => {
                let slot = match group.name.as_deref() {
                    Some("s") => Some(0),
                    Some("n") => Some(2),
                    _ => None,
                };
                self.steps.extend(slot.map(Step::Save));
                self.translate(&group.sub)?;
                self.steps.extend(slot.map(|slot| Step::Save(slot + 1)));
            }
            HirKind::Concat(parts) => {
                for part in parts {
                    self.translate(part)?;
                }
            }
            HirKind::Alternation(parts) => {
                let list = self.first(parts.iter().map(first_or_all));
                let mut ends = Vec::new();
                for (index, part) in parts.iter().enumerate() {
                    self.begin(list + index as u32);
                    self.translate(part)?;
                    ends.push(self.steps.len());
                    self.steps.push(Step::Go(0));
                }
                self.end(&ends);
            }
            HirKind::Repetition(repetition) => {
                let (least, most) = (repetition.min, repetition.max?);
                let (sub, is_greedy) = (&*repetition.sub, repetition.greedy);
                if let Some(set) = one_byte(sub) {
                    self.class(&set, least, most, is_greedy);
                    return Some(());
                }
                for _ in 0..least {
                    self.translate(sub)?;
                }
                let (mut lists, first) = (Vec::new(), first_or_all(sub));
                for _ in least..most {
                    let list = self.first(if is_greedy { [first, ALL] } else { [ALL, first] }.into_iter());
                    let (again, end) = if is_greedy {
                        (list, list + 1)
                    } else {
                        (list + 1, list)
                    };
                    self.begin(again);
                    self.translate(sub)?;
                    lists.push(end);
                }
                for list in lists {
                    self.begin(list);
                }
            }
        }
        Some(())
    }

    /// Adds a byte, of which `ignored` are the bits that do not count.
    fn letter(&mut self, byte: u8, ignored: u8) {
        let end = self.letters.len() as u32;
        let is_free = self.steps.len() > self.target;
        match self.steps.last_mut() {
            Some(Step::Letters(last)) if is_free => last.end = end + 1,
            _ => self.steps.push(Step::Letters(end..end + 1)),
        }
        self.letters.push((byte, ignored));
    }

    fn class(&mut self, set: &Bytes, least: u32, most: u32, is_greedy: bool) {
        // A letter in both cases, or one byte.
        let count: u32 = set.iter().map(|part| part.count_ones()).sum();
        let is_one = (least, most) == (1, 1);
        let first = (0_u8..4).zip(set).find(|(_, part)| **part != 0);
        let first = first.map(|(index, part)| index * 64 + part.trailing_zeros() as u8);
        match (first, count) {
            (Some(byte), 1) if is_one => self.letter(byte, 0),
            (Some(upper), 2) if is_one && upper & 0x20 == 0 && has(set, upper | 0x20) => {
                self.letter(upper | 0x20, 0x20);
            }
            _ => {
                let known = self.sets.iter().position(|known| known == set);
                let index = known.unwrap_or(self.sets.len());
                if known.is_none() {
                    self.sets.push(*set);
                }
                self.steps.push(Step::Some {
                    set: index as u32,
                    least,
                    most,
                    is_greedy,
                });
            }
        }
    }

    /// Adds a class of characters that have several bytes: an alternative for each form of these bytes.
    fn characters(&mut self, class: &Class) {
        let forms: Vec<Vec<Bytes>> = forms_of(class).collect();
        let list = self.first(forms.iter().map(|form| form[0]));
        let mut ends = Vec::new();
        for (index, form) in forms.iter().enumerate() {
            self.begin(list + index as u32);
            for set in form {
                self.class(set, 1, 1, true);
            }
            ends.push(self.steps.len());
            self.steps.push(Step::Go(0));
        }
        self.end(&ends);
    }

    /// Adds a step with alternatives that begin with these bytes. Returns the index of the first.
    fn first(&mut self, firsts: impl Iterator<Item = Bytes>) -> u32 {
        let start = self.alternatives.len() as u32;
        let alternatives = firsts.map(|first| Alternative {
            first: first.iter().fold(0, |all, part| all | part),
            step: 0,
        });
        self.alternatives.extend(alternatives);
        self.steps
            .push(Step::First(start..self.alternatives.len() as u32));
        start
    }

    /// Makes the next step the first one of an alternative.
    fn begin(&mut self, alternative: u32) {
        self.target = self.steps.len();
        self.alternatives[alternative as usize].step = self.target as u32;
    }

    /// Makes the next step the target of the steps at `ends`.
    fn end(&mut self, ends: &[usize]) {
        self.target = self.steps.len();
        for end in ends {
            self.steps[*end] = Step::Go(self.target as u32);
        }
    }

    /// Returns whether a match can begin with `byte`.
    pub(super) fn can_begin(&self, byte: u8) -> bool {
        has(&self.first, byte)
    }

    /// Returns the first match in `text` that begins at or after `from`.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        machine: &mut Machine,
    ) -> Result<Option<Found>, Exhausted> {
        for at in from..=text.len() {
            let first = if at == 0 { &self.first } else { &self.inner };
            let has_first = text.get(at).map_or(*first == ALL, |byte| has(first, *byte));
            if has_first
                && (!self.is_at_word || holds(Look::WordAscii, text, at))
                && let Some(found) = self.find_at(text, at, machine)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the match that begins at `start`.
    pub(super) fn find_at(
        &self,
        text: &[u8],
        start: usize,
        machine: &mut Machine,
    ) -> Result<Option<Found>, Exhausted> {
        machine.later.clear();
        let mut slots = [usize::MAX; SLOTS];
        let Some(end) = self.run(text, start, &mut slots, machine)? else {
            return Ok(None);
        };
        let group = |at: usize| (slots[at + 1] != usize::MAX).then(|| slots[at]..slots[at + 1]);
        Ok(Some(Found {
            whole: start..end,
            part: group(0),
            name: group(2),
        }))
    }

    /// Runs the program. Returns the end of the match.
    fn run(
        &self,
        text: &[u8],
        start: usize,
        slots: &mut [usize; SLOTS],
        machine: &mut Machine,
    ) -> Result<Option<usize>, Exhausted> {
        let mut next = Some((0, start));
        while let Some((mut step, mut at)) = next {
            while let Some(now) = self.steps.get(step as usize) {
                machine.count += 1;
                // INVARIANT SCA-1: the steps are limited.
                if machine.count > machine.limit {
                    return Err(Exhausted);
                }
                step = match now {
                    Step::Match => return Ok(Some(at)),
                    Step::Letters(range) => {
                        let letters = &self.letters[range.start as usize..range.end as usize];
                        let Some(here) = text.get(at..at + letters.len()) else {
                            break;
                        };
                        let pairs = here.iter().zip(letters);
                        let is_same =
                            |(byte, (letter, ignored)): &(&u8, &(u8, u8))| *byte | ignored == *letter;
                        let same = pairs.take_while(is_same).count();
                        machine.count += same;
                        if same < letters.len() {
                            break;
                        }
                        at += same;
                        step + 1
                    }
                    Step::Some {
                        set,
                        least,
                        most,
                        is_greedy,
                    } => {
                        let set = &self.sets[*set as usize];
                        let rest = text[at..].iter().take(*most as usize);
                        let count = rest.take_while(|byte| has(set, **byte)).count();
                        machine.count += count;
                        if count < *least as usize {
                            break;
                        }
                        let (fewest, all) = (at + *least as usize, at + count);
                        at = if *is_greedy { all } else { fewest };
                        if fewest < all && *is_greedy {
                            machine.later.push(Later::Fewer(step + 1, fewest, all - 1));
                        } else if fewest < all {
                            machine.later.push(Later::More(step + 1, all, fewest + 1));
                        }
                        step + 1
                    }
                    Step::Look(look) if holds(*look, text, at) => step + 1,
                    Step::Look(_) => break,
                    Step::First(list) => {
                        let chosen = self.alternative(list, text.get(at), &mut machine.count);
                        let Some((first, others)) = chosen else { break };
                        if !others.is_empty() {
                            machine.later.push(Later::Others(others, at));
                        }
                        first
                    }
                    Step::Go(target) => *target,
                    Step::Save(slot) => {
                        let slot_now = &mut slots[usize::from(*slot)];
                        machine.later.push(Later::Restore(*slot, *slot_now));
                        *slot_now = at;
                        step + 1
                    }
                };
            }
            next = self.next(text, slots, machine);
        }
        Ok(None)
    }

    /// Returns the first step of the first alternative that can begin with `byte`, and the alternatives behind it from the
    /// next one that can. Without a byte, only an alternative that can be empty goes on. Counts the alternatives that it
    /// passes over.
    fn alternative(
        &self,
        list: &Range<u32>,
        byte: Option<&u8>,
        count: &mut usize,
    ) -> Option<(u32, Range<u32>)> {
        let bit = byte.map_or(u64::MAX, |byte| 1 << (byte & 63));
        let alternatives = &self.alternatives[list.start as usize..list.end as usize];
        let can_begin = |other: &Alternative| other.first & bit == bit;
        let Some(first) = alternatives.iter().position(can_begin) else {
            *count += alternatives.len();
            return None;
        };
        let rest = &alternatives[first + 1..];
        let skipped = rest.iter().position(can_begin).unwrap_or(rest.len());
        *count += first + skipped;
        let others = list.start + (first + 1 + skipped) as u32..list.end;
        Some((alternatives[first].step, others))
    }

    /// Takes the next step that remains to be tried, with its position.
    fn next(&self, text: &[u8], slots: &mut [usize; SLOTS], machine: &mut Machine) -> Option<(u32, usize)> {
        let Machine { later, count, .. } = machine;
        loop {
            match later.pop()? {
                Later::Fewer(step, fewest, at) => {
                    if fewest < at {
                        later.push(Later::Fewer(step, fewest, at - 1));
                    }
                    return Some((step, at));
                }
                Later::More(step, all, at) => {
                    if at < all {
                        later.push(Later::More(step, all, at + 1));
                    }
                    return Some((step, at));
                }
                Later::Others(list, at) => {
                    if let Some((first, others)) = self.alternative(&list, text.get(at), count) {
                        if !others.is_empty() {
                            later.push(Later::Others(others, at));
                        }
                        return Some((first, at));
                    }
                }
                Later::Restore(slot, old) => slots[usize::from(slot)] = old,
            }
        }
    }
}

/// Returns whether every match of `pattern` begins at a word boundary.
fn begins_at_word(pattern: &Hir) -> bool {
    match pattern.kind() {
        HirKind::Look(look) => *look == Look::WordAscii,
        HirKind::Capture(group) => begins_at_word(&group.sub),
        HirKind::Concat(parts) => parts.first().is_some_and(begins_at_word),
        HirKind::Alternation(parts) => parts.iter().all(begins_at_word),
        _ => false,
    }
}

/// Returns the bytes with which a match of `pattern` can begin, and whether it can be empty. `is_start` tells whether it
/// begins at the start of the text.
fn first_of(pattern: &Hir, is_start: bool) -> (Bytes, bool) {
    let mut set = [0; 4];
    match pattern.kind() {
        HirKind::Look(Look::Start) if !is_start => (set, false),
        HirKind::Empty | HirKind::Look(_) => (set, true),
        HirKind::Literal(literal) => {
            literal.0.first().iter().for_each(|byte| insert(&mut set, **byte));
            (set, literal.0.is_empty())
        }
        HirKind::Class(class) => {
            let set = set_of(class).unwrap_or_else(|| {
                let firsts = forms_of(class).map(|form| form[0]);
                firsts.fold(set, |all, set| {
                    std::array::from_fn(|index| all[index] | set[index])
                })
            });
            (set, false)
        }
        HirKind::Capture(group) => first_of(&group.sub, is_start),
        HirKind::Repetition(repetition) => {
            let (first, is_empty) = first_of(&repetition.sub, is_start);
            (first, is_empty || repetition.min == 0)
        }
        HirKind::Concat(parts) => {
            for part in parts {
                let (first, is_empty) = first_of(part, is_start);
                set = std::array::from_fn(|index| set[index] | first[index]);
                if !is_empty {
                    return (set, false);
                }
            }
            (set, true)
        }
        HirKind::Alternation(parts) => {
            let mut can_be_empty = false;
            for (first, is_empty) in parts.iter().map(|part| first_of(part, is_start)) {
                set = std::array::from_fn(|index| set[index] | first[index]);
                can_be_empty |= is_empty;
            }
            (set, can_be_empty)
        }
    }
}

/// Returns the bytes with which a match of `pattern` can begin. All of them, if it can be empty.
fn first_or_all(pattern: &Hir) -> Bytes {
    match first_of(pattern, true) {
        (_, true) => ALL,
        (first, false) => first,
    }
}

/// Returns the set of bytes of which `pattern` matches one.
fn one_byte(pattern: &Hir) -> Option<Bytes> {
    match pattern.kind() {
        HirKind::Class(class) => set_of(class),
        HirKind::Literal(literal) if literal.0.len() == 1 => {
            let mut set = [0; 4];
            insert(&mut set, literal.0[0]);
            Some(set)
        }
        _ => None,
    }
}

/// Returns the set of a class whose members have one byte.
fn set_of(class: &Class) -> Option<Bytes> {
    let mut set = [0; 4];
    match class {
        Class::Bytes(class) => {
            for range in class.iter() {
                (range.start()..=range.end()).for_each(|byte| insert(&mut set, byte));
            }
        }
        Class::Unicode(class) => {
            for range in class.iter() {
                if !range.end().is_ascii() {
                    return None;
                }
                (range.start() as u8..=range.end() as u8).for_each(|byte| insert(&mut set, byte));
            }
        }
    }
    Some(set)
}

/// Returns the forms of the characters of a class in UTF-8, each as one set for each byte.
fn forms_of(class: &Class) -> impl Iterator<Item = Vec<Bytes>> {
    let ranges = match class {
        Class::Unicode(class) => class.ranges(),
        Class::Bytes(_) => &[],
    };
    let forms = ranges
        .iter()
        .flat_map(|range| Utf8Sequences::new(range.start(), range.end()));
    forms.map(|form| {
        let set = |range: &Utf8Range| {
            let mut set = [0; 4];
            (range.start..=range.end).for_each(|byte| insert(&mut set, byte));
            set
        };
        form.as_slice().iter().map(set).collect()
    })
}

/// Returns whether an assertion holds between the bytes before and behind `at`.
fn holds(look: Look, text: &[u8], at: usize) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = at.checked_sub(1).and_then(|at| text.get(at));
    let after = text.get(at);
    match look {
        Look::Start => before.is_none(),
        Look::End => after.is_none(),
        Look::StartLF => before.is_none_or(|byte| *byte == b'\n'),
        Look::EndLF => after.is_none_or(|byte| *byte == b'\n'),
        Look::WordAscii => is_word(before) != is_word(after),
        Look::WordAsciiNegate => is_word(before) == is_word(after),
        // A test checks that no pattern has another.
        _ => false,
    }
}
