"""Uses the element from Python with nothing but gi: sets properties, reads stats and messages.

    GST_PLUGIN_PATH=target/release python3 tests/python/levels.py [gpu|cpu]
"""

import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

FRAMES = 10

Gst.init(None)
pipeline = Gst.parse_launch(
    f"videotestsrc num-buffers={FRAMES} ! video/x-raw,format=NV12,width=64,height=48,framerate=25/1"
    " ! autolevels name=l ! fakesink"
)
levels = pipeline.get_by_name("l")
levels.set_property("backend", sys.argv[1] if len(sys.argv) > 1 else "auto")
levels.set_property("strength", 0.75)
levels.props.smoothing = 1.5
levels.set_property("mode", "equalize")
levels.set_property("post-messages", "histogram")
assert levels.get_property("strength") == 0.75
assert levels.props.mode.value_nick == "equalize"

pipeline.set_state(Gst.State.PLAYING)
bus = pipeline.get_bus()
times = []
while True:
    kinds = Gst.MessageType.ELEMENT | Gst.MessageType.EOS | Gst.MessageType.ERROR
    message = bus.timed_pop_filtered(20 * Gst.SECOND, kinds)
    assert message is not None, "nothing came for 20 s"
    if message.type == Gst.MessageType.ERROR:
        sys.exit(str(message.parse_error()))
    if message.type == Gst.MessageType.EOS:
        break
    structure = message.get_structure()
    if structure.get_name() != "autolevels":
        continue
    times.append(structure.get_value("running-time"))
    for name in ("black", "white", "gain", "exposure", "cut", "mean"):
        assert isinstance(structure.get_value(name), float), name
    histogram = structure.get_value("histogram")
    assert len(histogram) == 256 and sum(histogram) == 64 * 48, histogram

assert times == [n * 40 * Gst.MSECOND for n in range(FRAMES)], times
stats = levels.get_property("stats")
assert stats.get_value("frames") == FRAMES, stats.to_string()
assert stats.get_value("backend") in ("gpu", "cpu"), stats.to_string()
assert stats.get_value("late") == 0 and stats.get_value("failovers") == 0, stats.to_string()
for name in ("measure-time", "decide-time", "apply-time"):
    assert stats.get_value(name) > 0, stats.to_string()
pipeline.set_state(Gst.State.NULL)
print("ok", stats.to_string())
