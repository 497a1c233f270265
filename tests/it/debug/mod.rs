//! `debug`: the shell in which the store explains itself, as scripts drive it.

mod damage;
mod live;
mod scripts;
mod story;
mod transcript;
