//! Finds and opens the store of a command.
//!
//! `--store` names the store, else `TREERING_STORE` does. Without either, the store is the nearest `.treering` folder
//! at or above the current folder, else the store in the XDG data folder. `trusted_stores.rs` decides whether the user
//! trusts a store that was found. A verb that reads never creates a store, so a wrong path is an error and not an empty
//! memory.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - CLI-4: a folder that contains other files never becomes a store.
//! - CLI-9: no verb records a reason or source with a secret that the scan recognises, or a name with one.
//! - CLI-10: with `TREERING_AT`, no verb writes the store. A dry run of a verb that writes plans on the head, and says so.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs, io};

use super::args::{LaneOptions, SharedOptions, in_quotes};
#[cfg(feature = "remote")]
use super::cached_remote::{Access, CachedRemote, Refreshed, named_cap};
use super::embedding::Embedding;
use super::errors::{refused, system_kind};
#[cfg(feature = "mcp")]
pub(crate) use super::hints::in_words;
pub(crate) use super::hints::{as_arguments, quoted};
use super::human::{counted, short};
use super::nearest::with_nearest_name;
use super::open_store::OpenStore;
use super::output::{Meaning, Mode, Output, check_stop};
use super::trusted_stores::{Check, TrustedStores, check_found, check_named, is_own};
use super::verb::Groups;
use treering::agent::{self, Embedder};
use treering::inspect::agent::projects::Project;
use treering::inspect::digest::to_hex;
use treering::inspect::disk::xdg_folder;
use treering::inspect::engine::MAIN_LINE;
use treering::inspect::ingest::moment::revision;
use treering::{
    CommitInfo, Error, ErrorCode, ErrorKind, HashAlgorithm, Memory, Options, Origin, Result, Revision, Root,
    Time, View, Writer,
};
use treering_text::scan::VerdictTable;

/// The folder of a store that belongs to a project.
pub(crate) const PROJECT_FOLDER: &str = ".treering";

/// The variable that names the revision to read, as `--at` does.
pub(crate) const AT_VARIABLE: &str = "TREERING_AT";

/// The variable that names the fork to read and write, as `--fork` does.
pub(crate) const FORK_VARIABLE: &str = "TREERING_FORK";

/// The smallest number of digits of a short digest.
const DIGITS_LEAST: usize = 8;
/// The names of the files and folders at the top of a store, which identify a store.
const STORE_NAMES: [&str; 8] = [
    "format",
    "lock",
    "live",
    "manifest",
    "log",
    "checkpoint",
    "derived",
    "compact.lock",
];

/// The state of a run: the options, the output, and the open store.
pub(crate) struct Context {
    pub(crate) options: SharedOptions,
    pub(crate) output: Output,
    /// The verbs of the program.
    pub(crate) verbs: Groups,
    /// The remote that the user named as the store.
    #[cfg(feature = "remote")]
    pub(crate) remote: Option<CachedRemote>,
    /// The value of `TREERING_AT`.
    at_variable: Option<String>,
    /// The value of `TREERING_FORK`.
    fork_variable: Option<String>,
    /// The open store of the debug shell, with the defaults of the shell's commands.
    pub(crate) kept: Option<OpenStore>,
    /// The memory that the verb opened.
    pub(super) opened: Option<Memory>,
    /// The project of the current folder, once it was asked for.
    pub(super) project: OnceCell<Option<Project>>,
    /// What is left to do when the verb has ended.
    pub(crate) embedding: Option<Embedding>,
    /// The model that the verb uses. Its faults show when it is used.
    pub(crate) embedder: Option<Arc<dyn Embedder + Send + Sync>>,
    /// Whether the verb opened the memory for writing.
    is_written: bool,
    /// The warnings of memories that were printed.
    warned: Vec<String>,
    /// Whether the run serves clients, so that it keeps indexes, and nobody takes back what is more trusted.
    #[cfg(feature = "mcp")]
    pub(crate) serves: bool,
    /// Whether the store is removed at the end of the run, so that it is not registered.
    pub(crate) is_temporary: bool,
}

impl Context {
    pub(crate) fn new(verbs: Groups, options: SharedOptions) -> Self {
        let mut output = Output::new(options.json);
        if options.agent && !options.json {
            output.set_mode(Mode::Agent);
        }
        output.store.clone_from(&options.store);
        #[cfg(feature = "remote")]
        let remote = options.store.clone().or_else(|| path_in("TREERING_STORE"));
        #[cfg(feature = "remote")]
        let remote = remote.and_then(|named| CachedRemote::of(&named));
        #[cfg(feature = "remote")]
        if let (Some(remote), true) = (&remote, output.store.is_some()) {
            output.store = Some(remote.shown().into());
        }
        Self {
            #[cfg(feature = "remote")]
            remote,
            options,
            output,
            verbs,
            at_variable: path_in(AT_VARIABLE).map(|at| at.to_string_lossy().into_owned()),
            fork_variable: path_in(FORK_VARIABLE).map(|fork| fork.to_string_lossy().into_owned()),
            kept: None,
            opened: None,
            project: OnceCell::new(),
            embedding: None,
            embedder: None,
            is_written: false,
            warned: Vec::new(),
            #[cfg(feature = "mcp")]
            serves: false,
            is_temporary: false,
        }
    }

    /// Returns the writer of the command. Once the store is open, markers of the store replace the secrets in the
    /// writer's reason and source (CLI-9).
    pub(crate) fn writer(&self) -> Writer {
        self.cleaned(self.named_writer())
    }

    /// Returns the writer of a verb whose options `--session`, `--actor` and `--source` select the work of others. Only
    /// the shell has a lane then.
    pub(crate) fn selecting_writer(&self) -> Writer {
        let lane = self.kept.as_ref().map(|kept| kept.lane.clone());
        let options = SharedOptions {
            lane: lane.unwrap_or_default(),
            source: None,
            ..self.options.clone()
        };
        self.cleaned(options.writer())
    }

    fn cleaned(&self, writer: Writer) -> Writer {
        if let Some(memory) = &self.opened {
            let scanner = agent::scanner_of(memory, VerdictTable::default());
            // The store was not opened for a writer with a bad name.
            return agent::clean_writer(&scanner, &writer).unwrap_or(writer);
        }
        writer
    }

    /// Returns the writer that the options name.
    pub(crate) fn named_writer(&self) -> Writer {
        let lane = self.lane_options();
        SharedOptions {
            lane,
            ..self.options.clone()
        }
        .writer()
    }

    /// Refuses a writer whose actor or session contains a secret, because the log stores names unchanged.
    fn check_writer(&self) -> Result<()> {
        let scanner = agent::storeless_scanner(VerdictTable::default());
        agent::clean_writer(&scanner, &self.named_writer()).map(drop)
    }

    /// Returns the session and the actor of the command, else the defaults of the shell.
    pub(crate) fn lane_options(&self) -> LaneOptions {
        let own = self.options.lane.clone();
        match &self.kept {
            Some(kept) if own.session.is_none() && own.actor.is_none() => kept.lane.clone(),
            _ => own,
        }
    }

    /// Returns a command with the options that select the lane and the fork of this one.
    pub(crate) fn lane_command(&self, command: &str) -> String {
        let of_shell = self.kept.as_ref().and_then(|kept| kept.fork.as_ref());
        match self.options.in_fork.as_ref().or(of_shell) {
            Some(fork) => self
                .lane_options()
                .command(&format!("{command} --fork {}", in_quotes(fork))),
            None => self.lane_options().command(command),
        }
    }

    /// Returns the revision to read: the revision of `--at`, else the default of the shell, else that of `TREERING_AT`.
    pub(crate) fn at(&self) -> Option<&str> {
        let default = match &self.kept {
            Some(kept) => kept.at.as_deref(),
            None => self.at_variable.as_deref(),
        };
        self.options.at.as_deref().or(default)
    }

    /// Returns the fork that the verb reads and writes: that of `--fork`, else the default of the shell, else that of
    /// `TREERING_FORK`. `main` is no fork.
    pub(crate) fn fork(&self) -> Option<&str> {
        let default = match &self.kept {
            Some(kept) => kept.fork.as_deref(),
            None => self.fork_variable.as_deref(),
        };
        let named = self.options.in_fork.as_deref().or(default);
        named.filter(|name| *name != MAIN_LINE)
    }

    /// Refuses `--fork`, and ignores `TREERING_FORK` and the fork of the shell, because the verb is about the whole store.
    pub(crate) fn whole_store(&mut self) -> Result<()> {
        self.fork_variable = None;
        if let Some(kept) = &mut self.kept {
            kept.fork = None;
        }
        match self.fork() {
            None => Ok(()),
            Some(_) => Err(Error::invalid(
                "--fork does not apply, because the verb is about the whole store",
            )
            .with_code(ErrorCode::WholeStore)
            .with_hint("omit --fork")),
        }
    }

    /// Takes the revision of `--at`, else of `TREERING_AT`, as the first default of a shell.
    pub(crate) fn take_at(&mut self) -> Option<String> {
        self.options.at.take().or_else(|| self.at_variable.clone())
    }

    /// Refuses to write with `--untrusted-store` (TST-1) or `TREERING_AT` (CLI-10).
    pub(crate) fn check_may_write(&self) -> Result<()> {
        self.options.check_may_write()?;
        match &self.at_variable {
            None => Ok(()),
            Some(at) => Err(Error::denied(
                ErrorCode::ReadOnly,
                format!("{AT_VARIABLE} is set, so verbs only read the state {at}"),
            )
            .with_hint(format!("unset {AT_VARIABLE} to write the store"))),
        }
    }

    /// In a dry run, notes that nothing was changed, and on which state the verb planned. A verb that writes plans on the
    /// head, whatever state other verbs read. It first brings in what an interrupted writer left, which no reader sees.
    pub(crate) fn note_dry_run(&mut self, is_dry: bool) {
        if !is_dry {
            return;
        }
        let pending = self
            .opened
            .as_ref()
            .map_or(0, |memory| memory.pending().unwrap_or(0));
        if pending > 0 {
            let commits = counted(pending, "commit");
            let text = format!(
                "an interrupted writer left {commits} that no reader sees; the next write first brings this in, so its plan may differ"
            );
            self.output.note("pending", text);
        }
        let text = "nothing was changed".to_owned();
        let text = match self.at() {
            Some(at) => format!("{text}; this is the plan on the head, not on the state {at}"),
            None => text,
        };
        self.output.note("dry_run", text);
    }

    /// Makes the verb ignore `TREERING_AT`, because it uses a store of its own.
    pub(crate) fn forget_at(&mut self) {
        self.at_variable = None;
    }

    /// Sets the default revision of the shell to the commit that `revision` names. `@` resets the default to the head.
    pub(crate) fn pin(&mut self, revision: &str) -> Result<()> {
        let memory = self.open_to_read()?;
        let seq = self.view_of(&memory, revision)?.commit().commit.seq;
        if let Some(kept) = &mut self.kept {
            kept.at = (revision != "@").then(|| format!("seq:{seq}"));
        }
        Ok(())
    }

    /// Returns the lane of snapshots and undo.
    pub(crate) fn lane(&self) -> String {
        self.writer().lane().to_owned()
    }

    /// Returns the folder of the store.
    ///
    /// # Errors
    /// `Denied` (code `untrusted_store`) if the user does not trust the store (TST-1).
    pub(crate) fn store(&self) -> Result<PathBuf> {
        let (store, check) = self.found_store()?;
        if !self.options.untrusted_store {
            check(&store)?;
        }
        Ok(store)
    }

    /// Returns the folder of the store without a check of its trust, and the check that it needs.
    pub(crate) fn found_store(&self) -> Result<(PathBuf, Check)> {
        match self.named_store() {
            Some(named) => Ok((named, check_named)),
            None => Self::unnamed_store(),
        }
    }

    /// Returns the folder of the store of a process that starts here without a name of a store, and the check that it needs.
    pub(crate) fn unnamed_store() -> Result<(PathBuf, Check)> {
        if let Some(found) = project_store() {
            return Ok((found, check_found));
        }
        // Without a project store, the verb uses the user's store in the XDG data folder.
        let own = xdg_folder("XDG_DATA_HOME", ".local/share").ok_or_else(|| {
            Error::not_found("cannot find a store: no .treering folder is at or above the current folder, and HOME is not set")
                .with_code(ErrorCode::NoStore)
                .with_hint("name the store with --store DIR")
        })?;
        Ok((own, check_named))
    }

    /// Returns the folder of `--store`, else of `TREERING_STORE`: of the clone if it is the URL of a remote. Returns `None` if
    /// the user named no store.
    pub(crate) fn named_store(&self) -> Option<PathBuf> {
        #[cfg(feature = "remote")]
        if let Some(remote) = &self.remote {
            return Some(remote.store());
        }
        let store = self.options.store.clone();
        store.or_else(|| path_in("TREERING_STORE"))
    }

    /// Returns the engine's options that every verb uses.
    pub(crate) fn engine_options(&self) -> Options {
        let stop = self.stopper();
        let mut options = Options::new().indexes(false).stop(move || stop().is_err());
        if let Some(wait) = self.options.wait {
            options = options.wait(wait);
        }
        #[cfg(feature = "mcp")]
        if self.serves {
            options = options.indexes(true).strict_reversals();
        }
        match self.output.progress() {
            Some(progress) => options.progress(progress),
            None => options,
        }
    }

    /// Returns the engine's options for reading.
    pub(crate) fn reading_options(&self) -> Options {
        let options = self
            .engine_options()
            .read_only(true)
            .degraded(self.options.degraded);
        if self.options.untrusted_store {
            return options.best_origin(Origin::Import);
        }
        options
    }

    /// Opens the store for reading. Takes no lock and writes nothing.
    pub(crate) fn open_to_read(&mut self) -> Result<Memory> {
        let memory = self.open(false, |context, path| context.reading_options().open(path))?;
        if self.kept.is_none() && memory.damage().is_some() {
            let seq = memory.view().commit().commit.seq;
            let text = format!("seq {seq} is the newest state that can be read");
            self.output.warn("degraded", &text);
        }
        Ok(memory)
    }

    /// Opens the store for reading. Returns the memory, and the state of `--at` or of the head.
    pub(crate) fn open_view(&mut self) -> Result<(Memory, View)> {
        let memory = self.open_to_read()?;
        let view = self.view(&memory)?;
        Ok((memory, view))
    }

    /// Opens an existing store for writing.
    pub(crate) fn open_to_write(&mut self) -> Result<Memory> {
        self.open(true, |context, path| context.engine_options().open(path))
    }

    /// Opens an existing store for a verb whose change depends on the newest commits, such as `undo`: for writing, unless it
    /// only plans. Before the verb plans, this takes in the commits of an interrupted writer, and warns of them.
    pub(crate) fn open_to_plan(&mut self, dry_run: bool) -> Result<Memory> {
        if dry_run {
            return self.open_to_read();
        }
        let memory = self.open_to_write()?;
        memory.recover()?;
        self.print_warnings(&memory);
        Ok(memory)
    }

    /// Opens the store for writing, and creates a missing store. Before it creates a store, `rehearse` does the work on
    /// an empty memory in RAM. So a refused write leaves no empty store behind, unless the store must note that the
    /// session read an untrusted text.
    pub(crate) fn open_or_create(&mut self, rehearse: impl FnOnce(&Memory) -> Result<()>) -> Result<Memory> {
        self.open(true, |context, path| {
            match context.engine_options().open(path) {
                Err(error) if error.code() == ErrorCode::NoStore => {}
                opened => return opened,
            }
            refuse_other_folder(path)?;
            if !context.is_foreign() {
                rehearse(&Memory::in_memory()?)?;
            }
            let (memory, created) = context.engine_options().open_or_create(path)?;
            if created {
                let text = format!("created a new store in {}", shown(path));
                context.output.note("store_created", text);
                context.register(path);
                // The first folder of a name gets the project of the name.
                context.project = OnceCell::new();
                context.project();
            }
            Ok(memory)
        })
    }

    /// Returns the open store of the debug shell. Without a shell, opens the store.
    fn open(
        &mut self,
        to_write: bool,
        open: impl FnOnce(&mut Self, &Path) -> Result<Memory>,
    ) -> Result<Memory> {
        self.is_written |= to_write;
        if to_write {
            self.check_may_write()?;
            self.check_writer()?;
        }
        let memory = match &self.kept {
            Some(kept) => {
                if to_write {
                    kept.check_writable()?;
                }
                kept.memory()?.clone()
            }
            None => {
                #[cfg(feature = "remote")]
                let empty = self.refresh_remote()?;
                let path = self.store()?;
                let opened = open(self, &path).map_err(|error| explain(error, &path));
                #[cfg(feature = "remote")]
                let opened = match (opened, empty) {
                    (Err(error), Some(empty)) if error.code() == ErrorCode::NoStore => {
                        Err(empty.with_hint("the first write makes the remote, such as treering put"))
                    }
                    (Ok(memory), Some(_)) => {
                        let cap = self.cap_of_remote(named_cap()?)?;
                        if let Some(remote) = &self.remote {
                            remote.begin(&memory, cap)?;
                            let text = format!("created a new remote at {}", remote.shown());
                            self.output.note("remote_created", text);
                        }
                        Ok(memory)
                    }
                    (opened, _) => opened,
                };
                let memory = opened?;
                self.print_warnings(&memory);
                memory
            }
        };
        // The error for a missing fork names the forks of this memory.
        self.opened = Some(memory.clone());
        let memory = match self.fork() {
            Some(name) => memory.open_fork(name)?,
            None => memory,
        };
        if to_write && self.is_foreign() {
            // The verb can refuse the text only after this (TNT-4).
            let writer = self.named_writer();
            memory.admit(writer.trust, writer.session.as_deref())?;
        }
        self.opened = Some(memory.clone());
        Ok(memory)
    }

    /// Brings the clone of a remote up to date. Returns the error of a remote that is empty: then there is no clone.
    #[cfg(feature = "remote")]
    fn refresh_remote(&mut self) -> Result<Option<Error>> {
        let Some(remote) = self.remote.take() else {
            return Ok(None);
        };
        let access = Access {
            options: self.engine_options(),
            writer: self.named_writer(),
            has_fork: self.fork().is_some(),
        };
        self.output.waits_for(&remote.shown());
        let refreshed = remote.refresh(&access, &mut || self.cap_of_remote(named_cap()?));
        self.remote = Some(remote);
        match refreshed? {
            Refreshed::Ready => Ok(None),
            Refreshed::Empty(error) => Ok(Some(error)),
            Refreshed::Offline(error) => {
                let text = format!("{}; the clone in the cache may be old", error.message());
                self.output.warn("offline", &text);
                Ok(None)
            }
        }
    }

    /// Returns whether the verb writes untrusted texts in a session, which taints the session.
    fn is_foreign(&self) -> bool {
        let writer = self.named_writer();
        !writer.trust.is_trusted() && writer.session.is_some()
    }

    /// Adds the most similar names to an error, as [`with_nearest_name`] does.
    pub(crate) fn with_nearest_name(&self, error: Error) -> Error {
        let kept = self.kept.as_ref().and_then(|kept| kept.memory().ok());
        match self.opened.as_ref().or(kept) {
            Some(memory) => with_nearest_name(error, memory),
            None => error,
        }
    }

    /// Closes the memory that the verb opened.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.note_project();
        let is_written = std::mem::take(&mut self.is_written);
        let Some(memory) = self.opened.take().filter(|_| is_written) else {
            return Ok(());
        };
        self.print_warnings(&memory);
        #[cfg(feature = "remote")]
        let pushed = match &self.remote {
            Some(remote) => remote.push(&memory, &self.named_writer()),
            None => Ok(()),
        };
        memory.close()?;
        #[cfg(feature = "remote")]
        pushed?;
        Ok(())
    }

    /// Returns the current time, from which the output computes ages.
    pub(crate) fn now(&self) -> Time {
        let opened = self.opened.as_ref();
        opened.map_or(Time::from_micros(0), |memory| memory.view().now())
    }

    /// Returns the first digits of a commit's digest or a root: as many as identify it in the open memory, and at least
    /// eight. Of a digest that the memory does not contain, such as one of another line, as many as elsewhere.
    pub(crate) fn short(&self, digest: &[u8; 32]) -> String {
        let mut digits = to_hex(digest);
        let names_it = |length: &usize| {
            let memory = self.opened.as_ref();
            let found =
                memory.map(|memory| memory.resolve(&Revision::Prefix(digits[..*length].to_owned()), ""));
            let is_it =
                |info: CommitInfo| info.digest.as_bytes() == digest || info.commit.root.as_bytes() == digest;
            found.is_some_and(|found| found.is_ok_and(is_it))
        };
        match (DIGITS_LEAST..64).find(names_it) {
            Some(length) => digits.truncate(length),
            None => return short(digest),
        }
        digits
    }

    /// Returns a check for long work that prints nothing. Each call of the check fails once the user stops the command.
    pub(crate) fn stopper(&self) -> impl Fn() -> Result<()> + use<> {
        let stop = self.output.stop();
        move || check_stop(&stop)
    }

    /// Formats a state as the last line of output of a writing verb.
    pub(crate) fn state_line(&self, seq: u64, root: Root) -> String {
        let root = self.output.paint(Meaning::Name, self.short(root.as_bytes()));
        format!("seq {seq}, root {root}")
    }

    /// Adds a store that the run created to the user's trusted stores.
    pub(crate) fn register(&mut self, path: &Path) {
        if self.is_temporary {
            return;
        }
        if let Err(error) = TrustedStores::of_user().and_then(|mut stores| stores.add(path)) {
            let error = error.message();
            let text =
                format!("the new store is not one of your trusted stores: {error}; name it with --store DIR");
            self.output.warn("store_not_registered", &text);
        }
    }

    /// Creates a store. Fails if the folder already contains a store.
    pub(crate) fn create(&mut self, path: &Path, hash: HashAlgorithm) -> Result<Memory> {
        self.check_may_write()?;
        if let Some(kept) = &self.kept {
            kept.check_writable()?;
        }
        let hint = match self.engine_options().read_only(true).open(path) {
            Ok(_) => "use the existing store; treering head shows its state".to_owned(),
            Err(why) if why.is_corruption() && looks_like_store(path) => {
                let store = quoted(path);
                format!(
                    "the store is damaged ({why}); treering doctor --store {store} prints the repair command"
                )
            }
            Err(why) if why.kind() == ErrorKind::UnsupportedFormat => {
                format!("this program cannot open the store ({why})")
            }
            // Either the folder contains no store, or `create` fails with the same error as `open`.
            Err(_) => {
                refuse_other_folder(path)?;
                let created = self.engine_options().hash(hash).create(path);
                let memory = created.map_err(|error| explain(error, path))?;
                self.register(path);
                return Ok(memory);
            }
        };
        let message = format!("{} is already a store", shown(path));
        Err(refused(ErrorCode::StoreExists, message, hint))
    }

    /// Returns the state that `--at` selects, or the state of the head.
    pub(crate) fn view(&self, memory: &Memory) -> Result<View> {
        match self.at() {
            None => Ok(memory.view()),
            Some(at) => memory.view_at(&revision(at, memory, &self.lane())?, &self.lane()),
        }
    }

    /// Opens the memory to read the history of the line that `--at` names a state of.
    pub(crate) fn open_line_to_read(&mut self) -> Result<Memory> {
        let memory = self.open_to_read()?;
        let view = self.view(&memory)?;
        memory.on_line_of(&view)
    }

    /// Parses a revision and returns its commit.
    pub(crate) fn resolve(&self, memory: &Memory, text: &str) -> Result<CommitInfo> {
        memory.resolve(&revision(text, memory, &self.lane())?, &self.lane())
    }

    /// Parses a revision and returns its state.
    pub(crate) fn view_of(&self, memory: &Memory, text: &str) -> Result<View> {
        match revision(text, memory, &self.lane())? {
            Revision::Head => Ok(memory.view()),
            revision => memory.view_at(&revision, &self.lane()),
        }
    }

    /// Prints a note with the number of unreadable objects in a damaged store.
    pub(crate) fn note_unreadable(&mut self, memory: &Memory) {
        let count = memory.unreadable() as u64;
        if count > 0 {
            let text = format!(
                "omitted: {}, whose records are damaged; `treering salvage` recovers earlier versions",
                counted(count, "object")
            );
            self.output.warn("degraded", &text);
        }
    }

    /// Prints the warnings of a memory that were not printed before.
    pub(crate) fn print_warnings(&mut self, memory: &Memory) {
        for warning in memory.warnings() {
            if !self.warned.contains(&warning) {
                self.output.warn("warning", &warning);
                self.warned.push(warning);
            }
        }
    }
}

/// Returns the path in an environment variable, unless the variable is empty.
pub(crate) fn path_in(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// Returns the nearest `.treering` at or above the current folder. The search ends at the first folder of another user,
/// because nothing above it is this user's choice.
fn project_store() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    for folder in here.ancestors() {
        let store = folder.join(PROJECT_FOLDER);
        if store.is_dir() {
            return Some(store);
        }
        if !is_own(folder) {
            return None;
        }
    }
    None
}

/// Returns the absolute path of a store without links. The links of a store that does not exist yet stay.
pub(crate) fn real_path(store: &Path) -> PathBuf {
    let real = store.canonicalize().or_else(|_| std::path::absolute(store));
    real.unwrap_or_else(|_| store.to_owned())
}

/// Returns whether a folder has at least two of the names of a store, even if the store is damaged.
pub(crate) fn looks_like_store(path: &Path) -> bool {
    STORE_NAMES.iter().filter(|name| path.join(name).exists()).count() >= 2
}

/// Refuses to put the files of a store among other files (CLI-4).
pub(crate) fn refuse_other_folder(path: &Path) -> Result<()> {
    let failed = |error| Error::io(format_args!("reading the folder {}", shown(path)), error);
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| explain(failed(error), path))?,
    };
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let belongs =
            STORE_NAMES.iter().any(|known| name == *known) || name.to_string_lossy().ends_with(".tmp");
        if !belongs {
            let message = format!("{} is not a store, but a folder with other files", shown(path));
            let example = shown(&path.join(PROJECT_FOLDER));
            let hint = format!("name an empty or new folder, such as {example}");
            return Err(refused(ErrorCode::NotAStore, message, hint));
        }
    }
    Ok(())
}

/// Adds a hint to the error for a missing store.
pub(crate) fn explain(error: Error, path: &Path) -> Error {
    let is_no_folder = system_kind(&error) == Some(io::ErrorKind::NotADirectory);
    let is_other = |part: &&Path| is_no_folder && part.exists() && !part.is_dir();
    if let Some(file) = path.ancestors().find(is_other) {
        let what = if file.is_file() { "a file" } else { "a device" };
        return Error::not_found(format!("{} is {what}, but a store is a folder", shown(file)))
            .with_code(ErrorCode::NoStore)
            .with_hint("name the folder of a store with --store DIR or TREERING_STORE");
    }
    if error.code() != ErrorCode::NoStore {
        return error;
    }
    let inside = path.join(PROJECT_FOLDER);
    if inside.is_dir() {
        return error.with_hint(format!("did you mean --store {}?", quoted(&inside)));
    }
    error.with_hint("create a store with treering init, or name a store with --store DIR or TREERING_STORE")
}

/// Formats a path for a message.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}
