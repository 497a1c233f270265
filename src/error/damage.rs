//! The model of damage: every fault in the files of a store.
//!
//! The log, the checkpoints and the engine report a [`Cause`]. Code compares causes; only `Display` converts them to
//! sentences.

use std::fmt;

/// A fault in a file of a store: its place and its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The path of the file, relative to the store.
    pub file: String,
    /// The offset of the first damaged byte. `None` if the cause affects the file as a whole.
    pub offset: Option<u64>,
    /// The cause of the damage.
    pub cause: Cause,
}

/// A finding of `verify`, `doctor` or `salvage`: damage and its severity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(into = "Answer"), schemars(with = "Answer"))]
pub struct Finding {
    /// The severity of the problem.
    pub severity: Severity,
    /// The place and the cause of the damage.
    pub damage: Damage,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Severity {
    /// Stored data is damaged.
    Damage,
    /// The files do not show whether data was lost.
    Unsure,
    /// A derived file is damaged or missing. Treering rebuilds the file.
    Derived,
    /// A leftover of a crash, or an unused file. No data is lost.
    Harmless,
}

named! {
    /// The kind of a finding, for programs.
    #[non_exhaustive]
    pub enum FindingKind {
        /// The bytes differ from the written bytes, or come from an unfinished write.
        Corrupt => "corrupt",
        /// The file is missing.
        Missing => "missing",
        /// The file is too short.
        Cut => "cut",
        /// The log is older than a checkpoint, or recovery moved the end of the log after the checkpoint was made.
        Older => "older",
        /// The file belongs to another store or program version, or has the wrong name or type.
        Foreign => "foreign",
        /// The files do not show whether the bytes were ever acknowledged.
        Unproven => "unproven",
    }
}

impl Damage {
    /// Returns damage at `offset` of `file`.
    pub(crate) fn new(file: impl Into<String>, offset: u64, cause: Cause) -> Self {
        Self {
            file: file.into(),
            offset: (!cause.concerns_whole_file()).then_some(offset),
            cause,
        }
    }
}

impl Finding {
    pub(crate) fn new(severity: Severity, file: &str, offset: u64, cause: Cause) -> Self {
        Self {
            severity,
            damage: Damage::new(file, offset, cause),
        }
    }

    /// Returns the kind of the finding, for programs.
    pub fn kind(&self) -> FindingKind {
        match self.damage.cause {
            Cause::MadeFromLaterLog | Cause::LogWrittenElsewhere | Cause::LogOlderThanCheckpoint => {
                FindingKind::Older
            }
            _ if self.severity == Severity::Unsure => FindingKind::Unproven,
            Cause::Pending { .. } => FindingKind::Unproven,
            Cause::Missing | Cause::FormatMissing | Cause::SegmentMissing | Cause::RecordMissing(_) => {
                FindingKind::Missing
            }
            Cause::CutOff | Cause::Shorter | Cause::EndLost | Cause::DerivedCut => FindingKind::Cut,
            Cause::Foreign
            | Cause::OtherStore
            | Cause::NotRegular { .. }
            | Cause::DerivedForeign
            | Cause::DerivedVersion => FindingKind::Foreign,
            _ => FindingKind::Corrupt,
        }
    }
}

/// Declares the causes. The sentence of a cause is also its documentation.
macro_rules! causes {
    ($($name:ident $({ $($field:ident: $type:ty),+ })? $(($text:ident: $text_type:ty))? = $sentence:literal,)*) => {
        /// The cause of damage to bytes or files of a store.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Cause {
            $(
                #[doc = $sentence]
                $name $({ $(#[doc = "A value in the sentence of the cause."] $field: $type),+ })? $(($text_type))?,
            )*
        }

        impl fmt::Display for Cause {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $({ $($field),+ })? $(($text))? => write!(f, $sentence),)*
                }
            }
        }
    };
}

causes! {
    // Causes in any file.
    Missing = "the file is missing",
    OtherStore = "the file belongs to another store",
    Foreign = "the bytes belong to another store or to another place in the log",
    NotRegular { wanted: &'static str } = "not a {wanted}",
    Undecodable(what: String) = "{what}",
    CannotRead(what: String) = "the file cannot be read: {what}",
    Changed = "a process changed the file during the read",
    // Causes in frames and batches.
    CutOff = "the file ends within a frame",
    NoFrame = "no frame starts at this offset",
    HeaderChecksum = "a frame header does not match its checksum",
    HeaderLimit = "a length in a frame header exceeds the limit",
    BodyChecksum = "a record does not match its checksum",
    UnknownFlags(flags: u8) = "a newer program wrote a frame with flags that this program does not support: {flags:#04x}",
    UnknownKind(kind: u8) = "a newer program wrote a frame of kind {kind}, which this program does not support",
    Padding = "the padding of a frame is not zero",
    OtherBatch = "a frame belongs to another batch",
    SealMismatch = "a seal does not match its batch",
    BrokenChain = "a batch does not continue the previous batch",
    BatchDigest = "a batch does not match its digest",
    // Causes in segments and the manifest.
    SegmentMissing = "the manifest lists the file, but the file is missing",
    SegmentUnknown = "a checkpoint names the file, but the manifest does not list it",
    SegmentUnopened = "the manifest lists the file, but the file cannot be opened",
    SegmentDigest = "the file does not have the length and the digest that the manifest of the remote names",
    Shorter = "the file is shorter than its length in the manifest",
    LastBatch = "the last batch of the segment is not the last batch that the manifest lists for this segment",
    NotContinued = "the segment header does not continue the previous segment in the manifest",
    NotListed { segment: u64 } = "the manifest does not list segment {segment}, which contains durable batches",
    OlderManifest = "an older manifest replaced the manifest that was read before",
    SealedEarly = "the sealed length of the segment is too short, because durable bytes follow that length",
    BatchGone { batch: u64 } = "durable batch {batch} should end at this offset, but does not",
    MarkWithinBatch = "the durable part of the segment ends at this offset, but no batch ends here",
    Zeros = "zeros have overwritten a batch",
    EndLost = "durable batches at the end of the segment are missing",
    FormatMissing = "the file is missing, but the folder contains a log",
    // Causes in leftover files of crashes, and in the bytes after the last batch.
    NoMark = "the file is damaged or belongs to another store; the log is read without the file",
    BeyondMark { bytes: u64 } = "{bytes} bytes follow the mark; Treering ignores them",
    UnlistedNewer = "the manifest does not list the file, but the file contains batches newer than the listed segments",
    UnlistedOlder = "the manifest does not list the file, and the log does not need the file; the next writer removes the file",
    UnlistedForeign = "the manifest does not list the file, and this log did not write it",
    Unfinished = "a crash left the file unfinished, or a process is writing the file",
    RewriteFile = "a running rewrite of the log is writing the file, or a crash left the file; in that case the next writer removes the file",
    Misnamed = "the file is a segment of this store under another name, so only salvage reads the file",
    Stray = "the file does not belong to the log",
    TornTail { bytes: u64 } = "a crash left {bytes} bytes after the last batch; recovery wrote each complete batch in these bytes to the next segment",
    TornTails { bytes: u64, segments: u64 } = "crashes left {bytes} bytes after the last batches of {segments} segments; recovery wrote each complete batch in these bytes to the next segment",
    UnacknowledgedTail { bytes: u64 } = "a crash left {bytes} bytes after the last batch; these bytes were never acknowledged",
    Pending { batches: u64 } = "no reader sees the complete batches from here on: {batches}; the writer was interrupted before it acknowledged them, or is about to acknowledge them; the next writer brings them in",
    UnprovenTail { bytes: u64 } = "a crash or damage left {bytes} bytes after the last complete commit",
    // Causes that salvage reports.
    OnlyOlderSegments { listed: usize } = "the {listed} segments that the manifest lists are missing; salvage read older segments, which may contain data that was later thinned or erased",
    FoundOutside { segment: u64 } = "the file is a segment outside log/; salvage read it as segment {segment}",
    LeftOutside { segment: u64 } = "the file is segment {segment} outside log/; without the manifest, it may contain data that was later erased, so salvage did not read it",
    ReadAs { segment: u64 } = "the file name and the header contain different segment numbers; salvage used the number in the header, {segment}",
    ReadWithout = "the file is damaged; salvage read the segments without the file",
    NotASegment = "the file has neither the name nor the header of a segment, so salvage did not read it",
    HeaderDamaged = "the segment header is damaged; salvage read the batches without the header",
    Unreadable = "the file contains no readable data",
    UnlistedHeaderless = "the manifest does not list the segment, and the segment header is damaged, so salvage omitted the segment",
    RewrittenTwice = "`gc` or `erase` rewrote the log from this segment on; without the manifest, salvage cannot know whether the rewrite finished, and treats it as finished",
    WrittenMeanwhile = "a process wrote to the store during the salvage: new commits may be missing, and moved commits may be reported as lost; stop the writers and salvage again",
    RewriteCounted = "the manifest is older than this segment; salvage read the segment as part of the newer log",
    RewriteCutOff = "an interrupted rewrite wrote the segment; salvage read the log before the rewrite",
    ErasureUnsure = "an interrupted erasure wrote the segment, or the manifest is too old; salvage treats the erasure as interrupted, and keeps the records that the erasure would remove",
    // Causes in checkpoints.
    TableChecksum = "the table of checksums does not match its own checksum",
    BlockChecksum = "a block does not match its checksum",
    OutsideBlocks = "a row points outside the file",
    OtherHeader = "the header differs from the written header",
    NodeOutside = "the offset of a node is outside the section of nodes",
    BeyondSection = "a row reaches beyond its section",
    NoHistory = "the file contains no history tree",
    RowMissing = "a row is missing",
    RowOrder = "the rows are not in order",
    ChainBroken = "a file on which the file builds is missing or another one",
    IndexMismatch = "the rows of an index do not match the commits",
    ReferenceSection = "the references do not fill their section",
    MadeFromOtherLog = "the checkpoint was made from another log",
    MadeFromLaterLog = "the checkpoint was made from a later state of this log: an older copy replaced the log",
    MadeBeforeRewrite = "the checkpoint was made before the log was rewritten",
    LogWrittenElsewhere = "recovery moved the end of the log after the checkpoint was made; the log is read instead",
    LogOlderThanCheckpoint = "the log is older than one of its checkpoints",
    // Causes in derived files.
    DerivedCut = "the file length differs from the written length",
    DerivedForeign = "the file was written under another name or for another store",
    DerivedVersion = "another version of the program wrote the file",
    DerivedChecksum = "the file does not match its checksum",
    BlockChecksums { bytes: u64 } = "{bytes} bytes do not match their checksums",
    // Causes in records that contradict each other.
    StateMismatch { seq: u64 } = "the state of commit seq:{seq} does not match the root in the commit",
    RecordMissing(what: String) = "{what} is missing",
    Contradiction(what: String) = "{what}",
}

impl Cause {
    fn concerns_whole_file(&self) -> bool {
        matches!(
            self,
            Self::Missing
                | Self::SegmentMissing
                | Self::FormatMissing
                | Self::NotRegular { .. }
                | Self::CannotRead(_)
                | Self::TornTails { .. }
        )
    }

    /// Returns whether a newer program wrote the bytes.
    pub(crate) fn is_of_newer_version(&self) -> bool {
        matches!(self, Self::UnknownFlags(_) | Self::UnknownKind(_))
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, offset, cause } = self;
        match (cause, offset) {
            (Cause::Missing, _) => write!(f, "{file} is missing"),
            (Cause::NotRegular { .. }, _) => write!(f, "{file} is {cause}"),
            (Cause::CannotRead(what), _) => write!(f, "cannot read {file}: {what}"),
            (_, Some(offset)) => write!(f, "{file} is damaged at byte {offset}: {cause}"),
            (_, None) => write!(f, "{file} is damaged: {cause}"),
        }
    }
}

impl std::error::Error for Damage {}

/// The JSON form of a finding.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Finding")]
struct Answer {
    /// The kind of the finding.
    kind: FindingKind,
    /// The path of the file, relative to the store.
    file: String,
    /// The offset of the first damaged byte.
    offset: Option<u64>,
    /// The sentence of the cause.
    what: String,
}

#[cfg(feature = "serde")]
impl From<Finding> for Answer {
    fn from(finding: Finding) -> Self {
        Self {
            kind: finding.kind(),
            what: finding.damage.cause.to_string(),
            file: finding.damage.file,
            offset: finding.damage.offset,
        }
    }
}
