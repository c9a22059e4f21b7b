fn main() {
    // Commit and date for the plugin's description.
    gst_plugin_version_helper::info();
    // The version of wgpu for --version; the crate does not tell it at run time.
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    let version = lock.split("[[package]]").find_map(|package| {
        let field = |name| package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        (field("name")? == "\"wgpu\"").then(|| field("version").map(|version| version.trim_matches('"')))?
    });
    println!("cargo:rustc-env=WGPU_VERSION={}", version.unwrap_or("unknown"));
}
