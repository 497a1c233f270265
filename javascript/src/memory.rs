//! The verbs of the engine alone: objects as they are, without the scan and the verbs of an agent.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use treering::NewObject;
use treering::upkeep::{Erasing, Retention};

use crate::answer::{answer, committed, maybe_object};
use crate::fault::{Done, Fault};
use crate::handle::Store;
use crate::input::{
    AnyAttributes, Moment, Texts, Writer, attributes, digests, id, kind, position, scope, seconds, texts,
    time,
};
use crate::shapes as shape;
use crate::store::OfId;

/// Declares the fields of an object to put, and more fields.
macro_rules! object_fields {
    ($name:ident { $($more:ident: $type:ty,)* }) => {
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            id: String,
            /// The text.
            content: Option<String>,
            /// `fact` without it.
            kind: Option<String>,
            scope: Option<String>,
            /// The id of the parent.
            parent: Option<String>,
            /// The position among the siblings.
            position: Option<String>,
            attributes: Option<AnyAttributes>,
            /// The time of the event that the object describes.
            event_time: Option<Moment>,
            /// The time from which on the object is hidden.
            expires: Option<Moment>,
            /// The digests of the versions from which the object is derived.
            derived_from: Option<Texts>,
            $($more: $type,)*
        }

        impl $name {
            pub(crate) fn read(self) -> Done<NewObject> {
                let mut object = NewObject::new(id(&self.id)?, kind(self.kind.as_deref().unwrap_or("fact"))?);
                object.content = self.content;
                if let Some(name) = self.scope {
                    object.scope = scope(&name)?;
                }
                object.parent = self.parent.map(|name| id(&name)).transpose()?;
                object.position = self.position.map(|text| position(&text)).transpose()?;
                object.attributes = attributes(self.attributes);
                object.event_time = time(self.event_time);
                object.expires = time(self.expires);
                object.derived_from = digests(&texts(self.derived_from))?;
                Ok(object)
            }
        }
    };
}

object_fields!(ObjectIn {});
object_fields!(Put {
    writer: Option<Writer>,
});

pub(crate) fn put(store: &Store, mut input: Put) -> Done<Json> {
    let writer = Writer::or(input.writer.take(), store);
    committed(&store.memory()?.put(input.read()?, &writer)?)
}

pub(crate) fn get(store: &Store, input: OfId) -> Done<Json> {
    maybe_object(store.memory()?.view().get(&id(&input.id)?)?)
}

pub(crate) fn has(store: &Store, input: OfId) -> Done<Json> {
    Ok(Json::from(store.memory()?.view().contains(&id(&input.id)?)?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remove {
    id: String,
    /// Whether everything below the object goes, too.
    #[serde(default)]
    recursive: bool,
    writer: Option<Writer>,
}

pub(crate) fn remove(store: &Store, input: Remove) -> Done<Json> {
    let (memory, id, writer) = (store.memory()?, id(&input.id)?, Writer::or(input.writer, store));
    committed(&match input.recursive {
        true => memory.remove_recursive(&id, &writer)?,
        false => memory.remove(&id, &writer)?,
    })
}

/// Each duration is a number of seconds; one that is not given keeps its default.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gc {
    keep_all: Option<f64>,
    hourly: Option<f64>,
    daily: Option<f64>,
    weekly: Option<f64>,
    forgotten: Option<f64>,
    /// The number of newest commits that stay in any case.
    newest: Option<u64>,
    now: Option<Moment>,
    #[serde(default)]
    dry_run: bool,
}

pub(crate) fn gc(store: &Store, input: Gc) -> Done<Json> {
    let mut retention = Retention::default();
    let set = |duration: &mut Duration, given: Option<f64>, what: &str| -> Done<()> {
        if let Some(given) = given {
            *duration = seconds(given, what)?;
        }
        Ok(())
    };
    set(&mut retention.all, input.keep_all, "keep_all")?;
    set(&mut retention.hourly, input.hourly, "hourly")?;
    set(&mut retention.daily, input.daily, "daily")?;
    set(&mut retention.weekly, input.weekly, "weekly")?;
    set(&mut retention.forgotten, input.forgotten, "forgotten")?;
    retention.newest = input.newest.unwrap_or(retention.newest);
    let (memory, now) = (store.memory()?, time(input.now));
    answer(&match input.dry_run {
        true => memory.gc_preview(&retention, now)?,
        false => memory.gc(&retention, now)?,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Erase {
    /// Ids or digests.
    targets: Texts,
    /// Whether other versions with the same content go, too.
    #[serde(default)]
    everywhere: bool,
    /// Whether what was derived from the objects goes, too.
    #[serde(default)]
    derived: bool,
    #[serde(default)]
    dry_run: bool,
    writer: Option<Writer>,
}

pub(crate) fn erase(store: &Store, input: Erase) -> Done<Json> {
    if input.targets.0.is_empty() {
        return Err(Fault::invalid("nothing to erase is named").hint("give ids or digests"));
    }
    let erasing = Erasing {
        targets: input.targets.0,
        everywhere: input.everywhere,
        derived: input.derived,
    };
    let (memory, writer) = (store.memory()?, Writer::or(input.writer, store));
    let report = match input.dry_run {
        true => memory.erase_preview(&erasing)?,
        false => memory.erase(&erasing, &writer)?,
    };
    answer(&shape::ErasedReport::from(&report))
}
