//! Puts the stand-ins of src/threads.rs in their places.

fn main() {
    println!("cargo:rustc-cfg=shuttle");
    println!("cargo:rustc-check-cfg=cfg(shuttle)");
    println!("cargo:rerun-if-changed=build.rs");
}
