//! `remote` adds, lists and removes the remotes of a store; `push`, `fetch` and `pull` exchange commits with one.
//!
//! # Layer
//! Layer 10, part of cli.

use super::findings::show_finding;
use super::merge::{WithChanges, change_list};
use super::prelude::*;
use crate::cli::context::as_arguments;
use crate::cli::hints::in_quotes;
use crate::cli::remote_keys;
use crate::cli::remotes::{ORIGIN, RemoteEntry, Remotes, check_scheme, check_url};
#[cfg(feature = "signed")]
use crate::cli::signing_keys;
use treering::inspect::remote::RemoteState;
use treering::merge::{MergeConflict, Merged, Strategy};
use treering::remote::{self, Collected, Fetched, Keys, Pulled, Pushed, VerifiedRemote};
#[cfg(feature = "signed")]
use treering::signed::VerifierKey;

/// The number of ids that others erased and this store keeps, which a line names.
const KEPT_NAMED: usize = 5;

/// Set up and clean up remotes
///
/// Several stores share a memory through a remote: each pushes its commits and pulls those of the others. The list of
/// remotes belongs to you, and is not stored in the memory.
///
/// # Examples
/// ```text
/// treering remote add origin file:///mnt/shared/memory --trust-cap direct_user
/// treering push
/// treering fetch
/// treering pull
/// treering sync --watch
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Remote {
    #[command(subcommand)]
    verb: RemoteVerb,
}

/// An action on the remotes of a store.
#[derive(Debug, Subcommand)]
enum RemoteVerb {
    /// Add a remote
    ///
    /// Tests that its store honours conditional writes, because pushes of two machines would otherwise overwrite each other.
    ///
    /// # Examples
    /// ```text
    /// treering remote add origin file:///mnt/shared/memory --trust-cap direct_user
    /// treering remote add origin file:///mnt/m --signed-by vera+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k
    /// ```
    #[command(verbatim_doc_comment)]
    Add {
        /// The name
        name: String,
        /// The place
        url: String,
        /// The most trusted class of what comes from it [default: asked for; import without a terminal]
        #[arg(long, value_name = "CLASS", value_parser = Origin::from_text)]
        trust_cap: Option<Origin>,
        /// Take in only what this verifier key signed; may be repeated: one of the keys is enough
        #[cfg(feature = "signed")]
        #[arg(long, value_name = "VKEY")]
        signed_by: Vec<VerifierKey>,
        /// Sign each push with this key of yours
        #[cfg(feature = "signed")]
        #[arg(long, value_name = "NAME")]
        sign_key: Option<String>,
        /// Encrypt with the key in this file; treering remote keygen makes it
        #[arg(long, value_name = "FILE")]
        key_file: Option<PathBuf>,
    },
    /// Make a key that encrypts remotes and backups
    ///
    /// Without the file, all data that it encrypted is lost: keep a copy in a safe place. Each machine needs the file.
    ///
    /// # Examples
    /// ```text
    /// treering remote keygen ~/memory.key
    /// treering remote add origin file:///mnt/shared/memory --key-file ~/memory.key
    /// ```
    #[command(verbatim_doc_comment)]
    Keygen {
        /// The new file
        file: PathBuf,
    },
    /// Encrypt a remote anew with a new key
    ///
    /// Adds a new key to its key file. Other machines cannot use the remote until they have the new file. A call that was
    /// interrupted goes on where it stopped.
    ///
    /// # Examples
    /// ```text
    /// treering remote rotate origin
    /// ```
    #[command(verbatim_doc_comment)]
    Rotate {
        /// The name
        name: String,
    },
    /// List the remotes
    ///
    /// # Examples
    /// ```text
    /// treering remote list
    /// ```
    #[command(verbatim_doc_comment)]
    List,
    /// Delete from a remote what nobody needs
    ///
    /// Writes small segments as large ones, and deletes files that nobody lists. Drops the side lines of machines that
    /// were merged and have been idle for 30 days. Keeps all history.
    ///
    /// # Examples
    /// ```text
    /// treering remote gc origin
    /// ```
    #[command(verbatim_doc_comment)]
    Gc {
        /// The name
        name: String,
    },
    /// Check every byte of a remote or backup
    ///
    /// Reads each file and checks its digests, and writes nothing. Exit code 5: the place is damaged, or the named remote is
    /// an older copy of what this store has seen there.
    ///
    /// # Examples
    /// ```text
    /// treering remote verify origin
    /// treering remote verify file:///mnt/disk/agent --json
    /// ```
    #[command(verbatim_doc_comment)]
    Verify {
        /// The name of a remote, or the place of a remote or backup
        #[arg(value_name = "NAME|URL")]
        remote: String,
        /// The key file of an encrypted place
        #[arg(long, value_name = "FILE")]
        key_file: Option<PathBuf>,
    },
    /// Remove a remote
    ///
    /// What was merged stays. Fetched commits that were not merged go. The remote itself stays as it is.
    ///
    /// # Examples
    /// ```text
    /// treering remote remove origin
    /// ```
    #[command(verbatim_doc_comment)]
    Remove {
        /// The name
        name: String,
    },
}

/// A remote of the store.
#[derive(Serialize, JsonSchema)]
struct RemoteRow {
    name: String,
    url: String,
    /// The most trusted class of what comes from it.
    trust_cap: Origin,
    /// The verifier keys of which one must have signed what is fetched; empty if no signature is demanded.
    signed_by: Vec<String>,
    /// The key of the user that signs each push.
    sign_key: Option<String>,
    /// The number of commits of this store that the remote lacks, as far as is known here.
    ahead: u64,
    /// The number of commits that were fetched and not merged.
    behind: u64,
    /// The file with the keys of an encrypted remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_file: Option<String>,
}

/// Warns of a damaged line of the register, whose remote is unknown.
pub(super) fn warn_of_damage(context: &mut Context, remotes: &Remotes) {
    if let Some(damage) = remotes.damage() {
        context.output.warn("unreadable", &damage.to_string());
    }
}

/// Warns of a bucket that keeps what is deleted. `None`: that is unknown.
fn warn_of_old_bytes(context: &mut Context, keeps: Option<bool>) {
    let kept = match keeps {
        Some(false) => return,
        Some(true) => "the bucket keeps old versions, so erased content stays in it: switch versioning off",
        None => "the bucket may keep what is deleted: switch versioning and soft delete off",
    };
    context.output.warn("old_bytes_stay", kept);
}

/// The answer of `remote keygen` and `remote rotate`.
#[derive(Serialize, JsonSchema)]
struct RemoteKey {
    /// The key file.
    file: String,
    /// The public id of its newest key.
    key: String,
    /// The number of files of the remote that were encrypted anew.
    files: u64,
}

impl RemoteKey {
    fn of(file: &Path, keys: &Keys, files: u64) -> Self {
        Self {
            file: file.display().to_string(),
            key: keys.ids().swap_remove(0),
            files,
        }
    }
}

/// A remote after a collection of its garbage.
#[derive(Serialize, JsonSchema)]
struct CollectedRow {
    #[serde(flatten)]
    row: RemoteRow,
    /// What the collection did.
    collected: Collected,
}

impl RemoteRow {
    fn of(entry: &RemoteEntry, state: RemoteState) -> Self {
        Self {
            trust_cap: entry.cap(),
            signed_by: entry.signed_by.clone(),
            sign_key: entry.sign_key.clone(),
            name: entry.name.clone(),
            url: entry.url.clone(),
            ahead: state.ahead,
            behind: state.behind,
            key_file: entry.key_file.as_ref().map(|file| file.display().to_string()),
        }
    }

    /// Describes the encryption and the signatures.
    fn safety(&self) -> String {
        let signs = self.sign_key.as_ref().map(|key| format!("signs with {key}"));
        let parts = [
            self.key_file.as_ref().map(|_| "encrypted".to_owned()),
            (!self.signed_by.is_empty()).then(|| "demands signatures".to_owned()),
            signs,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Verb for Remote {
    const ANSWERS: &'static [Form] = &[
        form::<RemoteRow>(""),
        form::<RemoteRow>("list, one per line"),
        form::<CollectedRow>("gc"),
        form::<RemoteKey>("keygen and rotate"),
        form::<VerifiedRemote>("verify"),
    ];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        match self.verb {
            RemoteVerb::Add {
                name,
                url,
                trust_cap,
                #[cfg(feature = "signed")]
                signed_by,
                #[cfg(feature = "signed")]
                sign_key,
                key_file,
            } => {
                context.options.check_may_write()?;
                check_url(&url)?;
                let memory = context.open_to_read()?;
                let mut remotes = Remotes::of(&memory)?;
                remotes.check_free(&name)?;
                if let Some(path) = memory.path() {
                    remote::check_apart(&url, path)?;
                }
                let cap = context.cap_of_remote(trust_cap)?;
                let new = RemoteEntry::new(&name, &url, cap);
                #[cfg(feature = "signed")]
                let new = new.with_keys(&signed_by, sign_key);
                let new = new.encrypted(key_file.as_deref())?;
                let remote = new.create()?;
                context.output.waits_for(&url);
                let state = remote.check(&memory)?;
                let row = RemoteRow::of(&remotes.add(new)?, state);
                if let Some(file) = &key_file {
                    context.output.note("key", remote_keys::loss_of(file));
                }
                warn_of_old_bytes(context, remote.keeps_old_bytes());
                let text = format!("added the remote {name}; what comes from it is at most {cap}");
                // Without a name, `push` takes `origin`.
                let named = if name == ORIGIN {
                    String::new()
                } else {
                    format!(" {name}")
                };
                let next = format!("send your commits with: treering push{named}");
                context.say_with_note(&row, text, "next", next)
            }
            RemoteVerb::Keygen { file } => {
                let answer = RemoteKey::of(&file, &remote_keys::make(&file)?, 0);
                let text = format!("made the key {} in {}", answer.key, shown(&file));
                context.say_with_note(&answer, text, "key", remote_keys::loss_of(&file))
            }
            RemoteVerb::Rotate { name } => context.rotate(&name),
            RemoteVerb::List => {
                let memory = context.open_to_read()?;
                let remotes = Remotes::of(&memory)?;
                warn_of_damage(context, &remotes);
                let rows = remotes.entries().into_iter().map(|entry| {
                    // The states are those of this store, so no remote is asked.
                    let state = remote::Remote::known_state(&entry.name, &memory)?;
                    Ok(RemoteRow::of(&entry, state))
                });
                context.rows(rows, |row, context| {
                    let mut cells = columns(row, &["name", "url", "trust_cap", "ahead", "behind"], context);
                    cells.push(("safety", plain(row.safety())));
                    cells
                })
            }
            RemoteVerb::Gc { name } => {
                context.options.check_may_write()?;
                let memory = context.open_to_read()?;
                let entry = context.remote_of(&memory, Some(&name))?;
                let collected = entry.open()?.gc(&memory)?;
                let state = remote::Remote::known_state(&name, &memory)?;
                let text = format!(
                    "{name}: {} instead of {}, {} instead of {}",
                    counted(collected.segments, "segment"),
                    collected.segments_before,
                    bytes(collected.bytes),
                    bytes(collected.bytes_before)
                );
                let row = RemoteRow::of(&entry, state);
                context.say(&CollectedRow { row, collected }, text)
            }
            RemoteVerb::Verify { remote, key_file } => context.verify_remote(&remote, key_file.as_deref()),
            RemoteVerb::Remove { name } => {
                let memory = context.open_to_write()?;
                let mut remotes = Remotes::of(&memory)?;
                remotes.find(Some(&name))?;
                let state = remote::Remote::known_state(&name, &memory)?;
                remote::Remote::forget(&name, &memory, &context.writer())?;
                let row = RemoteRow::of(&remotes.remove(&name)?, state);
                context.say(
                    &row,
                    format_args!("removed the remote {name}; its data stays at {}", row.url),
                )
            }
        }
    }
}

impl Context {
    /// Returns a remote of the store, as [`Remotes::find`] does, and shows a person that the program waits for it.
    pub(super) fn remote_of(&self, memory: &Memory, name: Option<&str>) -> Result<RemoteEntry> {
        let entry = Remotes::of(memory)?.find(name)?;
        self.output.waits_for(&entry.url);
        Ok(entry)
    }

    /// Refuses a fork, which does not travel.
    pub(super) fn main_line_to_send(&mut self) -> Result<()> {
        let fork = self.fork().map(in_quotes);
        self.whole_store().map_err(|error| match fork {
            Some(fork) => error.with_hint(format!(
                "forks do not travel to a remote: merge it with treering merge {fork}, then push without --fork"
            )),
            None => error,
        })
    }

    /// Checks the remote with this name, or the remote or backup at this URL.
    fn verify_remote(&mut self, remote: &str, key_file: Option<&Path>) -> Done {
        let (mut entry, memory) = if remote.contains("://") {
            check_scheme(remote)?;
            (RemoteEntry::new(ORIGIN, remote, Origin::Import), None)
        } else {
            let memory = self.open_to_read()?;
            (self.remote_of(&memory, Some(remote))?, Some(memory))
        };
        if key_file.is_some() {
            entry = entry.encrypted(key_file)?;
        }
        self.output.waits_for(&entry.url);
        let place = entry.open()?;
        // Any other error is one of the check, too.
        let went_back = memory.and_then(|memory| place.check_continues(&memory).err());
        let went_back = went_back.filter(|error| error.code() == ErrorCode::RemoteWentBack);
        let mut report = match (place.verify(&self.engine_options()), &went_back) {
            (Err(_), Some(error)) => return Err(error.clone()),
            (report, _) => report?,
        };
        report.ok &= went_back.is_none();
        self.answer(&report, |report, context| {
            let (commits, segments) = (
                counted(report.commits, "commit"),
                counted(report.segments, "segment"),
            );
            let (size, place) = (bytes(report.bytes), one_line(&report.place));
            let (meaning, verdict) = if report.ok {
                (Meaning::Good, "ok")
            } else if report.damage.is_empty() {
                (Meaning::Bad, "older than before")
            } else {
                (Meaning::Bad, "damaged")
            };
            let verdict = context.output.paint(meaning, verdict);
            let text = format!("{verdict}: {commits}, {segments}, {size} read in {place}");
            context.output.line(text)?;
            let mut found = report.damage.iter();
            found.try_for_each(|finding| show_finding(&mut context.output, Meaning::Bad, "damage", finding))
        })?;
        if let Some(error) = went_back {
            return Err(error);
        }
        if report.ok {
            return Ok(DONE);
        }
        let places = counted(report.damage.len() as u64, "place");
        let error = Error::corrupt(format!("{} is damaged in {places}", one_line(&report.place)));
        Err(error.with_code(ErrorCode::Damaged).with_hint(
            "restore the place from a copy, or send to an empty place; `treering verify` checks a store of your own",
        ))
    }

    /// Encrypts a remote anew with a new key, or with the newest one if an interrupted call made it.
    fn rotate(&mut self, name: &str) -> Done {
        self.options.check_may_write()?;
        let memory = self.open_to_read()?;
        let entry = self.remote_of(&memory, Some(name))?;
        let remote = entry.open()?;
        let Some(file) = &entry.key_file else {
            let error = Error::invalid(format!("the remote {name} is not encrypted"));
            return Err(error.with_code(ErrorCode::NotEncrypted));
        };
        if remote.has_newest_key()? {
            remote_keys::replace(file, &remote_keys::load(file)?.with_new()?)?;
        }
        let files = entry.open()?.rotate(&memory)?;
        let answer = RemoteKey::of(file, &remote_keys::load(file)?, files);
        let text = format!(
            "encrypted {} of {name} anew with the key {}",
            counted(files, "file"),
            answer.key
        );
        let note = format!(
            "copy {} to the other machines; until then they cannot use the remote; keep a copy in a safe place",
            shown(file)
        );
        self.say_with_note(&answer, text, "key", note)
    }
}

/// Send your commits to a remote
///
/// Sends what the remote lacks of the main line. Exit code 3: it has commits of others; pull them first. With --sign and
/// nothing new, signs what is there. Exit code 4: you demand signatures of the remote, and no key of yours signs.
///
/// # Examples
/// ```text
/// treering push
/// treering push origin --json
/// treering push --sign --key vera
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Push {
    /// The remote [default: the only one, or origin]
    name: Option<String>,
    /// Sign the newest commit with your only key, or with --key
    #[cfg(feature = "signed")]
    #[arg(long)]
    sign: bool,
    /// The name of the key that signs; may be repeated
    #[cfg(feature = "signed")]
    #[arg(long, value_name = "NAME", requires = "sign")]
    key: Vec<String>,
    /// Send it although --signed-by demands signatures and no key of yours signs it
    #[cfg(feature = "signed")]
    #[arg(long, conflicts_with = "sign")]
    unsigned_once: bool,
}

#[cfg(feature = "signed")]
impl Push {
    /// Opens the remote, with the keys that sign.
    fn open(&self, entry: &RemoteEntry) -> Result<remote::Remote> {
        match &self.key[..] {
            [] if self.sign && entry.sign_key.is_none() => {
                Ok(entry.open()?.sign_with(vec![signing_keys::load_only()?]))
            }
            [] if self.unsigned_once => Ok(entry.open()?.signed_by(Vec::new())),
            [] => entry.open(),
            names => {
                let keys = names.iter().map(|name| signing_keys::load(name));
                Ok(entry.open()?.sign_with(keys.collect::<Result<_>>()?))
            }
        }
    }
}

#[cfg(not(feature = "signed"))]
impl Push {
    fn open(&self, entry: &RemoteEntry) -> Result<remote::Remote> {
        entry.open()
    }
}

impl Verb for Push {
    const ANSWERS: &'static [Form] = &[form::<Pushed>("")];

    fn run(self, context: &mut Context) -> Done {
        context.main_line_to_send()?;
        let memory = context.open_to_write()?;
        let entry = context.remote_of(&memory, self.name.as_deref())?;
        let pushed = self.open(&entry)?.push(&memory, &context.writer())?;
        #[cfg(feature = "signed")]
        let signs = self.sign || entry.sign_key.is_some();
        #[cfg(not(feature = "signed"))]
        let signs = false;
        let text = pushed_line(&pushed, signs);
        let done = context.say(&pushed, text)?;
        note_unsigned(context, &pushed);
        Ok(done)
    }
}

/// Prints for people that a push without a key left the remote unsigned.
pub(super) fn note_unsigned(context: &mut Context, pushed: &Pushed) {
    if pushed.unsigned {
        let text = format!(
            "{} was signed, and is unsigned now; sign it with: treering push --sign",
            pushed.remote
        );
        context.note_for_people("next", text);
    }
}

pub(super) fn pushed_line(pushed: &Pushed, signs: bool) -> String {
    match pushed.commits {
        0 if pushed.bytes == 0 => format!("{} has everything already", pushed.remote),
        0 => format!(
            "sent the {}, {}, to {}",
            if signs {
                "signature of the newest commit"
            } else {
                "snapshots and taints"
            },
            bytes(pushed.bytes),
            pushed.remote
        ),
        commits => {
            let size = bytes(pushed.bytes);
            format!("sent {}, {size} to {}", counted(commits, "commit"), pushed.remote)
        }
    }
}

/// Get the commits of a remote
///
/// What is new can be read as remote:NAME/main, a revision. Nothing is merged; treering pull merges too.
///
/// # Examples
/// ```text
/// treering fetch
/// treering diff @ remote:origin/main
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Fetch {
    /// The remote [default: the only one, or origin]
    name: Option<String>,
}

impl Verb for Fetch {
    const ANSWERS: &'static [Form] = &[form::<Fetched>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        let memory = context.open_to_write()?;
        let entry = context.remote_of(&memory, self.name.as_deref())?;
        let fetched = entry.open()?.fetch(&memory, &context.writer())?;
        let text = fetched_line(&fetched, false);
        let done = context.say(&fetched, text)?;
        note_kept(context, &fetched);
        Ok(done)
    }
}

/// Says what a fetch brought. `is_merged`: commits were merged behind it, which an earlier fetch or dry run may have brought.
pub(super) fn fetched_line(fetched: &Fetched, is_merged: bool) -> String {
    let commits = match fetched.commits {
        0 if is_merged => format!("{} has nothing new since the last fetch", fetched.remote),
        0 => format!("{} has nothing new", fetched.remote),
        commits => format!("fetched {} from {}", counted(commits, "commit"), fetched.remote),
    };
    match (fetched.erased, fetched.not_erased) {
        (0, 0) => commits,
        (erased, 0) => format!(
            "{commits}; erased {} that others erased",
            counted(erased, "record")
        ),
        (_, kept) => format!(
            "{commits}; others erased {} that you keep, because no demanded signature covers that, or the remote may not erase here: {}",
            counted(kept, "record"),
            named_kept(fetched)
        ),
    }
}

/// Names the first ones of what others erased and this store keeps.
fn named_kept(fetched: &Fetched) -> String {
    let mut named: Vec<_> = fetched
        .kept
        .iter()
        .map(|id| one_line(id))
        .take(KEPT_NAMED)
        .collect();
    if let more @ 1.. = fetched.kept.len() - named.len() {
        named.push(format!("and {more} more, which treering doctor names"));
    }
    named.join(", ")
}

/// Prints the command that erases here what others erased, for people.
pub(super) fn note_kept(context: &mut Context, fetched: &Fetched) {
    if !fetched.kept.is_empty() {
        let targets = as_arguments(fetched.kept.iter().take(KEPT_NAMED));
        let text = format!("erase it here, too, with: treering erase {targets}");
        context.note_for_people("next", text);
    }
}

/// Bring in the commits of a remote
///
/// Fetches what others pushed (treering fetch does only that), and merges it as treering merge does. What your policy
/// refuses stays open as a conflict. The merge is one commit in the lane remote/NAME.
///
/// # Examples
/// ```text
/// treering pull
/// treering pull --dry-run
/// treering undo --session remote/origin
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Pull {
    /// The remote [default: the only one, or origin]
    name: Option<String>,
    /// Fetch, print what would change, and merge nothing
    #[arg(long)]
    dry_run: bool,
    /// Decide about conflicts by a rule
    #[arg(long, value_name = "RULE", value_parser = args::one_of(Strategy::ALL, Strategy::name))]
    strategy: Option<Strategy>,
    /// Take in what is there now, although no key of --signed-by signed it
    #[cfg(feature = "signed")]
    #[arg(long)]
    unsigned_once: bool,
}

impl Verb for Pull {
    const ANSWERS: &'static [Form] = &[form::<WithChanges<Pulled>>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        let memory = context.open_to_write()?;
        let entry = context.remote_of(&memory, self.name.as_deref())?;
        let (remote, writer) = (entry.open()?, context.writer());
        #[cfg(feature = "signed")]
        let remote = if self.unsigned_once {
            remote.signed_by(Vec::new())
        } else {
            remote
        };
        let pulled = if self.dry_run {
            remote.pull_preview(&memory, &writer, self.strategy)?
        } else {
            remote.pull_by(&memory, &writer, self.strategy)?
        };
        context.answer(&WithChanges::of(&pulled, &pulled.merged), |answer, context| {
            let pulled = answer.answer;
            let merged = &pulled.merged;
            let fetched = fetched_line(&pulled.fetched, merged.committed.changed);
            let counts = context.counts_line(merged.counts);
            let head = context.head_line(&merged.committed.commit);
            context.line(match (merged.committed.changed, self.dry_run) {
                (false, _) => format!("{fetched}; {head}"),
                (true, true) => format!("{fetched}; would merge: {counts}"),
                (true, false) => format!("{fetched}; merged: {counts}; {head}"),
            })?;
            change_list(context, merged, None)?;
            conflict_lines(context, &merged.conflicts)
        })?;
        note_kept(context, &pulled.fetched);
        context.note_dry_run(self.dry_run);
        if !self.dry_run {
            note_conflicts(context, &pulled.merged);
            note_merge(context, &entry.name, &pulled.merged);
        }
        Ok(DONE)
    }
}

/// Prints the command that takes back the merge of a remote, for people.
pub(super) fn note_merge(context: &mut Context, remote: &str, merged: &Merged) {
    if merged.committed.changed {
        let note = format!("reverse the merge with: treering undo --session remote/{remote}");
        context.note_for_people("undo", note);
    }
}

/// Prints the conflicts that a merge left open.
pub(super) fn conflict_lines(context: &mut Context, conflicts: &[MergeConflict]) -> Result<()> {
    for conflict in conflicts {
        let (id, fields) = (one_line(conflict.id.as_str()), conflict.fields.join(", "));
        let mark = context.output.paint(Meaning::Bad, format_args!("! {id}"));
        context.line(format_args!("{mark}  conflict: {fields}"))?;
    }
    Ok(())
}

/// Names the command that shows the conflicts, for people. A dry run leaves no conflict to show.
pub(super) fn note_conflicts(context: &mut Context, merged: &Merged) {
    if !merged.conflicts.is_empty() {
        context.note_for_people("next", "see the versions with: treering conflicts");
    }
}
