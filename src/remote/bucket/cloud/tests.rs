//! Tests of the client of object storage, against a small server that speaks as the services do and fails on demand.
//! `tests/remote/check.sh` has the same suite against real servers.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use object_store::client::HttpConnector as _;

use super::*;
use crate::error::ErrorCode;
use crate::remote::bucket::{Counted, Fault as StoreFault, decoded, probe};
use crate::testing::bucket_contract::check;
use crate::testing::sim_bucket::SimBucket;
use crate::threads::Mutex;

const SECRET: &str = "c2VjcmV0LW9mLWEtdGVzdA==";

/// What happens to the next request.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The service answers so, and does nothing.
    Answers(u16, &'static str),
    /// The connection ends before the request has its effect.
    Ends,
    /// The request has its effect, and the answer is lost.
    LosesAnswer,
    /// The answer ends in the middle.
    CutsAnswer,
    /// The service names a version that it keeps.
    NamesVersion,
    /// The service ignores that only a part was asked for.
    IgnoresRange,
    /// The answer has no end.
    NeverEnds,
}

/// The server, and what it was asked.
struct Server {
    address: String,
    sim: SimBucket,
    faults: Mutex<VecDeque<Fault>>,
    asked: Mutex<Vec<String>>,
}

impl Server {
    fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Arc::new(Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            sim: SimBucket::default(),
            faults: Mutex::default(),
            asked: Mutex::default(),
        });
        let serving = Arc::clone(&server);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (server, stream) = (Arc::clone(&serving), stream.unwrap());
                std::thread::spawn(move || server.serve(&stream));
            }
        });
        server
    }

    fn fail(&self, fault: Fault) {
        self.faults.lock().push_back(fault);
    }

    /// Answers the requests of a connection.
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
                match line.trim_end() {
                    "" => break,
                    line => head.push(line.to_owned()),
                }
            }
            let mut request = Request { head };
            let mut body = vec![
                0;
                request
                    .header("content-length")
                    .map_or(0, |value| value.parse().unwrap())
            ];
            reader.read_exact(&mut body).ok()?;
            self.asked.lock().push(request.head[0].clone());
            let fault = self.faults.lock().pop_front();
            let mut answer = match fault {
                Some(Fault::Ends) => return None,
                Some(Fault::Answers(status, code)) => {
                    // A service may repeat what it got.
                    let text = format!("<Error><Code>{code}</Code><Message>{SECRET}</Message></Error>");
                    Answer::new(status, text.into_bytes())
                }
                _ => {
                    let ignores_range = matches!(fault, Some(Fault::IgnoresRange));
                    request
                        .head
                        .retain(|line| !ignores_range || !line.to_lowercase().starts_with("range:"));
                    self.answer(&request, &body)
                }
            };
            if matches!(fault, Some(Fault::NamesVersion)) {
                answer.headers += "x-amz-version-id: 17\r\n";
            }
            if matches!(fault, Some(Fault::NeverEnds)) {
                let head = b"HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\n\r\n";
                (&mut &*stream).write_all(head).ok()?;
                loop {
                    (&mut &*stream).write_all(&vec![0; 1 << 20]).ok()?;
                }
            }
            let mut bytes = answer.bytes(request.head[0].starts_with("HEAD"));
            match fault {
                Some(Fault::LosesAnswer) => return None,
                Some(Fault::CutsAnswer) => bytes.truncate(bytes.len() - 1),
                _ => {}
            }
            (&mut &*stream).write_all(&bytes).ok()?;
            if matches!(fault, Some(Fault::CutsAnswer)) {
                return None;
            }
        }
    }

    fn answer(&self, request: &Request, body: &[u8]) -> Answer {
        let (method, name) = request.target();
        let exists = if request.header("x-ms-version").is_some() {
            409
        } else {
            412
        };
        let done = match method {
            "GET" if name.is_empty() => return self.list(request),
            "GET" | "HEAD" => return self.get(request, &name),
            "POST" => return self.deletes(body),
            "DELETE" => self.sim.delete(&name).map(|()| None),
            _ if request.creates() => self.sim.put_new(&name, body).map(|()| None),
            _ => {
                let known = Version(request.swaps());
                self.sim.swap(&name, &known, body).map(Some)
            }
        };
        match done {
            Ok(version) => {
                let version = version.unwrap_or_else(|| {
                    self.sim
                        .get(&name, None)
                        .map_or_else(|_| Version(String::new()), |stored| stored.version)
                });
                Answer::new(if method == "DELETE" { 204 } else { 201 }, Vec::new()).with(&version)
            }
            Err(BucketError::Exists) => Answer::new(exists, Vec::new()),
            Err(_) => Answer::new(412, Vec::new()),
        }
    }

    /// Answers a batch of Azure with one deletion. The status of the batch is 202, whatever became of it.
    fn deletes(&self, batch: &[u8]) -> Answer {
        let batch = std::str::from_utf8(batch).unwrap();
        let head = batch.lines().find(|line| line.starts_with("DELETE ")).unwrap();
        let (_, name) = Request {
            head: vec![head.to_owned()],
        }
        .target();
        let status = if self.sim.objects().contains_key(&name) {
            202
        } else {
            404
        };
        self.sim.delete(&name).unwrap();
        let part =
            format!("Content-Type: application/http\r\nContent-ID: 0\r\n\r\nHTTP/1.1 {status} X\r\n\r\n");
        let mut answer = Answer::new(202, format!("--end\r\n{part}\r\n--end--\r\n").into_bytes());
        answer.headers += "Content-Type: multipart/mixed; boundary=end\r\n";
        answer
    }

    fn get(&self, request: &Request, name: &str) -> Answer {
        let Ok(stored) = self.sim.get(name, None) else {
            return Answer::new(404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec());
        };
        let range = request.header("range").or_else(|| request.header("x-ms-range"));
        let Some(range) = range.and_then(|range| range.strip_prefix("bytes=")) else {
            return Answer::new(200, stored.bytes).with(&stored.version);
        };
        let (start, end) = range.split_once('-').unwrap();
        let (start, length) = (start.parse::<usize>().unwrap(), stored.bytes.len());
        // As SeaweedFS does, with an end beyond its numbers.
        let end = end
            .parse::<i64>()
            .map_or(0, |end| usize::try_from(end).unwrap() + 1)
            .min(length);
        if start >= length || end == 0 {
            return Answer::new(416, Vec::new());
        }
        let mut answer = Answer::new(206, stored.bytes[start..end].to_vec()).with(&stored.version);
        write!(
            answer.headers,
            "Content-Range: bytes {start}-{}/{length}\r\n",
            end - 1
        )
        .unwrap();
        answer
    }

    /// Lists two names a page.
    fn list(&self, request: &Request) -> Answer {
        let is_azure = request.header("x-ms-version").is_some();
        let prefix = request.query("prefix").unwrap_or_default();
        let names: Vec<String> = self
            .sim
            .objects()
            .into_keys()
            .filter(|name| name.starts_with(&prefix))
            .collect();
        let token = request.query(if is_azure { "marker" } else { "continuation-token" });
        let from: usize = token.map_or(0, |token| token.parse().unwrap());
        let next = if from + 2 < names.len() {
            (from + 2).to_string()
        } else {
            String::new()
        };
        let page = names.iter().skip(from).take(2);
        let xml = if is_azure {
            let blobs: String = page
                .map(|name| format!("<Blob><Name>{name}</Name><Properties><Last-Modified>Thu, 01 Jul 2021 10:44:59 GMT</Last-Modified><Content-Length>1</Content-Length><Content-Type>x</Content-Type></Properties></Blob>"))
                .collect();
            format!(
                "<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker>{next}</NextMarker></EnumerationResults>"
            )
        } else {
            let objects: String = page
                .map(|name| format!("<Contents><Key>{name}</Key><LastModified>2021-07-01T10:44:59.000Z</LastModified><Size>1</Size></Contents>"))
                .collect();
            let next = if next.is_empty() {
                next
            } else {
                format!("<NextContinuationToken>{next}</NextContinuationToken>")
            };
            format!("<ListBucketResult>{objects}{next}</ListBucketResult>")
        };
        Answer::new(200, xml.into_bytes())
    }
}

struct Request {
    head: Vec<String>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.iter().skip(1);
        let mut found = lines.filter_map(|line| {
            line.split_once(": ")
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
        });
        found.next().map(|(_, value)| value)
    }

    /// Returns the method and the name of the object.
    fn target(&self) -> (&str, String) {
        let mut words = self.head[0].split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let path = target.split('?').next().unwrap();
        let name = path.split_once("/bucket").unwrap().1;
        (method, decoded(name.trim_start_matches('/')).unwrap())
    }

    fn query(&self, name: &str) -> Option<String> {
        let query = self.head[0].split(' ').nth(1)?.split_once('?')?.1;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(key, _)| *key == name)
            .map(|(_, value)| decoded(value).unwrap())
    }

    fn creates(&self) -> bool {
        self.header("if-none-match") == Some("*") || self.header("x-goog-if-generation-match") == Some("0")
    }

    /// Returns the version that a write replaces.
    fn swaps(&self) -> String {
        let known = self
            .header("if-match")
            .or_else(|| self.header("x-goog-if-generation-match"));
        known
            .unwrap_or_else(|| panic!("a write without a condition: {:?}", self.head))
            .trim_matches('"')
            .to_owned()
    }
}

struct Answer {
    status: u16,
    headers: String,
    body: Vec<u8>,
}

impl Answer {
    fn new(status: u16, body: Vec<u8>) -> Self {
        let headers = "Last-Modified: Thu, 01 Jul 2021 10:44:59 GMT\r\n".to_owned();
        Self {
            status,
            headers,
            body,
        }
    }

    fn with(mut self, Version(version): &Version) -> Self {
        write!(
            self.headers,
            "ETag: \"{version}\"\r\nx-goog-generation: {version}\r\n"
        )
        .unwrap();
        self
    }

    fn bytes(&self, is_head: bool) -> Vec<u8> {
        let (status, headers, length) = (self.status, &self.headers, self.body.len());
        let mut bytes =
            format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n").into_bytes();
        bytes.extend_from_slice(if is_head { b"" } else { &self.body });
        bytes
    }
}

fn s3(server: &Server) -> AmazonS3Builder {
    let builder = AmazonS3Builder::new()
        .with_endpoint(&server.address)
        .with_allow_http(true);
    builder.with_access_key_id("key").with_secret_access_key(SECRET)
}

fn cloud(server: &Server) -> Cloud {
    Cloud::with(Scheme::S3, Settings::S3(s3(server)), "bucket/some/prefix/").unwrap()
}

#[test]
fn each_service_conforms() {
    for scheme in [Scheme::S3, Scheme::Google, Scheme::Azure] {
        let server = Server::start();
        let settings = match scheme {
            Scheme::S3 => Settings::S3(s3(&server)),
            Scheme::Google => {
                let key = format!(
                    r#"{{"gcs_base_url": "{}", "disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}}"#,
                    server.address
                );
                let options = object_store::ClientOptions::new().with_allow_http(true);
                Settings::Google(
                    GoogleCloudStorageBuilder::new()
                        .with_service_account_key(key)
                        .with_client_options(options),
                )
            }
            Scheme::Azure => {
                let builder = MicrosoftAzureBuilder::new()
                    .with_account("account")
                    .with_access_key(SECRET);
                Settings::Azure(
                    builder
                        .with_endpoint(server.address.clone())
                        .with_allow_http(true),
                )
            }
        };
        let cloud = Cloud::with(scheme, settings, "bucket").unwrap();
        check(&cloud, 5);
        probe(&cloud, [7; 16]).unwrap();
        let keeps = (scheme == Scheme::S3).then_some(false);
        assert_eq!(cloud.keeps_old_bytes(), keeps);
    }
}

#[test]
fn names_have_the_prefix_of_the_url() {
    let server = Server::start();
    let cloud = cloud(&server);
    assert_eq!(cloud.describe(), "s3://bucket/some/prefix");
    cloud.put_new("log/1", b"x").unwrap();
    server.sim.put_new("some/prefix-of-another/log/2", b"x").unwrap();
    assert_eq!(cloud.list("log/").unwrap(), ["log/1"]);
    assert_eq!(server.sim.get("some/prefix/log/1", None).unwrap().bytes, b"x");
}

type Is<'a> = &'a dyn Fn(&BucketError) -> bool;

/// BKT-3, OBS-1: what each answer to a write says about it.
#[test]
fn an_answer_says_what_is_certain() {
    let unclear = |error: &BucketError| matches!(error, BucketError::Unclear(_));
    let denied = |error: &BucketError| matches!(error, BucketError::Denied(_));
    let failed = |error: &BucketError| matches!(error, BucketError::Failed(_));
    let (exists, stale) = (
        |error: &BucketError| *error == BucketError::Exists,
        |error: &BucketError| *error == BucketError::Stale,
    );
    let cases: [(Fault, Is<'_>, Is<'_>); 17] = [
        (Fault::Ends, &unclear, &unclear),
        (Fault::LosesAnswer, &unclear, &unclear),
        (Fault::CutsAnswer, &unclear, &unclear),
        (Fault::Answers(500, "InternalError"), &unclear, &unclear),
        (Fault::Answers(503, "SlowDown"), &unclear, &unclear),
        (Fault::Answers(429, ""), &unclear, &unclear),
        (Fault::Answers(408, ""), &unclear, &unclear),
        (Fault::Answers(400, "RequestTimeout"), &unclear, &unclear),
        (
            Fault::Answers(409, "ConditionalRequestConflict"),
            &unclear,
            &unclear,
        ),
        (Fault::Answers(412, "PreconditionFailed"), &exists, &stale),
        (Fault::Answers(404, "NoSuchBucket"), &failed, &failed),
        (Fault::Answers(404, "NoSuchKey"), &failed, &stale),
        (Fault::Answers(403, "AccessDenied"), &denied, &denied),
        (Fault::Answers(401, ""), &denied, &denied),
        (Fault::Answers(301, "PermanentRedirect"), &failed, &failed),
        (Fault::Answers(400, "InvalidArgument"), &failed, &failed),
        (Fault::Answers(501, "NotImplemented"), &failed, &failed),
    ];
    for (fault, of_put, of_swap) in cases {
        let server = Server::start();
        let cloud = cloud(&server);
        cloud.put_new("known", b"1").unwrap();
        let version = cloud.get("known", None).unwrap().version;
        let asked = server.asked.lock().len();
        // An empty answer cannot be cut.
        server.fail(fault);
        let put = cloud.put_new("new", b"1").unwrap_err();
        server.fail(fault);
        let swap = cloud.swap("known", &version, b"2").unwrap_err();
        assert!(of_put(&put) && of_swap(&swap), "{fault:?}: {put:?}, {swap:?}");
        assert_eq!(
            server.asked.lock().len(),
            asked + 2,
            "{fault:?}: no request is repeated"
        );
        for error in [put, swap] {
            let text = format!(
                "{error:?} {error} {:?}",
                error.clone().at(&cloud, "cannot write to")
            );
            assert!(!text.contains(SECRET) && !text.contains("127.0.0.1"), "{text}");
        }
    }
}

#[test]
fn a_read_that_fails_may_be_repeated() {
    let server = Server::start();
    let cloud = cloud(&server);
    cloud.put_new("a", &vec![7; 100_000]).unwrap();
    for fault in [Fault::Ends, Fault::CutsAnswer, Fault::Answers(503, "SlowDown")] {
        server.fail(fault);
        assert!(
            matches!(cloud.get("a", None), Err(BucketError::Unclear(_))),
            "{fault:?}"
        );
    }
    server.fail(Fault::Answers(403, "AccessDenied"));
    assert!(matches!(cloud.get("a", None), Err(BucketError::Denied(_))));
    server.fail(Fault::CutsAnswer);
    let client = Counted::new(Arc::new(cloud));
    assert_eq!(client.get("a", u64::MAX).unwrap().bytes, vec![7; 100_000]);
    assert_eq!(client.requests(), 2);
}

#[test]
fn a_service_may_ignore_that_a_part_was_asked_for() {
    let server = Server::start();
    let cloud = cloud(&server);
    cloud.put_new("a", b"abcdef").unwrap();
    for range in [1..3, 4..9, 8..9] {
        let part = cloud.get("a", Some(range.clone())).unwrap();
        [Fault::IgnoresRange; 2]
            .into_iter()
            .for_each(|fault| server.fail(fault));
        assert_eq!(cloud.get("a", Some(range)).unwrap(), part);
        server.faults.lock().clear();
    }
}

/// CHT-2
#[test]
fn an_answer_without_end_is_given_up() {
    let server = Server::start();
    let cloud = cloud(&server);
    cloud.put_new("a", b"abcdef").unwrap();
    server.fail(Fault::NeverEnds);
    let error = cloud.get("a", Some(0..3)).unwrap_err();
    let BucketError::Unclear(text) = error else {
        panic!("{error:?}");
    };
    assert!(
        text.contains("the answer has more than 268435456 bytes"),
        "{text}"
    );
}

/// RTR-1
#[test]
fn a_lost_answer_is_settled() {
    let server = Server::start();
    let client = Counted::new(Arc::new(cloud(&server)));
    server.fail(Fault::LosesAnswer);
    assert_eq!(client.put_new("manifest", b"mine"), Ok(()));
    let version = client.get("manifest", u64::MAX).unwrap().version;
    server.fail(Fault::LosesAnswer);
    let next = client.swap("manifest", &version, b"next").unwrap();
    assert_eq!(client.get("manifest", u64::MAX).unwrap().version, next);
    assert_eq!(
        client.swap("manifest", &version, b"late"),
        Err(BucketError::Stale)
    );
}

#[test]
fn a_service_that_ignores_conditions_is_named() {
    let careless = Server::start();
    let settings = Settings::S3(s3(&careless));
    drop(careless.sim.clone().careless());
    let cloud = Cloud::with(Scheme::S3, settings, "bucket").unwrap();
    let error = probe(&cloud, [7; 16]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NoConditionalWrites);
    assert!(
        error.to_string().contains(StoreFault::CreatesTwice.name()),
        "{error}"
    );
}

#[test]
fn a_bucket_with_versions_is_noticed() {
    let server = Server::start();
    let cloud = cloud(&server);
    cloud.put_new("a", b"1").unwrap();
    assert_eq!(cloud.keeps_old_bytes(), Some(false));
    server.fail(Fault::NamesVersion);
    cloud.put_new("b", b"1").unwrap();
    assert_eq!(cloud.keeps_old_bytes(), Some(true));
}

#[test]
fn no_connection_is_made_by_plain_http_unless_allowed() {
    let server = Server::start();
    let settings = Settings::S3(s3(&server).with_allow_http(false));
    let error = Cloud::with(Scheme::S3, settings, "bucket").err().unwrap();
    assert!(error.hint().unwrap().contains("AWS_ALLOW_HTTP"), "{error:?}");
    // CHT-1: also where the address does not come from the user.
    let options = object_store::ClientOptions::new();
    let client = Connector.connect(&options).unwrap();
    let request = hyper::Request::get(&server.address).body(object_store::client::HttpRequestBody::empty());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    assert!(runtime.block_on(client.execute(request.unwrap())).is_err());
    assert!(server.asked.lock().is_empty());
}

/// OBS-2
#[test]
fn a_url_with_a_password_is_refused_and_not_repeated() {
    for rest in [
        "user:hidden-word@bucket/a",
        "bucket/a?token=hidden-word",
        "bucket/a#hidden-word",
        "",
        "/a",
        "bucket//a",
        "bucket/../a",
        "bucket/a%2Fb",
        "buck et/a",
    ] {
        let error = Cloud::open(Scheme::S3, rest).err().expect(rest);
        assert_eq!(error.code(), ErrorCode::InvalidInput, "{rest}");
        assert!(!format!("{error:?}").contains("hidden-word"), "{error:?}");
    }
}

#[test]
fn a_service_that_is_not_there_is_unreachable_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let builder = AmazonS3Builder::new()
        .with_endpoint(address)
        .with_allow_http(true);
    let settings = Settings::S3(builder.with_access_key_id("key").with_secret_access_key(SECRET));
    let cloud = Cloud::with(Scheme::S3, settings, "bucket").unwrap();
    let started = std::time::Instant::now();
    let BucketError::Unreachable(why) = cloud.put_new("a", b"1").unwrap_err() else {
        panic!("nothing was sent");
    };
    assert!(
        why.contains("refused") && started.elapsed() < Duration::from_secs(5),
        "{why}"
    );
}

/// The library panics at an address that is no URL.
#[test]
fn an_address_in_a_variable_is_a_url_and_an_empty_variable_is_unset() {
    let of = |name: &str, value: &str| {
        Settings::of(Scheme::S3, [(name.into(), value.into())].into_iter())
            .and_then(|settings| settings.check_endpoint().map(|()| settings))
    };
    for value in ["127.0.0.1:9", "localhost:1", "http://", "ftp://a", "a b", "/x"] {
        let error = of("AWS_ENDPOINT_URL", value).err().expect(value);
        assert_eq!(error.code(), ErrorCode::InvalidInput, "{value}");
    }
    assert!(of("AWS_REGION", "a b").is_err());
    assert!(of("AWS_ENDPOINT_URL", "https://localhost:1").is_ok());
    assert!(of("AWS_USE_FABRIC_ENDPOINT", "true").is_ok());
    let Settings::S3(builder) = of("AWS_ENDPOINT_URL", "").unwrap() else {
        panic!("it is S3");
    };
    assert_eq!(builder.get_config_value(&AmazonS3ConfigKey::Endpoint), None);
}
