//! The bundled model, from outside.
#![allow(missing_docs, reason = "a test has no readers of its documentation")]

use sha2::{Digest, Sha256};
use treering_model::SentenceModel;

fn closeness(a: &str, b: &str) -> f32 {
    let model = SentenceModel::bundled();
    model
        .embed(a)
        .iter()
        .zip(model.embed(b))
        .map(|(a, b)| a * b)
        .sum()
}

/// The files are those that `make.py` writes from the published model.
#[test]
fn the_weights_are_those_of_the_published_model() {
    let files: [(&[u8], &str); 4] = [
        (
            treering_model_table::ORDER,
            "a9f935f69c109898a847ee555d36fa0e8a131a2b3d546d92b84c33e0bb3c7845",
        ),
        (
            treering_model_table::WORDS,
            "2a03969782c892ed6e3231c8c8490021588bfb4344d33e719023192b1d250833",
        ),
        (
            treering_model_table::VOCABULARY.as_bytes(),
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        ),
        (
            treering_model_layers::LAYERS,
            "bd8ba10dfc8b5eb19a0523a889ea06c674dca7a0d85b289e88c5a3f481528e3b",
        ),
    ];
    let hex = |digest: &[u8]| {
        digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    // Another table or vocabulary changes vectors too, so the version depends on every file.
    let mut version = Sha256::new();
    for (bytes, digest) in files {
        let found = Sha256::digest(bytes);
        assert_eq!(hex(&found), digest);
        version.update(found);
    }
    let version = &hex(&version.finalize())[..16];
    assert_eq!(treering_model::BUNDLED_ID, format!("all-MiniLM-L6-v2@{version}"));
}

/// The first numbers of the vectors that the published model has for two texts, computed with ONNX Runtime.
#[test]
fn vectors_are_close_to_those_of_the_published_model() {
    let probes: [(&str, [f32; 6]); 2] = [
        (
            "Deploys happen on Friday at 15:00.",
            [-0.02876, 0.01071, 0.03845, -0.06458, 0.05687, -0.04323],
        ),
        (
            "Unaffable naïve Zürich — 日本!",
            [0.01101, 0.11745, 0.07989, -0.02786, 0.05525, -0.01646],
        ),
    ];
    for (text, expected) in probes {
        let found = SentenceModel::bundled().embed(text);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 0.015, "{text}: {found} {expected}");
        }
    }
}

#[test]
fn a_question_is_closest_to_its_answer() {
    let answers = [
        "Deploys happen on Friday at 15:00.",
        "The cat sleeps on the radiator.",
        "Ada is allergic to peanuts.",
        "The staging database is called heron.",
    ];
    let questions = [
        "When do we ship?",
        "Where does the pet rest?",
        "What food must Ada avoid?",
        "What is the name of the test database?",
    ];
    for (question, answer) in questions.iter().zip(answers) {
        let best = answers
            .into_iter()
            .max_by(|a, b| closeness(question, a).total_cmp(&closeness(question, b)));
        assert_eq!(best, Some(answer), "{question}");
    }
}

#[test]
fn every_text_has_a_vector_of_length_one() {
    for text in [
        "",
        " ",
        "\u{0}",
        "🦀",
        "x",
        &"tea ".repeat(10_000),
        &"x".repeat(100_000),
        "a\u{301}\u{fffd}",
    ] {
        let length: f32 = SentenceModel::bundled()
            .embed(text)
            .iter()
            .map(|part| part * part)
            .sum();
        assert!((length - 1.0).abs() < 1e-4);
    }
}
