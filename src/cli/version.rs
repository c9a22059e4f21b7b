//! What `--version` prints: the versions that a report of a fault needs.

/// `autolevels`, GStreamer and wgpu, and where GStreamer finds the plugin.
pub fn text() -> String {
    let (gstreamer, plugin) = match gst::init() {
        Ok(()) => (gst::version_string().replace("GStreamer ", ""), plugin()),
        Err(error) => (format!("does not start: {error}"), "unknown".into()),
    };
    format!(
        "autolevels {} ({})\nGStreamer  {gstreamer}\nwgpu       {}\nplugin     {plugin}\n",
        env!("CARGO_PKG_VERSION"),
        env!("COMMIT_ID"),
        env!("WGPU_VERSION"),
    )
}

fn plugin() -> String {
    match gst::Registry::get().find_plugin("autolevels") {
        Some(plugin) => match plugin.filename() {
            Some(path) => format!("{} ({})", path.display(), plugin.version()),
            None => "built in".into(),
        },
        None => "not on GStreamer's path (the program does not need it)".into(),
    }
}
