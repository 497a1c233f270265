//! The folders of a user, as the XDG Base Directory Specification names them.
//!
//! # Layer
//! Layer 1, inside `disk`.

use std::env;
use std::path::PathBuf;

/// Returns Treering's folder below the folder in `variable`, or below `usual` in the home folder if `variable` is unset.
pub fn xdg_folder(variable: &str, usual: &str) -> Option<PathBuf> {
    Some(xdg_base(variable, usual)?.join("treering"))
}

/// Returns the folder in `variable`, else `usual` in the home folder. Relative paths in the environment are ignored, as the
/// specification says.
pub fn xdg_base(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |name| {
        let value = env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(usual)))
}
