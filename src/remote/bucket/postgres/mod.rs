//! A bucket in a table of a PostgreSQL database: `postgres://user@host/database?schema=NAME`.
//!
//! # Layer
//! Layer 7, part of `remote/bucket`.
//!
//! # Invariants
//! - PGB-1: each call is one statement, which is one transaction. So the server decides which of two writers wins (BKT-1).
//! - PGB-2: a version is 16 random bytes, new for each write. A number of the database would repeat after a restore.
//! - PGB-3: the first write makes a missing table. So a role without the right to make one can read and write.

mod session;
#[cfg(test)]
mod tests;
mod tls;
mod url;

use std::ops::Range;
use std::sync::Arc;

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use self::session::{Answer, Session, Thread};
use self::url::PostgresUrl;
use super::{Bucket, BucketError, BucketResult, Stored, Version};
use crate::digest::to_hex;
use crate::disk::random_bytes;
use crate::error::Result;

/// The table of a bucket.
const TABLE: &str = "treering_objects";

/// A bucket whose objects are the rows of a table.
pub struct Postgres {
    thread: Thread,
    table: Table,
    about: String,
}

/// The table of a bucket, with its statements.
#[derive(Clone)]
struct Table {
    /// The schema, quoted; `None` for that of the search path of the role.
    schema: Option<Arc<str>>,
    /// The name of the table, qualified.
    name: Arc<str>,
}

impl Postgres {
    /// Opens a bucket. The first call connects.
    ///
    /// # Errors
    /// `InvalidInput` if the URL is not understood, or would send a password to another machine without TLS; `Denied` if the
    /// file of passwords is not private; `Io`.
    pub fn open(url: &str) -> Result<Self> {
        let about = super::without_password(url);
        let PostgresUrl { config, tls, schema } = PostgresUrl::parse(url)?;
        let schema = schema.map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
        let name = schema
            .as_ref()
            .map_or_else(|| TABLE.to_owned(), |schema| format!("{schema}.{TABLE}"));
        Ok(Self {
            thread: Thread::start(Session::of(config, tls))?,
            table: Table {
                schema: schema.map(Arc::from),
                name: name.into(),
            },
            about,
        })
    }

    /// Runs a statement with the table.
    fn call<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&Client, &Table) -> Answer<T> + Send + 'static,
    ) -> BucketResult<T> {
        let table = self.table.clone();
        self.thread.call(async move |client| work(client, &table).await)
    }
}

impl Table {
    /// Makes the table, and its schema if the URL names one. Another client may make it at the same time.
    async fn make(&self, client: &Client) -> Answer<()> {
        // A bytea is stored as it is: a range then costs no more than its bytes.
        let table = format!(
            "CREATE TABLE {0} (name text COLLATE \"C\" PRIMARY KEY, version text NOT NULL, bytes bytea NOT NULL);
             ALTER TABLE {0} ALTER bytes SET STORAGE EXTERNAL",
            self.name
        );
        let made = client.batch_execute(&table).await;
        match (made, &self.schema) {
            (Err(error), Some(schema)) if session::bucket_error(&error) == BucketError::Missing => {
                let schema = format!("CREATE SCHEMA IF NOT EXISTS {schema};");
                client.batch_execute(&(schema + &table)).await
            }
            (made, _) => made,
        }
    }

    /// Creates an object. Returns whether the name was free.
    async fn insert(&self, client: &Client, row: &[(&(dyn ToSql + Sync), Type)]) -> Answer<bool> {
        let statement = format!(
            "INSERT INTO {} (name, version, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            self.name
        );
        Ok(client.execute_typed(&statement, row).await? == 1)
    }
}

fn new_version() -> BucketResult<String> {
    // Nothing was sent.
    let random: [u8; 16] = random_bytes().map_err(|error| BucketError::Failed(error.to_string()))?;
    Ok(to_hex(&random))
}

impl Bucket for Postgres {
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored> {
        let name = name.to_owned();
        let found = self.call(async move |client, table| {
            let part = if range.is_some() {
                "substring(bytes FROM $2 FOR $3)"
            } else {
                "bytes"
            };
            let statement = format!("SELECT version, {part} FROM {} WHERE name = $1", table.name);
            // A bytea has less than 2^30 bytes.
            let number = |at: u64| i32::try_from(at.min(1 << 30)).unwrap_or(i32::MAX);
            let range = range.map(|range| {
                (
                    number(range.start) + 1,
                    number(range.end.saturating_sub(range.start)),
                )
            });
            let mut given: Vec<(&(dyn ToSql + Sync), Type)> = vec![(&name, Type::TEXT)];
            if let Some((from, length)) = &range {
                given.extend([(from as &(dyn ToSql + Sync), Type::INT4), (length, Type::INT4)]);
            }
            let row = client.query_typed_opt(&statement, &given).await?;
            row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
        })?;
        let (version, bytes) = found.ok_or(BucketError::Missing)?;
        Ok(Stored {
            bytes,
            version: Version(version),
        })
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        let (name, version, bytes) = (name.to_owned(), new_version()?, bytes.to_vec());
        let is_new = self.call(async move |client, table| {
            let row: [(&(dyn ToSql + Sync), Type); 3] =
                [(&name, Type::TEXT), (&version, Type::TEXT), (&bytes, Type::BYTEA)];
            match table.insert(client, &row).await {
                // INVARIANT PGB-3
                Err(error) if session::bucket_error(&error) == BucketError::Missing => {
                    match table.make(client).await {
                        Err(error) if session::bucket_error(&error) != BucketError::Exists => Err(error),
                        _ => table.insert(client, &row).await,
                    }
                }
                inserted => inserted,
            }
        })?;
        if is_new { Ok(()) } else { Err(BucketError::Exists) }
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version> {
        // INVARIANT PGB-2
        let new = new_version()?;
        let (name, old, next, bytes) = (name.to_owned(), version.0.clone(), new.clone(), bytes.to_vec());
        let swapped = self.call(async move |client, table| {
            let statement = format!(
                "UPDATE {} SET version = $3, bytes = $4 WHERE name = $1 AND version = $2",
                table.name
            );
            let given: [(&(dyn ToSql + Sync), Type); 4] = [
                (&name, Type::TEXT),
                (&old, Type::TEXT),
                (&next, Type::TEXT),
                (&bytes, Type::BYTEA),
            ];
            client.execute_typed(&statement, &given).await
        });
        match swapped {
            Ok(1) => Ok(Version(new)),
            Ok(_) | Err(BucketError::Missing) => Err(BucketError::Stale),
            Err(error) => Err(error),
        }
    }

    fn list(&self, prefix: &str) -> BucketResult<Vec<String>> {
        let prefix = prefix.to_owned();
        let listed = self.call(async move |client, table| {
            let statement = format!(
                "SELECT name FROM {} WHERE name >= $1 AND starts_with(name, $1) ORDER BY name",
                table.name
            );
            let rows = client.query_typed(&statement, &[(&prefix, Type::TEXT)]).await?;
            rows.iter().map(|row| row.try_get(0)).collect()
        });
        match listed {
            Err(BucketError::Missing) => Ok(Vec::new()),
            listed => listed,
        }
    }

    fn delete(&self, name: &str) -> BucketResult<()> {
        let name = name.to_owned();
        let deleted = self.call(async move |client, table| {
            let statement = format!("DELETE FROM {} WHERE name = $1", table.name);
            client.execute_typed(&statement, &[(&name, Type::TEXT)]).await
        });
        match deleted {
            Ok(_) | Err(BucketError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn describe(&self) -> String {
        self.about.clone()
    }
}
