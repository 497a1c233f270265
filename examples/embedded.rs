//! Recall with vectors from another program. Reads questions from standard input and prints hits, like `treering
//! recall` with `--queries`.
//!
//! `cargo run --release --example embedded STORE PROGRAM [ARGUMENT]... < queries.jsonl`
//!
//! The other program reads one text from each line, as a JSON string. It prints the vector of the text as a JSON array
//! of numbers. Questions are lines `{"qid","query","scope"?,"now"?}`, with `now` in RFC 3339. Results are lines
//! `{"qid","hits":[{"id","confidence"}],"ms"}`.
#![expect(clippy::print_stdout, reason = "the program prints its results")]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use treering::agent::{Agent, Embedder, Reach, RecallQuery, Settings};
use treering::{Options, Scope, Time};

/// The number of hits for a question.
const LIMIT: usize = 100;

/// A running program that returns a vector for each line of text.
struct Program(Mutex<(ChildStdin, BufReader<ChildStdout>)>);

impl Program {
    fn start(program: &str, arguments: &[String]) -> Result<(Self, Child), Box<dyn Error>> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or("the program has no pipes")?;
        Ok((Self(Mutex::new((input, BufReader::new(output)))), child))
    }

    fn ask(&self, text: &str) -> Result<Vec<f32>, Box<dyn Error>> {
        let mut pipes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (input, output) = &mut *pipes;
        writeln!(input, "{}", Value::from(text))?;
        input.flush()?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Embedder for Program {
    /// Returns the vector of a text. Returns an empty vector if the program fails; recall can still find the text by
    /// its words.
    fn embed(&self, text: &str) -> Vec<f32> {
        self.ask(text).unwrap_or_default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, program, rest @ ..] = arguments.as_slice() else {
        return Err("usage: embedded STORE PROGRAM [ARGUMENT]...".into());
    };
    let (embedder, mut child) = Program::start(program, rest)?;
    let memory = Options::new().read_only(true).open(store)?;
    let agent = Agent::new(memory, Settings::default()).with_embedder(program, Arc::new(embedder))?;
    let view = agent.memory().view();
    // Loads the index first, so that the time of the first question does not include it.
    drop(agent.recall(&view, &RecallQuery::new("warm", Reach::All).without_touch())?);
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let reach = match asked["scope"].as_str() {
            Some(scope) => Reach::Scopes(vec![Scope::new(scope)?]),
            None => Reach::All,
        };
        let now = asked["now"].as_str().map(str::parse::<Time>).transpose()?;
        let view = now.map_or_else(|| view.clone(), |now| view.clone().with_now(now));
        let query = RecallQuery::new(asked["query"].as_str().unwrap_or_default(), reach)
            .limit(LIMIT)
            .without_touch();
        let start = Instant::now();
        let recalled = agent.recall(&view, &query)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let hits = recalled.hits.iter();
        let hits: Vec<Value> = hits
            .map(|hit| json!({ "id": hit.id.as_str(), "confidence": hit.confidence }))
            .collect();
        println!("{}", json!({ "qid": asked["qid"], "hits": hits, "ms": ms }));
    }
    drop(agent);
    child.wait()?;
    Ok(())
}
