//! The verbs that open a store, and the functions of the host that an agent calls: an embedder and a judge.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use treering::agent::{Agent, Caller, Embedder, Item, Judge, Judgement, NewItem, Settings, meaning};
use treering::{Durability, Error, ErrorKind, Memory, Options};

use crate::answer::{object, with};
use crate::fault::{Done, Fault};
use crate::handle::{Shared, Store};
use crate::host::{self, NoResult};
use crate::input::{Writer, seconds};
use crate::store::hash_named;
use crate::verbs::Host;

/// The options with which a store is opened.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opening {
    /// The folder. Without it, the store ends with the process.
    #[schemars(skip)]
    path: Option<PathBuf>,
    /// Whether a folder without a store gets a new one. An agent does so without it.
    create: Option<bool>,
    /// Whether there must be no store yet.
    #[schemars(skip)]
    #[serde(default)]
    new: bool,
    #[serde(default)]
    read_only: bool,
    /// Whether a damaged store is opened, to read what is intact.
    #[serde(default)]
    degraded: bool,
    /// The most seconds to wait for the lock. 30 without it.
    wait: Option<f64>,
    /// Whether no other process may open the store meanwhile.
    #[serde(default)]
    exclusive: bool,
    /// Whether the files are mapped into memory. True without it.
    mmap: Option<bool>,
    /// The seconds between two syncs. Without it, each commit is durable when its call returns.
    sync_every: Option<f64>,
    /// Whether old history is thinned from time to time. True without it.
    automatic_gc: Option<bool>,
    /// The hash of a new store: `blake3` or `sha256`.
    hash: Option<String>,
    /// The writer of every call that names no other writer.
    writer: Option<Writer>,
    /// The part of the options that only an agent has.
    #[schemars(skip)]
    agent: Option<OfAgent>,
}

/// The options that only an agent has.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfAgent {
    /// The project. Without it, that of the current folder; an empty text means none.
    project: Option<String>,
    /// The text of a settings file.
    settings: Option<String>,
    /// The name of the embedder, such as the name and version of a model.
    embedder_name: Option<String>,
    /// The number of the function that returns the vector of a text.
    #[schemars(skip)]
    embedder: Option<u32>,
    /// The number of the function that decides how a new text relates to a stored item.
    #[schemars(skip)]
    judge: Option<u32>,
}

impl Opening {
    fn options(&self) -> Done<Options> {
        let mut options = Options::new()
            .hash(hash_named(self.hash.as_deref().unwrap_or("blake3"))?)
            .read_only(self.read_only)
            .degraded(self.degraded)
            .wait(seconds(self.wait.unwrap_or(30.0), "wait")?)
            .exclusive(self.exclusive)
            .map(self.mmap.unwrap_or(true))
            .stop(host::is_asked_to_stop);
        if let Some(every) = self.sync_every {
            options = options.durability(Durability::Interval(seconds(every, "sync_every")?));
        }
        if self.automatic_gc == Some(false) {
            options = options.automatic_gc(None);
        }
        Ok(options)
    }

    fn memory(&self) -> Done<Memory> {
        let options = self.options()?;
        let Some(path) = &self.path else {
            return Ok(Memory::in_memory()?);
        };
        let create = self.create.unwrap_or(self.agent.is_some()) && !self.read_only;
        Ok(match (self.new, create) {
            (true, _) => options.create(path)?,
            (false, true) => options.open_or_create(path)?.0,
            (false, false) => options.open(path)?,
        })
    }
}

pub(crate) fn open(input: Opening, host: Host<'_>) -> Done<Json> {
    let memory = input.memory()?;
    let usual = treering::Writer::of(treering::Origin::Model);
    let writer = input.writer.map_or(usual, Writer::read);
    let Some(of_agent) = input.agent else {
        let caller = Caller::here(writer, memory.path());
        let shared = Shared::new(memory, None);
        return host.store(Store { shared, caller });
    };
    let caller = match of_agent.project {
        None => Caller::here(writer, memory.path()),
        Some(ref project) => Caller {
            project: Some(project.clone()).filter(|project| !project.is_empty()),
            ..Caller::here(writer, None)
        },
    };
    let (agent, note) = agent_of(&memory, of_agent, host)?;
    let shared = Shared::new(memory, Some(agent));
    Ok(with(host.store(Store { shared, caller })?, "note", json!(note)))
}

/// Makes the agent, with the functions of the host. Also returns why a model cannot be used.
fn agent_of(memory: &Memory, given: OfAgent, host: Host<'_>) -> Done<(Agent, Option<String>)> {
    let settings = given
        .settings
        .map_or(Ok(Settings::default()), |text| Settings::from_toml(&text))?;
    let settings = Settings {
        meaning: settings.meaning.clone().or_model_of_environment(),
        ..settings
    };
    let agent = Agent::new(memory.clone(), settings);
    let function = |number| OfHost(Arc::downgrade(host.0), number);
    let (agent, note) = match (given.embedder, given.embedder_name) {
        (Some(embedder), Some(name)) => (agent.with_embedder(&name, Arc::new(function(embedder)))?, None),
        (Some(_), None) => {
            let hint = "give embedder_name, for example the name and version of the model";
            return Err(Fault::invalid("the embedder has no name").hint(hint));
        }
        (None, _) => meaning::with_model(agent),
    };
    Ok(match given.judge {
        Some(judge) => (agent.with_judge(function(judge)), note),
        None => (agent, note),
    })
}

/// A function of an environment, by its number. It ends with its environment.
struct OfHost(Weak<host::Host>, u32);

impl OfHost {
    fn ask(&self, arguments: &Json) -> Result<Json, NoResult> {
        let host = self
            .0
            .upgrade()
            .ok_or_else(|| NoResult::Failed("the thread of the function has ended".to_owned()))?;
        host::ask(&host, self.1, arguments)
    }
}

impl Embedder for OfHost {
    /// Without a vector, recall uses only the words. JavaScript warns about it.
    fn embed(&self, text: &str) -> Vec<f32> {
        let vector = self.ask(&json!([text])).unwrap_or_default();
        serde_json::from_value(vector).unwrap_or_default()
    }
}

impl Judge for OfHost {
    fn judge(&self, old: &Item, new: &NewItem) -> treering::Result<Judgement> {
        let fault = |why: &str| Error::new(ErrorKind::Io, why);
        let old = object(old.object()).map_err(|error| fault(&error.message))?;
        let verdict = self.ask(&json!([old, new.text])).map_err(|why| match why {
            NoResult::Stopped => fault("the call was stopped"),
            NoResult::Failed(why) => fault(&why),
        })?;
        match (&verdict, verdict.as_str()) {
            (Json::Null, _) => Ok(Judgement::Unsure),
            (_, Some("contradiction")) => Ok(Judgement::Contradiction),
            (_, Some("same")) => Ok(Judgement::Same),
            (_, Some("unrelated")) => Ok(Judgement::Unrelated),
            _ => Err(fault(
                "it must return \"contradiction\", \"same\", \"unrelated\" or null",
            )),
        }
    }
}
