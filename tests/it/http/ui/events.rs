//! The stream of events of the page.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::super::Folder;
use super::Page;

/// Opens a stream.
fn follow(page: &Page) -> TcpStream {
    let mut stream = page.server.connect();
    let (port, token) = (page.server.port, &page.token);
    let request =
        format!("GET /ui/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Reads until the text is there, or the stream ends.
fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let (mut all, mut bytes) = (String::new(), [0; 4_096]);
    while !all.contains(wanted) {
        let count = stream.read(&mut bytes).unwrap();
        if count == 0 {
            break;
        }
        all.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    all
}

#[test]
fn a_commit_of_another_process_is_an_event() {
    let folder = Folder::with_store();
    let page = Page::start(&folder, &[]);
    let mut streams = [follow(&page), follow(&page)];
    for stream in &mut streams {
        let head = read_until(stream, "\"seq\":0");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
    }
    folder.put("tea", "green");
    for stream in &mut streams {
        let told = read_until(stream, "\"seq\":1");
        assert!(
            told.contains("event: head") && told.contains(&folder.root()),
            "{told}"
        );
    }
    // A tab may show a fork.
    folder.json(&["fork", "task-7"]);
    let made = read_until(&mut streams[0], "\"forks\":[1,");
    folder.json(&[
        "put",
        "tea",
        "--kind",
        "note",
        "--content",
        "x",
        "--fork",
        "task-7",
    ]);
    let told = read_until(&mut streams[0], "\"forks\":[1,");
    assert!(told.contains("\"seq\":1") && told != made, "{told}");
}

/// A stream does not keep the server from its end.
#[test]
fn the_streams_end_with_the_server() {
    let folder = Folder::with_store();
    let page = Page::start(&folder, &["--http", "127.0.0.1:0"]);
    let mut stream = follow(&page);
    read_until(&mut stream, "\"seq\":0");
    let begun = Instant::now();
    page.server.signal("-TERM");
    read_until(&mut stream, "there is no such text");
    let (code, err) = page.server.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn the_number_of_streams_is_limited() {
    let folder = Folder::with_store();
    let page = Page::start(&folder, &[]);
    let mut streams: Vec<TcpStream> = (0..32).map(|_| follow(&page)).collect();
    for stream in &mut streams {
        read_until(stream, "200 OK");
    }
    let refused = read_until(&mut follow(&page), "busy");
    assert!(refused.contains(" 503 "), "{refused}");
    drop(streams);
    // A closed stream is free although the server has no news for 15 s.
    let deadline = Instant::now() + Duration::from_secs(5);
    while !read_until(&mut follow(&page), "\r\n").contains(" 200 ") {
        assert!(Instant::now() < deadline, "no stream was freed");
        std::thread::sleep(Duration::from_millis(100));
    }
}
