fn main() {
    // Commit and date for the plugin's description.
    gst_plugin_version_helper::info();
}
