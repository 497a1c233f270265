//! The folder in which the client of a server works.
//!
//! A client starts the server of an Agent Plugin in the folder of the plugin (Agent Plugins 1.0, section 7.2.1), which is no
//! project of anybody. The client itself works in the project.
//!
//! # Layer
//! Layer 10, part of cli.

use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::{env, fs};

/// Enters the folder of the client, if the client started this process in the folder of a plugin. Without `/proc`, the server
/// stays where it is, and uses the user's own store.
pub(crate) fn enter_folder_of_client() {
    let Some(root) = env::var_os("PLUGIN_ROOT").map(PathBuf::from) else {
        return;
    };
    let here = env::current_dir().ok();
    let is_in_plugin = here
        .zip(root.canonicalize().ok())
        .is_some_and(|(here, root)| here.starts_with(root));
    if is_in_plugin && let Ok(folder) = fs::read_link(format!("/proc/{}/cwd", parent_id())) {
        drop(env::set_current_dir(folder));
    }
}
