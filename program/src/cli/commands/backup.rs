//! `backup` copies a store to a bucket, and `clone` makes a store of a backup or a remote.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::cli::cached_remote::folder_above;
use crate::cli::remote_keys;
use crate::cli::remotes::{ORIGIN, RemoteEntry, Remotes, check_scheme};
use treering::inspect::remote::without_password;
use treering::remote::{self, BackedUp, Cloned, Keys, Remote};
#[cfg(feature = "signed")]
use treering::signed::VerifierKey;

/// Copy the store to a backup
///
/// The backup has everything: all forks, snapshots, drafts and the whole history. The next run sends only what is new.
/// Others may write meanwhile. treering clone restores it.
///
/// # Notes
/// The place is a folder of its own, as a URL with the scheme file, or a schema in PostgreSQL. Object storage (s3, gs, az)
/// needs a build with the feature remote-cloud. After gc or erase, the next run replaces the backup and removes the old
/// files. The folder can be read as a store: treering --store FOLDER get ID. No verb writes to it.
///
/// # Examples
/// ```text
/// treering backup file:///mnt/disk/agent
/// treering clone file:///mnt/disk/agent restored --trust-cap direct_user
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Backup {
    /// The place of the backup
    url: String,
    /// Encrypt with the key in this file; treering remote keygen makes it
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl Verb for Backup {
    const ANSWERS: &'static [Form] = &[form::<BackedUp>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        let memory = context.open_to_read()?;
        let keys = remote_keys::load_if(self.key_file.as_ref())?;
        context.output.waits_for(&self.url);
        if let Some(above) = folder_above(&self.url).filter(|above| !above.exists()) {
            let text = format!("the folder {} does not exist", shown(&above));
            return Err(Error::new(ErrorKind::Io, text)
                .with_code(ErrorCode::RemoteUnreachable)
                .with_hint("mount its disk, or make the folder"));
        }
        let done = remote::backup_with(&memory, &self.url, keys.as_ref())?;
        let sent = match done.commits {
            0 if done.bytes == 0 => "the backup has everything already".to_owned(),
            commits => format!("sent {}, {}", counted(commits, "commit"), bytes(done.bytes)),
        };
        context.say(&done, format_args!("{sent}; {}", one_line(&done.url)))
    }
}

/// Make a store of a backup
///
/// Also of a remote: then the new store can push and pull at once, and the remote has the name origin.
///
/// # Notes
/// DIR must not exist, or be empty. Objects get at most the class --trust-cap, in one commit. A call that was interrupted
/// goes on where it stopped.
///
/// # Examples
/// ```text
/// treering clone file:///mnt/disk/agent restored --trust-cap direct_user
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Clone {
    /// The place of the backup or remote
    url: String,
    /// The folder of the new store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The most trusted class of what it has [default: asked for; import without a terminal]
    #[arg(long, value_name = "CLASS", value_parser = Origin::from_text)]
    trust_cap: Option<Origin>,
    /// Make the store only if this verifier key signed the remote, and demand that later; may be repeated
    #[cfg(feature = "signed")]
    #[arg(long, value_name = "VKEY")]
    signed_by: Vec<VerifierKey>,
    /// The key file of an encrypted place
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl Verb for Clone {
    const ANSWERS: &'static [Form] = &[form::<Cloned>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        context.options.check_may_write()?;
        check_scheme(&self.url)?;
        let cap = context.cap_of_remote(self.trust_cap)?;
        let keys = remote_keys::load_if(self.key_file.as_ref())?;
        let options = context.engine_options();
        context.output.waits_for(&self.url);
        let remote = self.open(cap, keys.as_ref())?;
        let (memory, cloned) = remote.clone_to(&self.folder, &options, &|instance| {
            let entry = RemoteEntry::new(ORIGIN, &without_password(&self.url), cap);
            let entry = entry.encrypted(self.key_file.as_deref())?;
            #[cfg(feature = "signed")]
            let entry = entry.with_keys(&self.signed_by, None);
            Remotes::of_store(&instance)?.replace(entry)
        })?;
        context.register(&self.folder);
        let (objects, commits) = (
            counted(cloned.objects, "object"),
            counted(cloned.commits, "commit"),
        );
        let text = format!("cloned {objects}, {commits} into {}", shown(&self.folder));
        context.say(&cloned, text)?;
        memory.close()?;
        Ok(DONE)
    }
}

impl Clone {
    fn open(&self, cap: Origin, keys: Option<&Keys>) -> Result<Remote> {
        remote::check_apart(&self.url, &self.folder)?;
        let remote = Remote::open(ORIGIN, &self.url, cap)?;
        #[cfg(feature = "signed")]
        let remote = remote.signed_by(self.signed_by.clone());
        Ok(match keys {
            Some(keys) => remote.with_keys(keys),
            None => remote,
        })
    }
}

impl Context {
    /// Returns the most trusted class of what comes from a remote: the given one, or what the person at the terminal says.
    pub(in crate::cli) fn cap_of_remote(&mut self, given: Option<Origin>) -> Result<Origin> {
        if let Some(given) = given {
            return Ok(given);
        }
        if !self.output.can_ask() {
            return Ok(Origin::Import);
        }
        let question =
            "who writes there? direct_user: only you; model: your agents; import: others (--trust-cap)";
        let typed = self.output.ask(question)?;
        if typed.is_empty() {
            Ok(Origin::Import)
        } else {
            Origin::from_text(&typed)
        }
    }
}
