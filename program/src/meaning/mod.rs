//! Interim.
use std::sync::Arc;
use treering::agent::{Agent, Embedder};

struct Bundled;
impl Embedder for Bundled {
    fn embed(&self, text: &str) -> Vec<f32> {
        treering_model::SentenceModel::bundled().embed(text).to_vec()
    }
}
pub(crate) fn equip(agent: Agent) -> Agent {
    if std::env::var_os("TREERING_NOMODEL").is_some() {
        return agent;
    }
    agent
        .clone()
        .with_embedder("minilm", Arc::new(Bundled))
        .unwrap_or(agent)
}
