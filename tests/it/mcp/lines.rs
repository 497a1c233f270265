//! Lines that are not messages: each is answered by an error, and the server goes on.

use std::collections::HashMap;
use std::io::Write as _;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Client, Folder};

/// The number of malformed lines.
const LINES: u64 = 10_000;

/// A generator of numbers that repeats its sequence.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Returns a malformed line. If it has an id, the answer has the id.
fn malformed(numbers: &mut Numbers, id: u64) -> (Vec<u8>, Option<u64>) {
    let call = json!({ "name": "memory_recall", "arguments": { "query": "tea \u{1F375}" } });
    let good = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call });
    let odd = [
        json!(null),
        json!(7),
        json!(1.5),
        json!([]),
        json!("x"),
        json!(true),
    ];
    let with = |field: &str, value: Value| {
        let mut message = good.clone();
        message[field] = value;
        message.to_string().into_bytes()
    };
    match numbers.below(12) {
        0 => {
            // A cut within a character is a cut, too.
            let mut line = good.to_string().into_bytes();
            line.truncate(1 + numbers.below(line.len() - 1));
            (line, None)
        }
        1 => {
            let mut line: Vec<u8> = (0..=numbers.below(300))
                .map(|_| numbers.below(256) as u8)
                .collect();
            line.retain(|byte| *byte != b'\n');
            line.insert(0, b'}');
            (line, None)
        }
        2 => (with("jsonrpc", odd[numbers.below(6)].clone()), Some(id)),
        3 => (with("method", odd[numbers.below(4)].clone()), Some(id)),
        4 => (
            with(
                "id",
                [json!({}), json!([]), json!(1.5), json!(true), json!(null)][numbers.below(5)].clone(),
            ),
            None,
        ),
        5 => (with("params", odd[1 + numbers.below(5)].clone()), Some(id)),
        6 => (
            with("method", json!(format!("tools/{}", numbers.below(1000)))),
            Some(id),
        ),
        7 => (with("params", json!({ "name": odd[numbers.below(4)] })), Some(id)),
        8 => (
            with(
                "params",
                json!({ "name": "memory_recall", "arguments": odd[1 + numbers.below(5)] }),
            ),
            Some(id),
        ),
        9 => (b"[]".to_vec(), None),
        10 => (vec![b'['; 1 + numbers.below(2_000)], None),
        _ => (odd[numbers.below(6)].to_string().into_bytes(), None),
    }
}

/// INVARIANT MCT-2: each line of the input that is no message is answered by an error, and the server goes on.
#[test]
fn ten_thousand_malformed_lines_get_an_error_each() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    let mut numbers = Numbers(0x5EED_0021);
    let mut wanted: HashMap<Option<u64>, u64> = HashMap::new();
    let mut lines = Vec::new();
    for id in 1_000..1_000 + LINES {
        let (line, answered) = malformed(&mut numbers, id);
        *wanted.entry(answered).or_default() += 1;
        lines.push(line);
    }
    let mut input = client.input.take().unwrap();
    let writer = thread::spawn(move || {
        for mut line in lines {
            line.push(b'\n');
            input.write_all(&line).unwrap();
        }
        input
    });
    for _ in 0..LINES {
        let answer = client.receive();
        assert!(answer["error"]["code"].is_i64(), "{answer}");
        let id = answer["id"].as_u64();
        *wanted
            .get_mut(&id)
            .unwrap_or_else(|| panic!("nobody asked: {answer}")) -= 1;
    }
    assert!(wanted.values().all(|missing| *missing == 0));
    client.input = Some(writer.join().unwrap());
    client.remember("The server goes on.");
    assert_eq!(client.end(), (Some(0), Vec::new()));
}

#[test]
fn a_line_over_the_limit_is_answered_and_the_next_works() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    // The rest of the line is no line of its own.
    client.send(&"x".repeat((16 << 20) + 1_000));
    let answer = client.receive();
    assert_eq!(
        (answer.get("id"), &answer["error"]["code"]),
        (None, &json!(-32600))
    );
    client.send("");
    client.send("   ");
    client.remember("The next line works.");
}

#[test]
fn a_message_before_the_handshake_ends_nothing() {
    let folder = Folder::with_store();
    let mut client = Client::spawn(&folder, &[]);
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.send(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#);
    client.ask("ping", json!({}));
    client.greet("2025-06-18");
    client.greet("2025-06-18");
    client.remember("The handshake came late, and twice.");
}

/// INVARIANT MCT-4: no line is taken while the answers are not read.
#[test]
fn a_client_that_does_not_read_stops_the_server() {
    const REQUESTS: u64 = 1_000;
    // A pipe holds a few lines only, so each line that is sent shows that the server took one.
    let long = "x".repeat(16_384);
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    let mut input = client.input.take().unwrap();
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    let writer = thread::spawn(move || {
        for id in 0..REQUESTS {
            let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
            request["params"] = json!({ "_meta": { "padding": long } });
            if input.write_all(format!("{request}\n").as_bytes()).is_err() {
                break;
            }
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    // The pipes and the queues hold some requests and answers. When they are full, the server takes no more. The bound of
    // the loop is only for a server that takes one line after the other for ever.
    let mut before = 0;
    let has_stopped = (0..600).any(|_| {
        assert!(!writer.is_finished(), "the server ended, or took every request");
        thread::sleep(Duration::from_secs(1));
        let sent = sent.load(Ordering::SeqCst);
        sent > 0 && sent == mem::replace(&mut before, sent)
    });
    assert!(has_stopped && before < 200, "{before} requests were sent");
    client.kill();
    writer.join().unwrap();
}

/// INVARIANT MCQ-2: a batch is answered once, by an array.
#[test]
fn a_batch_is_answered_by_an_array() {
    let folder = Folder::with_store();
    let mut client = Client::spawn(&folder, &[]);
    client.greet("2025-03-26");
    let ping = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let tea = json!({ "name": "memory_remember", "arguments": { "text": "Tea is green." } });
    let store = json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": tea });
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    client.send(&json!([ping(7), told, store, { "id": 9 }, ping(7)]).to_string());
    // A batch of notifications has no answer.
    client.send(&json!([told]).to_string());
    client.send(&ping(10).to_string());
    let (code, rest) = client.end();
    assert_eq!((code, rest.len()), (Some(0), 2), "{rest:?}");
    let rest: Vec<Value> = rest
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let batch = rest.iter().find_map(Value::as_array).unwrap();
    let mut ids: Vec<_> = batch.iter().map(|answer| answer["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [None, Some(7), Some(8), Some(9)]);
    assert_eq!(folder.stream(&["list"]).len(), 1);
}

/// JavaScript writes half an emoji if it cuts a text within one. The rest of the text is kept, and the answer has the id.
#[test]
fn half_an_emoji_is_answered_with_its_id() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &["--scope", "global"]);
    for (id, tool, field) in [(70, "memory_remember", "text"), (71, "memory_recall", "query")] {
        let call = json!({ "name": tool, "arguments": { field: "the tea is hot HALF" } });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call });
        client.send(&request.to_string().replace("HALF", "\\ud83d"));
        let answer = client.receive();
        assert!(
            answer["id"] == id && answer["result"]["isError"] != true,
            "{answer}"
        );
    }
    assert!(client.recall("hot").0.contains("the tea is hot \u{FFFD}"));
    // What cannot be mended has the id, too.
    client.send(r#"{"jsonrpc":"2.0","id":72,"method":"tools/call","params":{"name":"\x"}}"#);
    let answer = client.receive();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(72), &json!(-32_700))
    );
}
