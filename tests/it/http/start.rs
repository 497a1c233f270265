//! The start of a server: where it listens, and its token.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use super::{Folder, Server};
use crate::program::{Ran, text};

/// INVARIANT TKF-1: the file of a token is read only if nobody but its owner can, and no link leads to it.
#[test]
fn a_token_file_is_made_and_read_only_if_it_is_private() {
    let folder = Folder::with_store();
    let file = folder.path("token");
    let options = ["--token-file", "token"];
    let first = Server::start(&folder, &options);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let token = fs::read_to_string(&file).unwrap();
    assert_eq!((token.trim(), token.trim().len()), (first.token.as_str(), 64));
    let second = Server::start(&folder, &options);
    assert_eq!(second.token, first.token);
    assert_eq!(second.get("/v1/memory_status").status, 200);

    let arguments = ["serve", "--http", "127.0.0.1:0", "--token-file", "token"];
    for mode in [0o640, 0o604, 0o620] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(folder.refused(4, &arguments)["code"], "refused", "{mode:o}");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(&file, folder.path("elsewhere")).unwrap();
    symlink(folder.path("elsewhere"), &file).unwrap();
    assert_eq!(folder.refused(4, &arguments)["code"], "refused");
    fs::remove_file(&file).unwrap();
    for bad in [
        "short",
        "",
        "a token of two parts and more than thirty-two letters",
    ] {
        folder.write("token", bad);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        folder.refused(1, &arguments);
    }
}

#[test]
fn each_start_has_another_token_and_shows_it_only_on_standard_output() {
    let folder = Folder::with_store();
    let (one, two) = (Server::start(&folder, &[]), Server::start(&folder, &[]));
    assert!(one.token != two.token && one.token.len() == 64);
    assert_eq!(one.get("/v1/memory_status").status, 200);
    let (port, token) = (one.port, one.token.clone());
    let other = format!(
        "GET /v1/memory_status HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
        two.token
    );
    assert_eq!(one.raw(&other).refusal(), (401, "unauthorized".to_owned()));
    let answers = one.get("/metrics").body + &one.get("/openapi.json").body;
    one.signal("-TERM");
    let (code, err) = one.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(!err.contains(&token) && !answers.contains(&token));
}

#[test]
fn other_machines_reach_the_server_only_with_an_option() {
    let folder = Folder::with_store();
    for address in [
        "0.0.0.0:0",
        "[::]:0",
        "192.0.2.1:7070",
        "7070",
        "example.org:80",
        "",
    ] {
        assert_eq!(
            folder.refused(2, &["serve", "--http", address])["code"],
            "usage",
            "{address}"
        );
    }
    assert_eq!(folder.refused(2, &["serve"])["code"], "usage");
    folder.refused(2, &["serve", "--mcp", "--http", "127.0.0.1:0"]);
    folder.refused(2, &["serve", "--mcp", "--allow-remote"]);
    let taken = Server::start(&folder, &[]);
    let address = format!("127.0.0.1:{}", taken.port);
    assert_eq!(folder.refused(6, &["serve", "--http", &address])["code"], "io");
}

/// A mistyped name of a store is an error, and no new store.
#[test]
fn a_named_store_that_is_missing_is_not_created() {
    let folder = Folder::new();
    let serve = ["serve", "--http", "127.0.0.1:0"];
    let refused = folder.refused(1, &[&["--store", "tpyo"][..], &serve].concat());
    assert_eq!(refused["code"], "no_store");
    assert!(text(&refused["hint"]).contains("treering init"), "{refused}");
    let mut command = folder.command(&serve);
    let ran = Ran::of(&command.env("TREERING_STORE", "tpyo").output().unwrap());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!folder.path("tpyo").exists());
    // Nobody named the usual store, so nobody mistyped it.
    let server = Server::start(&folder, &[]);
    assert_eq!(server.get("/v1/memory_status").status, 200);
}

/// A store that came with the folder, as `git clone` leaves it.
#[test]
fn a_store_of_somebody_else_is_not_served() {
    let folder = Folder::with_store();
    fs::remove_dir_all(folder.path("home/.local/state")).unwrap();
    let ran = folder.run(&["serve", "--http", "127.0.0.1:0"]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{ran:?}");
}

#[test]
fn the_metrics_count_both_protocols() {
    let folder = Folder::with_store();
    let server = Server::start(&folder, &[]);
    server.call("memory_remember", &json!({ "text": "The tea is green." }));
    server.mcp(
        "tools/call",
        json!({ "name": "memory_remember", "arguments": { "text": "The pot is blue." } }),
    );
    assert_eq!(
        server.refused("memory_get", &json!({ "id": "facts/none" })).0,
        404
    );
    let reply = server.get("/metrics");
    assert_eq!(
        reply.value("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let has = |line: &str| reply.body.lines().any(|one| one == line);
    assert!(
        has("treering_requests_total{operation=\"memory_remember\",code=\"ok\"} 2"),
        "{reply:?}"
    );
    assert!(
        has("treering_requests_total{operation=\"memory_get\",code=\"not_found\"} 1"),
        "{reply:?}"
    );
    assert!(has("treering_http_answers_total{status=\"404\"} 1"), "{reply:?}");
    assert!(
        has("treering_head_seq 2") && has("treering_objects 2") && has("treering_commits 3"),
        "{reply:?}"
    );
    let bytes = reply
        .body
        .lines()
        .find_map(|line| line.strip_prefix("treering_store_bytes "));
    let of = |body: &str, name: &str| {
        body.lines()
            .find_map(|line| Some(line.strip_prefix(name)?.to_owned()))
    };
    let locks = of(&reply.body, "treering_writer_lock_wait_seconds_count ");
    assert!(locks.unwrap().parse::<u64>().unwrap() >= 2);
    assert!(of(&reply.body, "treering_writer_lock_wait_seconds_sum ").is_some());
    // Nobody verified the store yet. A quick look is no verification.
    let age = |body: &str| of(body, "treering_verify_age_seconds ");
    folder.json(&["verify", "--quick"]);
    assert_eq!(age(&server.get("/metrics").body), None);
    folder.json(&["verify"]);
    assert!(age(&server.get("/metrics").body).unwrap().parse::<u64>().unwrap() < 60);
    let stats = folder.json(&["stats"]);
    assert_eq!(bytes.unwrap(), stats["disk_bytes"].to_string());
    let samples = reply.body.lines().filter(|line| !line.starts_with('#'));
    assert!(
        samples
            .into_iter()
            .all(|line| line.rsplit(' ').next().unwrap().parse::<f64>().is_ok())
    );
}
