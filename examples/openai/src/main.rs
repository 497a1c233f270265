//! The turns of `examples/agent_loop` with a real model: any server that speaks the chat completions of OpenAI.
//!
//! `cargo run --release --manifest-path examples/openai/Cargo.toml -- --model NAME [--base-url URL] [--store FOLDER] QUESTION...`
//!
//! The environment variable `OPENAI_API_KEY` has the key; a local server may need none. Each question is one turn.

#[path = "../../agent_loop/turn.rs"]
mod turn;

use std::error::Error;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use treering::Options;
use treering::agent::{Agent, Settings};
use turn::{Model, Turn, turn};

const USAGE: &str = "usage: --model NAME [--base-url URL] [--store FOLDER] QUESTION...";

/// A model behind HTTP.
struct OpenAi {
    agent: ureq::Agent,
    base_url: String,
    key: Option<String>,
    model: String,
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.model
    }

    fn answer(&mut self, instructions: &str, message: &str) -> Result<String, Box<dyn Error>> {
        let body = json!({
            "model": self.model,
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "system", "content": instructions},
                {"role": "user", "content": message},
            ],
        });
        let mut request = self.agent.post(format!("{}/chat/completions", self.base_url));
        if let Some(key) = &self.key {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        let completion: Completion = request.send_json(&body)?.body_mut().read_json()?;
        let choice = completion.choices.into_iter().next();
        choice
            .and_then(|choice| choice.message.content)
            .ok_or_else(|| "the model gave no text".into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut model, mut store, mut questions) = (None, "memory".to_owned(), Vec::new());
    let mut base_url = "https://api.openai.com/v1".to_owned();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--model" => model = arguments.next(),
            "--base-url" => base_url = arguments.next().ok_or(USAGE)?,
            "--store" => store = arguments.next().ok_or(USAGE)?,
            _ if argument.starts_with("--") => return Err(USAGE.into()),
            _ => questions.push(argument),
        }
    }
    let timeout = Some(Duration::from_secs(120));
    let mut model = OpenAi {
        agent: ureq::Agent::config_builder()
            .timeout_global(timeout)
            .build()
            .into(),
        base_url: base_url.trim_end_matches('/').to_owned(),
        key: std::env::var("OPENAI_API_KEY").ok(),
        model: model.filter(|_| !questions.is_empty()).ok_or(USAGE)?,
    };
    let (memory, _) = Options::new().open_or_create(&store)?;
    let agent = Agent::new(memory, Settings::default());
    for question in &questions {
        match turn(&agent, &mut model, "openai-example", question, &mut |line| {
            println!("  {line}")
        })? {
            Turn::Kept(said) => println!("{said}"),
            Turn::GivenUp => println!("the turn is given up, and the memory is as it was before"),
        }
    }
    agent.close()?;
    Ok(())
}
