//! Prepares the link of the native module.

fn main() {
    napi_build::setup();
}
