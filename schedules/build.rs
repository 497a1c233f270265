//! Replaces the types in src/threads.rs by those of the scheduler.

fn main() {
    println!("cargo:rustc-cfg=shuttle");
    println!("cargo:rustc-check-cfg=cfg(shuttle)");
    println!("cargo:rerun-if-changed=build.rs");
}
