//! `debug`: the shell that inspects a store, driven by scripts.

mod damage;
mod live;
mod scripts;
mod story;
mod transcript;
