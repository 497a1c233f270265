//! The verbs of backups, clones and remotes.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use treering::{Options, Origin};

use crate::answer::{answer, with};
use crate::fault::Done;
use crate::forks::{Decides, strategies};
use crate::handle::{Remote, Store, Thing};
use crate::host;
use crate::input::{Trust, Writer};
use crate::shapes as shape;
use crate::store::By;
use crate::verbs::Host;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenRemote {
    /// Such as `file:///mnt/shared`.
    url: String,
    /// `origin` without it.
    name: Option<String>,
    /// The most trusted class of what comes from the remote. `import` without it.
    trust_cap: Option<Trust>,
    /// Whether a missing folder is made.
    #[serde(default)]
    create: bool,
    writer: Option<Writer>,
}

pub(crate) fn remote(store: &Store, input: OpenRemote, host: Host<'_>) -> Done<Json> {
    store.memory()?;
    let cap = input.trust_cap.map_or(Origin::Import, |cap| cap.0);
    let name = input.name.as_deref().unwrap_or("origin");
    let remote = match input.create {
        true => treering::remote::Remote::create(name, &input.url, cap)?,
        false => treering::remote::Remote::open(name, &input.url, cap)?,
    };
    let store = store.with_writer(Writer::or(input.writer, store));
    let made = host.add(Thing::Remote(Arc::new(Remote { store, remote })));
    Ok(with(made, "name", json!(name)))
}

pub(crate) fn push(remote: &Remote, input: By) -> Done<Json> {
    let (store, writer) = remote.by(input);
    answer(&remote.remote.push(&store.memory()?, &writer)?)
}

pub(crate) fn fetch(remote: &Remote, input: By) -> Done<Json> {
    let (store, writer) = remote.by(input);
    answer(&remote.remote.fetch(&store.memory()?, &writer)?)
}

pub(crate) fn sync(remote: &Remote, input: By) -> Done<Json> {
    let (store, writer) = remote.by(input);
    answer(&shape::Synced::from(
        &remote.remote.sync(&store.memory()?, &writer)?,
    ))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pull {
    /// Who decides what both sides changed. Without it, that is left open.
    #[schemars(schema_with = "strategies")]
    #[serde(default)]
    strategy: Option<Decides>,
    writer: Option<Writer>,
}

pub(crate) fn pull(remote: &Remote, input: Pull) -> Done<Json> {
    let writer = Writer::or(input.writer, &remote.store);
    let strategy = input.strategy.map(|strategy| strategy.0);
    let pulled = remote
        .remote
        .pull_by(&remote.store.memory()?, &writer, strategy)?;
    answer(&shape::Pulled::from(&pulled))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Backup {
    url: String,
}

pub(crate) fn backup(store: &Store, input: Backup) -> Done<Json> {
    answer(&treering::remote::backup(&store.memory()?, &input.url)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cloning {
    url: String,
    /// The new folder.
    path: PathBuf,
    /// The most trusted class that anything in the new store gets. `import` without it.
    trust_cap: Option<Trust>,
}

pub(crate) fn clone(input: Cloning) -> Done<Json> {
    let cap = input.trust_cap.map_or(Origin::Import, |cap| cap.0);
    let options = Options::new().stop(host::is_asked_to_stop);
    let (memory, cloned) = treering::remote::clone(&input.url, &input.path, cap, &options)?;
    memory.close()?;
    answer(&cloned)
}
