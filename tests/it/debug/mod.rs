//! `debug`: the shell in which the store explains itself, as scripts drive it.

mod scripts;
