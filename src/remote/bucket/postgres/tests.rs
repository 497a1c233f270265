//! Tests with a private PostgreSQL, which `tests/remote/postgres.sh` starts. Without PostgreSQL, they say that they are skipped.

use std::process::{Command, Stdio};
use std::thread::scope;

use super::*;
use crate::engine::{Memory, Writer};
use crate::error::ErrorCode;
use crate::object::{Id, Kind, NewObject, Origin};
use crate::remote::Remote;
use crate::remote::bucket::{open_bucket, probe};
use crate::testing::bucket_contract::check;

/// A server for one test.
struct Server {
    folder: tempfile::TempDir,
    /// The place behind the name of the user.
    place: String,
}

impl Server {
    /// Starts a server; `None` if this machine has none.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let (code, url) = script("start", &folder);
        if code == 77 {
            assert!(std::env::var_os("CI").is_none(), "CI must have PostgreSQL");
            return None;
        }
        assert_eq!(code, 0);
        let place = url.trim().split_once('@').unwrap().1.to_owned();
        Some(Self { folder, place })
    }

    fn url(&self, user: &str, parameters: &str) -> String {
        format!("postgres://{user}@{}?{parameters}", self.place)
    }

    fn bucket(&self, user: &str, parameters: &str) -> Postgres {
        Postgres::open(&self.url(user, parameters)).unwrap()
    }

    fn run(&self, what: &str) {
        assert_eq!(script(what, &self.folder).0, 0, "{what}");
    }

    /// Starts `psql` with statements.
    fn sql(&self, statements: &str) -> std::process::Child {
        let url = self.url("treering", "");
        let mut psql = Command::new("psql");
        psql.args(["--no-psqlrc", "--quiet", &url, "--command", statements]);
        psql.stdout(Stdio::null()).spawn().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(script("stop", &self.folder));
    }
}

fn script(what: &str, folder: &tempfile::TempDir) -> (i32, String) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/remote/postgres.sh");
    let output = Command::new(path)
        .arg(what)
        .arg(folder.path())
        .stderr(Stdio::inherit())
        .output();
    let output = output.unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn a_table_is_a_bucket() {
    let Some(server) = Server::start() else { return };
    check(&server.bucket("treering", ""), 4);
    check(&server.bucket("treering", "schema=a%20%22b%22"), 4);
    let bucket = server.bucket("treering", "schema=c");
    probe(&bucket, [7; 16]).unwrap();
    // PGB-2
    bucket.put_new("a", b"x").unwrap();
    let first = bucket.get("a", None).unwrap().version;
    bucket.delete("a").unwrap();
    bucket.put_new("a", b"x").unwrap();
    assert_ne!(bucket.get("a", None).unwrap().version, first);
    let large: Vec<u8> = (0..20_000_000_u32)
        .map(|number| number.to_le_bytes()[1])
        .collect();
    bucket.put_new("large", &large).unwrap();
    assert_eq!(
        bucket.get("large", Some(9_000_000..9_000_100)).unwrap().bytes,
        large[9_000_000..9_000_100]
    );
    assert!(bucket.get("large", None).unwrap().bytes == large);
    // BKT-1 and PGB-1, and the table is made by the first of many.
    for round in 0..10 {
        let clients: Vec<_> = (0..4)
            .map(|_| server.bucket("treering", &format!("schema=r{round}")))
            .collect();
        let wins = |work: &(dyn Fn(&Postgres, u8) -> bool + Sync)| {
            scope(|scope| {
                let all: Vec<_> = clients
                    .iter()
                    .zip(1..)
                    .map(|(client, writer)| scope.spawn(move || work(client, writer)))
                    .collect();
                all.into_iter()
                    .map(|one| usize::from(one.join().unwrap()))
                    .sum::<usize>()
            })
        };
        let content = |writer: u8| vec![writer; 50_000];
        let put = |client: &Postgres, writer: u8| match client.put_new("a", &content(writer)) {
            Ok(()) => true,
            Err(BucketError::Exists) => false,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(wins(&put), 1);
        let version = clients[0].get("a", None).unwrap().version;
        let swap = |client: &Postgres, writer: u8| match client.swap("a", &version, &content(writer)) {
            Ok(_) => true,
            Err(BucketError::Stale) => false,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(wins(&swap), 1);
        let last = clients[1].get("a", None).unwrap().bytes;
        assert_eq!(last, content(last[0]));
    }
}

#[test]
fn an_error_says_whether_the_call_had_its_effect() {
    let Some(server) = Server::start() else { return };
    let denied = |result: BucketResult<Stored>| matches!(result, Err(BucketError::Denied(_)));
    let failed = |result: BucketResult<Stored>| matches!(result, Err(BucketError::Failed(_)));
    let unclear = |result: BucketResult<Stored>| matches!(result, Err(BucketError::Unclear(_)));
    let owner = server.bucket("treering", "");
    owner.put_new("a", b"1").unwrap();
    // Rights.
    let reader = server.bucket("reader", "");
    let stored = reader.get("a", None).unwrap();
    assert_eq!(
        (stored.bytes.as_slice(), reader.list("").unwrap().len()),
        (&b"1"[..], 1)
    );
    assert!(matches!(reader.put_new("b", b"2"), Err(BucketError::Denied(_))));
    assert!(matches!(
        reader.swap("a", &stored.version, b"2"),
        Err(BucketError::Denied(_))
    ));
    assert!(matches!(reader.delete("a"), Err(BucketError::Denied(_))));
    assert!(denied(server.bucket("guarded:wrong", "").get("a", None)));
    assert!(denied(server.bucket("guarded", "").get("a", None)), "no password");
    assert_eq!(
        server.bucket("guarded:secret", "schema=s").get("a", None),
        Err(BucketError::Missing)
    );
    check(&server.bucket("guarded:secret", "schema=s"), 4);
    let elsewhere = server.url("treering", "").replace("/treering?", "/missing?");
    assert!(failed(Postgres::open(&elsewhere).unwrap().get("a", None)));
    // A connection that the server ends, idle and in a write.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'treering'";
    assert!(server.sql(end).wait().unwrap().success());
    assert!(unclear(owner.get("a", None)));
    assert_eq!(owner.get("a", None).unwrap().bytes, b"1", "PGN-1");
    let mut lock = server.sql(&format!(
        "BEGIN; LOCK TABLE treering_objects; SELECT pg_sleep(1.5); {end} AND wait_event_type = 'Lock'; COMMIT"
    ));
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(matches!(owner.put_new("c", b"3"), Err(BucketError::Unclear(_))));
    assert!(lock.wait().unwrap().success());
    owner.put_new("c", b"3").unwrap();
    // A server that crashes.
    server.run("kill");
    assert!(unclear(owner.get("a", None)));
    let down = owner.get("a", None);
    assert!(matches!(down, Err(BucketError::Unreachable(_))), "{down:?}");
    server.run("again");
    assert_eq!(owner.list("").unwrap(), ["a", "c"]);
    let error = BucketError::Denied(String::new()).at(&server.bucket("guarded:secret", ""), "cannot read");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn a_server_elsewhere_must_prove_its_name() {
    let Some(server) = Server::start() else { return };
    let authority = server.folder.path().join("ca.pem");
    if !authority.exists() {
        return;
    }
    let trusted = format!("sslmode=require&sslrootcert={}", authority.display());
    let named = |parameters: &str| {
        let url = server
            .url("guarded:secret", parameters)
            .replace("127.0.0.1", "localhost");
        Postgres::open(&url).unwrap()
    };
    check(&named(&format!("{trusted}&schema=t")), 4);
    let refused = |bucket: &Postgres| matches!(bucket.get("a", None), Err(BucketError::Failed(_)));
    assert!(
        refused(&named("sslmode=require")),
        "nobody trusted signed the certificate"
    );
    assert!(
        refused(&server.bucket("treering", &trusted)),
        "the certificate is for another name"
    );
}

#[test]
fn machines_share_a_memory_through_a_table() {
    let Some(server) = Server::start() else { return };
    let (folder, ann) = (tempfile::tempdir().unwrap(), Writer::person("ann"));
    let url = server.url("treering", "schema=shared");
    let note = |id: &str| NewObject::new(Id::new(id).unwrap(), Kind::new("note").unwrap());
    let remote = Remote::open("origin", &url, Origin::DirectUser).unwrap();
    let one = Memory::create(folder.path().join("one")).unwrap();
    one.put(note("a"), &ann).unwrap();
    remote.check(&one).unwrap();
    assert_eq!(remote.push(&one, &ann).unwrap().commits, 2);
    let two = crate::remote::clone(
        &url,
        folder.path().join("two"),
        Origin::DirectUser,
        &crate::engine::Options::new(),
    );
    let two = two.unwrap().0;
    two.put(note("b"), &ann).unwrap();
    one.put(note("c"), &ann).unwrap();
    let other = Remote::open("origin", &url, Origin::DirectUser).unwrap();
    let pushed = remote.push(&one, &ann).unwrap();
    assert_eq!((pushed.commits, pushed.requests), (1, 2));
    assert_eq!(other.push(&two, &ann).unwrap_err().code(), ErrorCode::RemoteAhead);
    other.pull(&two, &ann).unwrap();
    other.push(&two, &ann).unwrap();
    remote.pull(&one, &ann).unwrap();
    assert_eq!(one.view().root(), two.view().root());
    assert_eq!(one.view().len(), 3);
    let backup = server.url("guarded:secret", "schema=backup");
    let done = crate::remote::backup(&one, &backup).unwrap();
    assert!(!done.url.contains("secret"), "{}", done.url);
}

#[test]
fn a_url_is_refused_before_anything_is_sent() {
    let code = |url: &str| open_bucket(url, true).err().map(|error| error.code());
    assert_eq!(
        code("postgres://ann:pw@elsewhere/db?sslmode=disable"),
        Some(ErrorCode::UnsupportedRemote),
        "PGU-1"
    );
    for url in [
        "postgres:///db",
        "postgres://ann@host:port/db",
        "postgres://host/db?schema=",
        "postgres://host/db?sslmode=prefer",
        "postgres://host/db?sslmode=require&sslrootcert=/missing.pem",
        "postgres://host/db?unknown=1",
    ] {
        assert_eq!(code(url), Some(ErrorCode::InvalidInput), "{url}");
    }
    let has_tls = |url: &str| PostgresUrl::parse(url).unwrap().tls.is_some();
    assert!(!has_tls("postgres://localhost/db") && !has_tls("postgres://%2Frun%2Fpostgresql/db"));
    assert!(
        has_tls("postgres://[::1]/db?sslmode=verify-full")
            && !has_tls("postgresql://ann@elsewhere/db?sslmode=disable")
    );
}

#[test]
fn a_password_comes_from_the_line_that_fits() {
    let file = "# a comment\nhost:5432:db:ann:one\n*:*:other:*:t\\:wo\nlocalhost:*:*:*:socket\nbroken:line\n";
    for (url, password) in [
        ("postgres://ann@host/db", Some("one")),
        ("postgres://bob@host/db", None),
        ("postgres://ann@host:1/db", None),
        ("postgres://bob@host:1/other", Some("t:wo")),
        ("postgres://ann@%2Ftmp/db", Some("socket")),
        ("postgres://ann@%2Felsewhere/db", None),
    ] {
        let config = url.parse().unwrap();
        assert_eq!(url::password_in(file, &config).as_deref(), password, "{url}");
    }
}
