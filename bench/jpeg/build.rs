//! Compiles the shim over libjpeg-turbo and links the system's library (Debian: libjpeg-dev).

fn main() {
    println!("cargo:rerun-if-changed=turbo_shim.c");
    cc::Build::new().file("turbo_shim.c").opt_level(2).compile("turbo_shim");
    println!("cargo:rustc-link-lib=jpeg");
}
