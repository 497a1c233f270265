//! Tests of `debug`, the shell that inspects a store. Scripts provide its input.

mod damage;
mod live;
mod scripts;
mod story;
mod transcript;
