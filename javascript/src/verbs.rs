//! The table of the verbs: for each, its class, its name, its first arguments, its input and its answer.
//!
//! JavaScript calls every verb in the same way, with an input of JSON. `generate.mjs` writes the methods from [`schemas`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::answer::{Committed, StoredObject, Written, with};
use crate::fault::{Done, Fault};
use crate::handle::{self, Shared, Store, Thing};
use crate::host;
use crate::{draft, forks, guard, input, items, memory, open, remotes, sessions, shapes, store, view};

/// The environment of a call, which gets the numbers of new handles.
#[derive(Clone, Copy)]
pub(crate) struct Host<'a>(pub(crate) &'a Arc<host::Host>);

impl Host<'_> {
    /// Returns a new handle as JSON.
    pub(crate) fn add(self, thing: Thing) -> Json {
        self.add_to(json!({}), thing)
    }

    fn add_to(self, info: Json, thing: Thing) -> Json {
        with(info, "$handle", Json::from(handle::add(thing, self.0.number)))
    }

    /// Returns a handle of a store, with what does not change while it is open.
    pub(crate) fn store(self, store: Store) -> Done<Json> {
        let info = store::info(&store)?;
        Ok(self.add_to(info, Thing::Store(Arc::new(store))))
    }

    /// Returns a handle of a view, with what it is.
    pub(crate) fn view(self, shared: &Arc<Shared>, view: treering::View) -> Done<Json> {
        let info = view::info(&view)?;
        let shared = Arc::clone(shared);
        Ok(self.add_to(info, Thing::View(Arc::new(handle::View { shared, view }))))
    }
}

/// The input of a verb that needs none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// One verb.
struct Verb {
    /// The class in JavaScript, or `module` for a function that needs no handle.
    class: &'static str,
    name: &'static str,
    /// The fields of the input that are arguments, in their order. One with `?` is optional, and one with `| null` may be null.
    arguments: &'static str,
    /// The type of the answer in TypeScript. Empty if a method that is written by hand makes the call.
    answer: &'static str,
    about: &'static str,
    call: fn(Option<Thing>, &str, Host<'_>) -> Done<String>,
    schema: fn(&mut SchemaGenerator) -> Json,
}

/// Reads the input of a verb.
fn read<T: DeserializeOwned>(text: &str) -> Done<T> {
    serde_json::from_str(text).map_err(|error| {
        let text = error.to_string();
        let what = text
            .rsplit_once(" at line ")
            .map_or(text.as_str(), |(what, _)| what);
        Fault::invalid(what)
    })
}

/// Finds what a handle names, as the class of a verb needs it.
macro_rules! thing {
    (module, $thing:ident) => {
        drop($thing)
    };
    ($class:ident, $thing:ident) => {
        match $thing {
            Some(Thing::$class(thing)) => thing,
            _ => return Err(Fault::closed()),
        }
    };
}

/// Calls the function of a verb.
macro_rules! call {
    (module, $work:path, $thing:ident, $input:ident, $host:ident,) => {
        $work($input)
    };
    (module, $work:path, $thing:ident, $input:ident, $host:ident, host) => {
        $work($input, $host)
    };
    ($class:ident, $work:path, $thing:ident, $input:ident, $host:ident,) => {
        $work(&$thing, $input)
    };
    ($class:ident, $work:path, $thing:ident, $input:ident, $host:ident, host) => {
        $work(&$thing, $input, $host)
    };
}

/// Declares the verbs.
macro_rules! verbs {
    ($($class:literal $of:ident {
        $($about:literal $name:ident($arguments:literal: $input:ty) -> $answer:literal = $work:path $(, $host:ident)?;)*
    })*) => {
        const VERBS: &[Verb] = &[$($(Verb {
            class: $class,
            name: stringify!($name),
            arguments: $arguments,
            answer: $answer,
            about: $about,
            call: |thing, text, host| {
                let thing = thing!($of, thing);
                let input: $input = read(text)?;
                let _ = (&thing, host);
                call!($of, $work, thing, input, host, $($host)?).map(Written::written)
            },
            schema: |generator| generator.subschema_for::<$input>().to_value(),
        },)*)*];
    };
}

verbs! {
    "module" module {
        "" open("": open::Opening) -> "" = open::open, host;
        "Checks a proof about an id against a trusted root. Returns the digest of the object, or null if the state has no such object. Needs no store."
        checkProof("proof, root, id": view::CheckProof) -> "string | null" = view::check_proof;
        "Makes a store in a new folder out of a backup or a remote. Objects that are more trusted than `trust_cap` get its class."
        clone("url, path": remotes::Cloning) -> "Cloned" = remotes::clone;
    }
    "Store" Store {
        "" close("": Nothing) -> "" = store::close;
        "" share("": Nothing) -> "" = store::share, host;
        "" withWriter("": store::WithWriter) -> "" = store::with_writer, host;
        "" withSession("": store::WithSession) -> "" = store::with_session, host;
        "" view("": Nothing) -> "" = store::view, host;
        "" refresh("": Nothing) -> "" = store::refresh, host;
        "" at("": store::AtRevision) -> "" = store::at, host;
        "" fork("": forks::Fork) -> "" = forks::fork, host;
        "" openFork("": forks::OpenFork) -> "" = forks::open_fork, host;
        "" endFork("": forks::EndFork) -> "" = forks::end_fork;
        "" draft("": draft::Begin) -> "" = draft::begin, host;
        "" openDraft("": draft::OpenDraft) -> "" = draft::open, host;
        "" watch("": Nothing) -> "" = store::watch, host;
        "" remote("": remotes::OpenRemote) -> "" = remotes::remote, host;
        "Copies the whole store to a backup. The next call sends only what is new."
        backup("url": remotes::Backup) -> "BackedUp" = remotes::backup;
        "" bisectStates("": store::BisectStates) -> "" = store::bisect_states, host;
        "" get("": store::OfId) -> "" = memory::get;
        "" has("": store::OfId) -> "" = memory::has;
        "Returns the number of objects of the newest state, including expired ones."
        size("": Nothing) -> "number" = store::size;
        "Returns problems that the handle noticed and that lost no data."
        warnings("": Nothing) -> "string[]" = store::warnings;
        "Makes everything written so far durable, if the store was opened with `sync_every`."
        sync("": Nothing) -> "void" = store::sync;
        "Names the newest state. Without a name, the snapshot joins the ring of the lane."
        snapshot("name?": store::Snapshot) -> "Snapshot" = store::snapshot;
        "Returns the snapshots, newest first."
        snapshots("": Nothing) -> "Snapshot[]" = store::snapshots;
        "Deletes a snapshot. The state stays in history."
        deleteSnapshot("name": store::Named) -> "Snapshot" = store::delete_snapshot;
        "Takes back the newest commit of the writer's lane."
        undo("": store::By) -> "Committed" = store::undo;
        "Takes back the newest undo of the writer's lane."
        redo("": store::By) -> "Committed" = store::redo;
        "Returns to an earlier state by a new commit. History stays."
        rollback("revision": store::Rollback) -> "Committed" = store::rollback;
        "Returns the commit to which a rollback would return, and the numbers of added, changed and removed objects."
        rollbackPreview("revision": store::Rollback) -> "RollbackPreview" = store::rollback_preview;
        "Takes back what the selected commits wrote, and keeps the work of everybody else."
        revert("": store::Revert) -> "Reverted" = store::revert;
        "Returns the ids that differ between two states. Without `newer`, compares with the newest state."
        diff("older, newer?": store::Diff) -> "Change[]" = store::diff;
        "Returns the changes of an id, newest first."
        history("id": store::OfId) -> "HistoryEntry[]" = store::history;
        "Returns the kept commits, newest first."
        commits("": store::Limit) -> "Commit[]" = store::commits;
        "Returns each part of an object, with the commit that wrote it."
        blame("id": store::Blame) -> "BlamedPart[]" = store::blame;
        "Returns the text of a reason or a source; a commit has their digests."
        text("digest": store::Text) -> "string" = store::text;
        "Checks the store. With `files_only`, only its files."
        verify("": store::Verify) -> "VerifyReport" = store::verify;
        "Returns the sizes of the store."
        stats("": Nothing) -> "Stats" = store::stats;
        "Returns the forks, sorted by name."
        forks("": Nothing) -> "Fork[]" = forks::forks;
        "Drops a fork, and returns what it was."
        dropFork("name": forks::DropFork) -> "Fork" = forks::drop_fork;
        "Brings in what a fork, or `main`, wrote, in one commit. What one side changed alone is taken. What both changed is merged field by field, and texts line by line. What cannot be decided is left open for `resolve`."
        merge("name": forks::Merge) -> "Merged" = forks::merge;
        "Returns the conflicts that merges left open, sorted by id."
        conflicts("": Nothing) -> "Conflict[]" = forks::conflicts;
        "Decides about an open conflict in one commit: `take` the version of a side, `remove` the object, or keep it with a new `content`."
        resolve("id": forks::Resolve) -> "Committed" = forks::resolve;
        "Deletes a saved draft."
        deleteDraft("name": store::Named) -> "void" = forks::delete_draft;
    }
    "Memory" Store {
        "Stores an object in one commit, which is durable when the promise resolves."
        put("id, content?": memory::Put) -> "Committed" = memory::put;
        "Removes an object in one commit. History keeps it."
        remove("id": memory::Remove) -> "Committed" = memory::remove;
        "Thins history and frees disk space. Each duration is a number of seconds; one that is not given keeps its default."
        gc("": memory::Gc) -> "GcReport" = memory::gc;
        "Erases objects and all their versions from every file of the store, for ever."
        erase("targets": memory::Erase) -> "ErasedReport" = memory::erase;
    }
    "Agent" Store {
        "Stores one statement. Look at `status`: a quarantined text is not in the memory."
        remember("text": items::Remember) -> "Remembered" = items::remember;
        "Stores many items in few commits. An item is a text, or an object with `text` and other fields of `remember`."
        rememberMany("items": items::RememberMany) -> "RememberedMany" = items::remember_many;
        "Finds the items that answer a question, the best first."
        recall("question?": items::Recall) -> "Recalled" = items::recall;
        "Computes the vectors of the items that have none, the newest first. Returns how many items have vectors, or null without a model. Each `recall` does so for 0.3 seconds."
        embed("": items::Embed) -> "VectorCounts | null" = items::embed;
        "Removes items that meet every given condition. History keeps them, and `unforget` restores them."
        forget("ids?": items::Forget) -> "Forgot" = items::forget;
        "Restores forgotten or shortened items. Without ids, the items of the last `forget` or decay."
        unforget("ids?": items::Unforget) -> "Restored" = items::unforget;
        "Returns the forgotten items, the last forgotten first."
        forgotten("": items::Forgotten) -> "Forgotten[]" = items::forgotten;
        "Sets the time at which an item expires; null means never. Returns the commit, or null without a change."
        expire("id, at | null": items::Expire) -> "Commit | null" = items::expire;
        "" decay("": items::Decay) -> "" = items::decay, host;
        "Finds the commit that changed the first answer to a question. With `expect`, an answer without it is bad."
        bisect("question, good, bad?": items::Bisect) -> "BisectedAnswer" = items::bisect;
        "Returns the scope of a new item, and the scopes that a call reads if it names no others."
        scopes("": Nothing) -> "Scopes" = items::scopes;
        "Runs the checks of a policy on a draft. Changes nothing."
        check("draft": guard::Check) -> "Report" = guard::check;
        "Returns the changes that wait for a person, newest first."
        quarantined("": guard::InScopes) -> "Quarantined[]" = guard::quarantined;
        "Commits a quarantined change because a person decided so. The writer must be a person."
        release("name": store::Named) -> "Committed" = guard::release;
        "Drops a quarantined change."
        discard("name": store::Named) -> "void" = guard::discard;
        "Returns what takes effect if a person promotes an item."
        review("id": guard::Review) -> "Review" = guard::review;
        "Raises an item to the class of the writer, who must be a person. `expected` is the digest that was reviewed."
        promote("id, expected": guard::Promote) -> "Promoted" = guard::promote;
        "Writes a note of the session."
        writeNote("text": sessions::WriteNote) -> "NoteWritten" = sessions::write_note;
        "Returns a note, or null."
        readNote("id": sessions::OfNote) -> "Note | null" = sessions::read_note;
        "Returns the notes of a scope, newest first."
        notes("": sessions::Notes) -> "Note[]" = sessions::notes;
        "Returns the notes that match a query, the best first."
        searchNotes("query": sessions::SearchNotes) -> "NoteFound[]" = sessions::search_notes;
        "Deletes a note. Returns whether there was one."
        deleteNote("id": sessions::OfNote) -> "boolean" = sessions::delete_note;
        "Appends to the transcript of a session. An entry is a text, or an object with its fields."
        append("entries": sessions::AppendIn) -> "Appended" = sessions::append;
        "Returns the entries of a session, in their order."
        entries("session?": sessions::Entries) -> "StoredObject[]" = sessions::entries;
        "Renders what a prompt needs to know, escaped and within a budget of tokens."
        envelope("query?": sessions::Envelope) -> "Envelope" = sessions::envelope;
    }
    "View" View {
        "" withNow("": view::WithNow) -> "" = view::with_now, host;
        "Returns an object, or null."
        get("id": store::OfId) -> "StoredObject | null" = view::get;
        "Returns whether the state has an object."
        has("id": store::OfId) -> "boolean" = view::has;
        "Returns the object of each id, or null. Several times as fast as one `get` after the other."
        getAll("ids": view::OfIds) -> "(StoredObject | null)[]" = view::get_all;
        "Returns the objects that meet every given condition, sorted by id, or by position below a parent."
        query("": view::Find) -> "StoredObject[]" = view::query;
        "Returns the ids of the children of an object, in their order."
        children("id": view::Children) -> "string[]" = view::children;
        "Returns the ids of all objects, sorted."
        ids("": Nothing) -> "string[]" = view::ids_of;
        "Returns a proof, as hexadecimal digits, that this state has a certain version of an id, or none. `checkProof` checks it."
        prove("id": store::OfId) -> "string" = view::prove;
    }
    "Draft" Draft {
        "Stages an object. Returns whether it is `created`, `updated` or `unchanged`."
        put("id, content?": memory::ObjectIn) -> "Staged" = draft::put;
        "Stages an item of the agent, as `remember` would store it, without the search for duplicates."
        putItem("text": draft::PutItem) -> "Staged" = draft::put_item;
        "Stages the removal of an object. Returns the number of removed objects."
        remove("id": draft::Remove) -> "number" = draft::remove;
        "Stages the version that an object has in another state. Returns whether this changes anything."
        restore("id, from": draft::Restore) -> "boolean" = draft::restore;
        "Makes the commit fail if the object has another version by then. Null means that the object must be absent."
        expect("id, version": draft::Expect) -> "void" = draft::expect;
        "Returns the object as it would be after the commit, or null."
        get("id": store::OfId) -> "StoredObject | null" = draft::get;
        "Returns the staged changes, sorted by id."
        changes("": Nothing) -> "Change[]" = draft::changes;
        "" base("": Nothing) -> "" = draft::base, host;
        "" freeze("": Nothing) -> "" = draft::freeze;
        "" commit("": draft::Commit) -> "" = draft::commit;
        "" quarantine("": draft::Broken) -> "" = draft::quarantine;
        "Saves the staged changes under a name, for another process or a later time, and finishes the draft."
        save("name": draft::Save) -> "void" = draft::save;
        "Drops the staged changes. A second call does nothing."
        discard("": Nothing) -> "void" = draft::discard;
        "Returns whether the draft was committed or discarded."
        finished("": Nothing) -> "boolean" = draft::finished;
    }
    "Remote" Remote {
        "Sends the commits of the main line that the remote lacks. If the remote has commits that were not pulled, it is a `ConflictError` with the code `remote_ahead`."
        push("": store::By) -> "Pushed" = remotes::push;
        "Takes in what others pushed. Merges nothing: it can be read at the revision `remote:NAME/main`."
        fetch("": store::By) -> "Fetched" = remotes::fetch;
        "Takes in what others pushed, and merges it. What cannot be decided is left open, unless `strategy` decides."
        pull("": remotes::Pull) -> "Pulled" = remotes::pull;
        "Pulls, then pushes. If another machine pushed meanwhile, does both again. Conflicts are left open."
        sync("": store::By) -> "Synced" = remotes::sync;
    }
    "Watch" Watch {
        "" poll("": Nothing) -> "" = store::poll;
    }
}

/// Calls a verb. The answer is a text of JSON with `value` or `error`.
pub(crate) fn call(class: &str, name: &str, thing: Option<Thing>, input: &str, host: Host<'_>) -> String {
    let done = catch_unwind(AssertUnwindSafe(|| {
        let verb = VERBS.iter().find(|verb| verb.name == name && verb.class == class);
        let verb = verb.ok_or_else(|| Fault::invalid(format!("there is no verb `{class}.{name}`")))?;
        (verb.call)(thing, input, host)
    }));
    let done = done.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Fault::panicked(text.unwrap_or("no message")))
    });
    match done {
        Ok(value) => format!("{{\"value\":{value}}}"),
        Err(fault) => json!({ "error": fault }).to_string(),
    }
}

/// Returns the answer of a call that was stopped before it began.
pub(crate) fn stopped() -> String {
    let fault = Fault::new("Io", "interrupted", "the call was stopped before it began");
    json!({ "error": fault }).to_string()
}

/// Returns the schemas of all inputs and answers, with the table of the verbs.
pub(crate) fn schemas() -> String {
    let mut inputs = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let verbs = VERBS.iter().map(|verb| {
        json!({
            "class": verb.class,
            "name": verb.name,
            "arguments": verb.arguments,
            "answer": verb.answer,
            "about": verb.about,
            "input": (verb.schema)(&mut inputs),
        })
    });
    let verbs: Vec<_> = verbs.collect();
    let opening = inputs.subschema_for::<open::OfAgent>();
    let writer = inputs.subschema_for::<input::Writer>();
    let mut own = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let own_classes = json!({
        "StoredObject": own.subschema_for::<StoredObject>(),
        "Committed": own.subschema_for::<Committed<'_>>(),
    });
    json!({
        "verbs": verbs,
        "inputs": { "classes": { "OfAgent": opening, "Writer": writer }, "$defs": inputs.take_definitions(true) },
        "answers": serde_json::from_str::<Json>(&shapes::schemas()).unwrap_or_default(),
        "own": { "classes": own_classes, "$defs": own.take_definitions(true) },
    })
    .to_string()
}
