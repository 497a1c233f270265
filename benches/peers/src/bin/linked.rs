//! Treering as a linked library, for servers.py. Reads calls as JSON lines from standard input, and prints `ok` after
//! each.
//!
//! `linked STORE` creates the store. A call is `{"remember": [{"id", "text"}]}` or `{"recall": "query"}`.

use std::error::Error;
use std::io::{BufRead, Write};

use serde_json::Value;
use treering::agent::{Agent, LinesOptions, NewItem, Reach, RecallQuery, RememberOptions, Settings};
use treering::{Id, Memory, Writer};

/// The number of hits of a recall.
const LIMIT: usize = 10;

fn remember(agent: &Agent, items: &[Value]) -> Result<(), Box<dyn Error>> {
    let writer = Writer::user();
    if let [item] = items {
        let text = item["text"].as_str().ok_or("an item has a text")?;
        let id = item["id"].as_str().ok_or("an item has an id")?;
        let item = NewItem {
            id: Some(Id::new(id)?),
            ..NewItem::new(text)
        };
        let remembered = agent.remember(item, &RememberOptions::default(), &writer)?;
        assert!(remembered.digest.is_some(), "the item is stored");
        return Ok(());
    }
    let lines = (1..)
        .zip(items)
        .map(|(number, item)| Ok((number, item.to_string().into_bytes())));
    let remembered = agent.remember_lines(lines, &LinesOptions::default(), &writer)?;
    assert_eq!(remembered.stored, items.len() as u64, "all items are stored");
    Ok(())
}

fn recall(agent: &Agent, query: &str) -> Result<(), Box<dyn Error>> {
    let query = RecallQuery::new(query, Reach::All).limit(LIMIT);
    let recalled = agent.recall(&agent.memory().view(), &query)?;
    assert!(!recalled.hits.is_empty(), "a memory is found");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let store = std::env::args().nth(1).ok_or("name the store")?;
    let agent = Agent::new(Memory::create(store)?, Settings::default());
    for line in std::io::stdin().lock().lines() {
        let call: Value = serde_json::from_str(&line?)?;
        match (&call["remember"], &call["recall"]) {
            (Value::Array(items), _) => remember(&agent, items)?,
            (_, Value::String(query)) => recall(&agent, query)?,
            _ => return Err("a call is `remember` or `recall`".into()),
        }
        println!("ok");
        std::io::stdout().flush()?;
    }
    Ok(())
}
