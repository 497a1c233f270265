//! Replaces the types of src/threads.rs by the scheduler's.

fn main() {
    println!("cargo:rustc-cfg=shuttle");
    println!("cargo:rustc-check-cfg=cfg(shuttle)");
    println!("cargo:rerun-if-changed=build.rs");
}
