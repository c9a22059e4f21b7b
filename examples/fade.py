#!/usr/bin/python3
"""The element from Python: the strength fades in and out while the video plays, and the statistics are shown.

    GST_PLUGIN_PATH=target/release python3 examples/fade.py [SOURCE] [SINK]

SOURCE and SINK are launch lines, by default a test picture and a window. Needs python3-gi and the plugin
(`cargo build --release`).
"""

import math
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst

SECONDS_A_FADE = 4


def main():
    source = sys.argv[1] if len(sys.argv) > 1 else "videotestsrc is-live=true num-buffers=300 ! videobalance contrast=0.4"
    sink = sys.argv[2] if len(sys.argv) > 2 else "autovideosink"
    Gst.init(None)
    pipeline = Gst.parse_launch(f"{source} ! videoconvert ! autolevels name=levels ! videoconvert ! {sink}")
    levels = pipeline.get_by_name("levels")
    loop = GLib.MainLoop()
    failures = []

    def fade():
        found, position = pipeline.query_position(Gst.Format.TIME)
        if found:
            turn = position / Gst.SECOND / SECONDS_A_FADE * math.tau
            levels.set_property("strength", 0.5 - 0.5 * math.cos(turn))
        return True

    def on_message(_bus, message):
        if message.type == Gst.MessageType.ERROR:
            failures.append(message.parse_error()[0].message)
            loop.quit()
        elif message.type == Gst.MessageType.EOS:
            loop.quit()

    bus = pipeline.get_bus()
    bus.add_signal_watch()
    bus.connect("message", on_message)
    GLib.timeout_add(40, fade)
    pipeline.set_state(Gst.State.PLAYING)
    try:
        loop.run()
    except KeyboardInterrupt:
        pass
    stats = levels.get_property("stats")
    print(f"{stats.get_value('frames')} frames on {stats.get_value('backend')} {stats.get_value('adapter')}")
    pipeline.set_state(Gst.State.NULL)
    return failures[0] if failures else 0


if __name__ == "__main__":
    sys.exit(main())
