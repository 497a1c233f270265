//! The end of a server under load, and clients that are slow or send too much.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Folder, Reply, Server};
use crate::program::text;

const CLIENTS: usize = 8;
/// The number of acknowledged writes after which the server is ended.
const WRITES: usize = 60;

/// How the texts are stored.
#[derive(Clone, Copy, Debug)]
enum Protocol {
    Api,
    Mcp,
}

impl Protocol {
    fn request(self, server: &Server, arguments: &Value) -> String {
        match self {
            Self::Api => server.posted("/v1/memory_remember", "", arguments),
            Self::Mcp => {
                let params = json!({ "name": "memory_remember", "arguments": arguments });
                server.mcp_request("tools/call", params)
            }
        }
    }

    /// Returns the id of the text that an answer acknowledges.
    fn id(self, reply: &Reply) -> String {
        let answer = reply.json();
        text(match self {
            Self::Api => &answer["id"],
            Self::Mcp => &answer["result"]["structuredContent"]["id"],
        })
    }
}

/// Stores texts from several clients until the server is ended by `signal`. Returns the ids that it acknowledged, and the
/// server.
fn ended_under_load(folder: &Folder, protocol: Protocol, signal: &str) -> (BTreeSet<String>, Server) {
    let server = Server::start(folder, &[]);
    let acknowledged = AtomicUsize::new(0);
    let ids = thread::scope(|scope| {
        let store = |client: usize| {
            let mut ids = Vec::new();
            for number in 0.. {
                let id = format!("c{client}/{number}");
                let arguments = json!({ "text": format!("Client {client} stores {number}."), "id": id });
                let request = protocol.request(&server, &arguments);
                let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", server.port)) else {
                    break;
                };
                if stream.write_all(request.as_bytes()).is_err() {
                    break;
                }
                match Reply::read(&mut stream) {
                    Some(reply) if reply.status == 200 => {
                        assert_eq!(protocol.id(&reply), id);
                        ids.push(id);
                        acknowledged.fetch_add(1, Ordering::SeqCst);
                    }
                    // The server ended before it answered.
                    Some(reply) => panic!("{reply:?}"),
                    None => break,
                }
            }
            ids
        };
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(move || store(client)))
            .collect();
        while acknowledged.load(Ordering::SeqCst) < WRITES {
            thread::sleep(Duration::from_millis(1));
        }
        server.signal(signal);
        clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect()
    });
    (ids, server)
}

fn stored(folder: &Folder) -> BTreeSet<String> {
    folder
        .stream(&["list"])
        .iter()
        .map(|line| text(&line["id"]))
        .collect()
}

#[test]
fn a_killed_server_has_stored_every_text_that_it_acknowledged() {
    for protocol in [Protocol::Api, Protocol::Mcp] {
        let folder = Folder::with_store();
        let (acknowledged, server) = ended_under_load(&folder, protocol, "-KILL");
        drop(server);
        let lost: Vec<_> = acknowledged.difference(&stored(&folder)).cloned().collect();
        assert!(lost.is_empty() && acknowledged.len() >= WRITES, "{lost:?}");
        assert_eq!(folder.json(&["verify"])["ok"], true);
    }
}

/// INVARIANT HTP-3: the end of the server ends no operation that runs; an answer is sent only after the commit.
#[test]
fn a_stopped_server_answers_what_it_has_read_and_loses_nothing() {
    for (protocol, signal) in [
        (Protocol::Api, "-TERM"),
        (Protocol::Api, "-INT"),
        (Protocol::Mcp, "-TERM"),
    ] {
        let folder = Folder::with_store();
        let (acknowledged, server) = ended_under_load(&folder, protocol, signal);
        let (code, err) = server.end();
        assert_eq!(code, Some(0), "{err}");
        // A request that was read is answered, so what is stored is also acknowledged.
        assert_eq!(stored(&folder), acknowledged);
        assert_eq!(folder.json(&["verify"])["ok"], true);
    }
}

#[test]
fn slow_clients_do_not_keep_others_waiting_and_are_cut_off() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let half = server.posted("/v1/memory_remember", "", &json!({ "text": "The tea is green." }));
    let mut slow: Vec<_> = (0..100)
        .map(|number| {
            let mut stream = server.connect();
            // Half of them stop within the head, half within the body.
            let end = if number % 2 == 0 { 30 } else { half.len() - 5 };
            stream.write_all(&half.as_bytes()[..end]).unwrap();
            stream
        })
        .collect();
    for _ in 0..10 {
        server.call("memory_status", &json!({}));
    }
    // The calls were answered while the slow clients still waited.
    slow[0].set_nonblocking(true).unwrap();
    let waits = slow[0].peek(&mut [0]).unwrap_err();
    assert_eq!(waits.kind(), std::io::ErrorKind::WouldBlock);
    slow[0].set_nonblocking(false).unwrap();
    // After the limit of time, the head gets no answer and the body an error.
    assert!(Reply::read(&mut slow[0]).is_none_or(|reply| reply.status == 408));
    assert_eq!(
        Reply::read(&mut slow[1]).unwrap().refusal(),
        (408, "timeout".to_owned())
    );
    assert_eq!(server.call("memory_status", &json!({}))["objects"], 0);
    drop(slow);
}

/// More sockets than a server has places, each with one byte of a request, do not keep a client from an answer.
#[test]
fn sockets_without_a_token_make_room_for_clients() {
    const SOCKETS: usize = 900;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let more = rustix::process::Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, more);
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let connect = || {
        let mut stream = server.connect();
        stream.write_all(b"G").unwrap();
        stream
    };
    let mut sockets: Vec<_> = (0..SOCKETS).map(|_| connect()).collect();
    for round in 0..5 {
        assert_eq!(server.call("memory_status", &json!({}))["objects"], 0);
        // Each socket that was closed comes back.
        let mut closed = 0;
        for socket in &mut sockets {
            socket.set_nonblocking(true).unwrap();
            if socket.peek(&mut [0]).is_ok_and(|count| count == 0) {
                *socket = connect();
                closed += 1;
            }
        }
        assert!(round > 0 || closed > 0, "the server sent nobody away");
    }
    // A client that has sent a token keeps its connection.
    let mut client = server.connect();
    let request = server
        .head("GET", "/v1/memory_status", "\r\n")
        .replace("Connection: close\r\n", "");
    let mut ask = || {
        client.write_all(request.as_bytes()).unwrap();
        let mut start = [0; 15];
        std::io::Read::read_exact(&mut client, &mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200 OK");
    };
    ask();
    let more: Vec<_> = (0..600).map(|_| connect()).collect();
    server.call("memory_status", &json!({}));
    drop((more, sockets));
}

/// Measures how long a client waits beside 900 sockets that come back at once: `--ignored --nocapture`.
#[test]
#[ignore = "a measurement, which depends on the machine"]
fn the_wait_beside_900_sockets() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let mut waits = Vec::new();
    thread::scope(|scope| {
        for _ in 0..9 {
            scope.spawn(|| {
                let mut sockets: Vec<_> = (0..100).map(|_| server.connect()).collect();
                while !is_over.load(Ordering::Relaxed) {
                    for socket in &mut sockets {
                        socket.set_nonblocking(true).unwrap();
                        if socket.write_all(b"G").is_err() || socket.peek(&mut [0]).is_ok() {
                            *socket = server.connect();
                        }
                    }
                    thread::sleep(Duration::from_millis(20));
                }
            });
        }
        for _ in 0..40 {
            let begun = std::time::Instant::now();
            server.call("memory_status", &json!({}));
            waits.push(begun.elapsed());
        }
        is_over.store(true, Ordering::Relaxed);
    });
    waits.sort();
    println!("median {:?}, longest {:?}", waits[20], waits[39]);
    assert!(waits[39] < Duration::from_secs(10));
}

/// INVARIANT HTP-1: nothing is read or done for a request before its host, origin and token were checked, and its body
/// never is read beyond the limit.
#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let json = "Content-Type: application/json\r\n";
    for path in ["/v1/memory_remember", "/mcp"] {
        // No byte of the body is sent.
        let head = server.head("POST", path, &format!("{json}Content-Length: 1048577\r\n\r\n"));
        assert_eq!(
            server.raw(&head).refusal(),
            (413, "too_large".to_owned()),
            "{path}"
        );
    }
    // A body without a length is read up to the limit.
    let mut chunks = server.head(
        "POST",
        "/v1/memory_remember",
        &format!("{json}Transfer-Encoding: chunked\r\n\r\n"),
    );
    for _ in 0..20 {
        chunks += &["10000\r\n", &"x".repeat(0x10000), "\r\n"].concat();
    }
    let mut stream = server.connect();
    // The server may close the connection before it has read all.
    drop(stream.write_all(chunks.as_bytes()));
    if let Some(reply) = Reply::read(&mut stream) {
        assert_eq!(reply.refusal(), (413, "too_large".to_owned()));
    }
    // A request with a bad token is answered before its body is sent.
    let unknown = server.head(
        "POST",
        "/v1/memory_remember",
        &format!("{json}Content-Length: 100\r\n\r\n"),
    );
    let unknown = unknown.replace(&server.token, "wrong");
    assert_eq!(server.raw(&unknown).refusal(), (401, "unauthorized".to_owned()));
    assert_eq!(server.call("memory_status", &json!({}))["objects"], 0);
}

#[test]
fn a_request_that_is_no_http_harms_nobody() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    let long = "x".repeat(100_000);
    for request in [
        "hello\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        format!("GET /{long} HTTP/1.1\r\n\r\n"),
        server.head("GET", "/v1/memory_status", &format!("X-Long: {long}\r\n\r\n")),
        server.head(
            "GET",
            "/v1/memory_status",
            &format!("{}\r\n", "X-Many: 1\r\n".repeat(200)),
        ),
        server.head(
            "POST",
            "/v1/memory_remember",
            "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        ),
        server.head(
            "POST",
            "/v1/memory_remember",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
    ] {
        let reply = server.raw(&request);
        assert!((400..500).contains(&reply.status), "{request}: {reply:?}");
    }
    // An incomplete request gets no answer.
    for request in ["\r\n\r\n\r\n", "\u{16}\u{3}\u{1}"] {
        let mut stream = server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let reply = Reply::read(&mut stream);
        assert!(reply.is_none_or(|reply| (400..500).contains(&reply.status)));
    }
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let more = format!(
        "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        deep.len()
    );
    let reply = server.raw(&(server.head("POST", "/v1/memory_remember", &more) + &deep));
    assert!((400..500).contains(&reply.status), "{reply:?}");
    let status: Value = server.call("memory_status", &json!({}));
    assert_eq!(status["objects"], 0);
}
