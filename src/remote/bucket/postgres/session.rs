//! The thread of a connection to PostgreSQL, and the meaning of its errors.
//!
//! # Layer
//! Layer 7, part of `remote/bucket/postgres`.
//!
//! # Invariants
//! - PGN-1: after a call whose outcome is unknown, the next call connects anew.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls};

use super::super::{BucketError, BucketResult};
use super::tls::{Tls, is_refused};
use crate::error::{Error, Result};
use crate::threads::Builder as ThreadBuilder;

/// The longest wait for a server, and for one statement.
const CONNECT_WAIT: Duration = Duration::from_secs(30);
/// A segment of 16 MiB gets through a slow line.
const CALL_WAIT: Duration = Duration::from_mins(2);

/// The answer of the server to a statement.
pub(super) type Answer<T> = std::result::Result<T, tokio_postgres::Error>;

type Call = Box<dyn FnOnce(&Runtime, &mut Session) + Send>;

/// The thread with the runtime and the connection. It ends when this handle goes.
pub(super) struct Thread {
    calls: Sender<Call>,
}

/// How to connect, and the connection if there is one.
pub(super) struct Session {
    config: Config,
    tls: Option<Tls>,
    client: Option<Client>,
}

impl Thread {
    /// Starts the thread.
    ///
    /// # Errors
    /// `Io` if the system has no thread left.
    pub(super) fn start(mut session: Session) -> Result<Self> {
        let failed = |error| Error::io("cannot start the thread of a remote", error);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let (calls, received) = bounded::<Call>(0);
        let work = move || {
            for call in received {
                call(&runtime, &mut session);
            }
        };
        let thread = ThreadBuilder::new()
            .name("treering-postgres".to_owned())
            .spawn(work);
        thread.map(|_| Self { calls }).map_err(failed)
    }

    /// Runs `work` with a connection, and waits for its result.
    pub(super) fn call<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Answer<T> + Send + 'static,
    ) -> BucketResult<T> {
        let (reply, result) = bounded(1);
        let call: Call = Box::new(move |runtime, session| {
            // The caller waits, so it takes the result.
            drop(reply.send(runtime.block_on(session.run(work))));
        });
        let ended = || BucketError::Unclear("the thread of the connection ended".to_owned());
        self.calls.send(call).map_err(|_| ended())?;
        result.recv().map_err(|_| ended())?
    }
}

impl Session {
    pub(super) fn of(config: Config, tls: Option<Tls>) -> Self {
        Self {
            config,
            tls,
            client: None,
        }
    }

    async fn run<T>(&mut self, work: impl AsyncFnOnce(&Client) -> Answer<T>) -> BucketResult<T> {
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connect().await.map_err(BucketError::of_read)?,
        };
        let Ok(answer) = timeout(CALL_WAIT, work(&client)).await else {
            return Err(unanswered(CALL_WAIT));
        };
        let answer = answer.map_err(|error| bucket_error(&error));
        // INVARIANT PGN-1
        if !matches!(answer, Err(BucketError::Unclear(_))) {
            self.client = Some(client);
        }
        answer
    }

    async fn connect(&self) -> BucketResult<Client> {
        let connected = async {
            let client = match &self.tls {
                Some(tls) => {
                    let (client, connection) = self.config.connect(tls.clone()).await?;
                    tokio::spawn(connection);
                    client
                }
                None => {
                    let (client, connection) = self.config.connect(NoTls).await?;
                    tokio::spawn(connection);
                    client
                }
            };
            // A push is acknowledged, so it must be durable. Stricter settings of the server stay.
            let durable = "SELECT set_config('synchronous_commit', 'on', false)
                WHERE current_setting('synchronous_commit') = 'off'";
            client.query_typed(durable, &[]).await?;
            Ok(client)
        };
        let connected: std::result::Result<Answer<Client>, _> = timeout(CONNECT_WAIT, connected).await;
        let connected = connected.map_err(|_| unanswered(CONNECT_WAIT))?;
        connected.map_err(|error| match bucket_error(&error) {
            // The client stopped by itself, because the server asked for a password.
            BucketError::Failed(what)
                if cause_of(&error) == Cause::Client && self.config.get_password().is_none() =>
            {
                BucketError::Denied(format!(
                    "{what}; neither PGPASSWORD nor the file .pgpass has a password: add a line HOST:PORT:DATABASE:USER:PASSWORD"
                ))
            }
            other => other,
        })
    }
}

fn unanswered(wait: Duration) -> BucketError {
    BucketError::Unclear(format!("the server did not answer within {} s", wait.as_secs()))
}

/// Who caused an error.
#[derive(PartialEq)]
enum Cause {
    /// The server, which reports it.
    Server,
    /// The connection was lost, or there was none.
    Network,
    /// The certificate of the server is not trusted.
    Certificate,
    /// The client, because it cannot do what the server wants.
    Client,
}

fn cause_of(error: &tokio_postgres::Error) -> Cause {
    let Some(cause) = error.source() else {
        return Cause::Network;
    };
    match cause.downcast_ref::<io::Error>() {
        Some(cause) if is_refused(cause) => Cause::Certificate,
        Some(_) => Cause::Network,
        None if error.as_db_error().is_some() => Cause::Server,
        None => Cause::Client,
    }
}

/// Returns what an error of a statement means. An error that the server reports is certain: it took the statement back.
pub(super) fn bucket_error(error: &tokio_postgres::Error) -> BucketError {
    let Some(refusal) = error.as_db_error() else {
        let text = match error.source() {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        return match cause_of(error) {
            Cause::Network => BucketError::Unclear(text),
            Cause::Certificate => BucketError::Failed(format!(
                "{text}; add sslrootcert=FILE to the URL, with the certificate of its authority"
            )),
            _ => BucketError::Failed(text),
        };
    };
    let text = refusal.message().to_owned();
    match refusal.code().code() {
        // No table, no schema.
        "42P01" | "3F000" => BucketError::Missing,
        // A table or schema that another client made meanwhile.
        "23505" | "42P07" | "42P06" => BucketError::Exists,
        // No rights, or a server that only reads.
        "42501" | "25006" => BucketError::Denied(text),
        code => match &code[..2] {
            // A role or password that is wrong.
            "28" => BucketError::Denied(text),
            // A lost connection, a deadlock, too many clients, or a server that stops or starts: another try may succeed.
            "08" | "40" | "57" if code != "57014" => BucketError::Unclear(text),
            "53" if code == "53300" => BucketError::Unclear(text),
            _ => BucketError::Failed(text),
        },
    }
}
