//! The two elements of a bridge, set up so that neither blocks nor loses what is in order.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use gst::prelude::*;
use gst_app::{AppSink, AppSinkCallbacks, AppSrc, AppSrcCallbacks};
use gst_video::VideoInfo;

use super::{Bridge, Options, QUEUED, Shared};
use crate::gpu;
use crate::pool::PagePool;

/// How often a thread that is held back looks whether its pad was stopped.
const POLL: Duration = Duration::from_millis(10);

pub fn appsink(shared: &Arc<Shared>, options: Options) -> AppSink {
    let appsink = AppSink::builder()
        .caps(&Bridge::caps())
        .sync(false)
        .async_(false)
        .enable_last_sample(false)
        .max_buffers(if options.live { QUEUED } else { 0 })
        .drop(options.live)
        .wait_on_eos(false)
        .build();
    // QoS of the far sink comes back through the `appsrc`; this sink itself shows nothing.
    appsink.set_qos(false);
    let (prerolled, rendered, event, ended) = (shared.clone(), shared.clone(), shared.clone(), shared.clone());
    appsink.set_callbacks(
        AppSinkCallbacks::builder()
            .new_preroll(move |appsink| {
                let preroll = prerolled_sample(appsink, &prerolled);
                prerolled.arrived(preroll)
            })
            .new_sample(move |_| rendered.arrived(None))
            .new_event(move |_| {
                event.signal();
                false
            })
            .eos(move |_| {
                ended.lock().eos = true;
                ended.signal();
            })
            .build(),
    );
    answer_allocation(&appsink, shared);
    let shared = shared.clone();
    sink_pad(&appsink).add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
        if !options.live {
            wait_for_room(pad, &shared);
        }
        // While it plays nobody holds a second reference, and the frame can be levelled in place.
        if pad.parent_element().is_some_and(|appsink| appsink.current_state() != gst::State::Playing) {
            shared.lock().arriving = info.buffer().cloned();
        }
        gst::PadProbeReturn::Ok
    });
    appsink
}

/// Holds upstream back while enough frames wait.
fn wait_for_room(pad: &gst::Pad, shared: &Shared) {
    let mut state = shared.lock();
    let epoch = state.epoch;
    while state.queued >= QUEUED
        && !state.stop
        && state.epoch == epoch
        && !pad.pad_flags().contains(gst::PadFlags::FLUSHING)
    {
        // A pad that stops says so to nobody, hence the time limit.
        state = shared.wake.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The preroll frame. The `appsink` itself forgets it whenever anything else is pulled, so it is noted on arrival.
fn prerolled_sample(appsink: &AppSink, shared: &Shared) -> Option<gst::Sample> {
    let Some(buffer) = shared.lock().arriving.take() else {
        return appsink.try_pull_preroll(gst::ClockTime::ZERO);
    };
    let pad = sink_pad(appsink);
    let segment = pad.sticky_event::<gst::event::Segment>(0)?;
    Some(gst::Sample::builder().buffer(&buffer).caps(&pad.current_caps()?).segment(segment.segment()).build())
}

pub fn appsrc(shared: &Arc<Shared>, options: Options) -> AppSrc {
    let appsrc = AppSrc::builder()
        .format(gst::Format::Time)
        .handle_segment_change(true)
        .stream_type(gst_app::AppStreamType::Stream)
        .is_live(options.live)
        .max_buffers(QUEUED.into())
        .max_bytes(0)
        .min_percent(50)
        .build();
    if options.live {
        appsrc.set_leaky_type(gst_app::AppLeakyType::Downstream);
    }
    let hungry = shared.clone();
    appsrc.set_callbacks(
        AppSrcCallbacks::builder()
            .need_data(move |_, _| {
                hungry.lock().asked += 1;
                hungry.signal();
            })
            .build(),
    );
    appsrc
}

pub fn sink_pad(appsink: &AppSink) -> gst::Pad {
    appsink.static_pad("sink").expect("an appsink has a sink pad")
}

/// Tells upstream that strides need not be tight, which saves it a copy, and offers it memory that a GPU reads in
/// place if one will.
fn answer_allocation(appsink: &AppSink, shared: &Arc<Shared>) {
    let shared = shared.clone();
    sink_pad(appsink).add_probe(gst::PadProbeType::QUERY_DOWNSTREAM, move |_, info| {
        let Some(gst::QueryViewMut::Allocation(query)) = info.query_mut().map(|query| query.view_mut()) else {
            return gst::PadProbeReturn::Ok;
        };
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        let info = query.get_owned().0.and_then(|caps| VideoInfo::from_caps(&caps).ok());
        if let Some(info) = info.filter(|_| gpu::expects_pages(&shared.lock().settings))
            && let (Some(pool), Ok(size)) = (PagePool::new(&info, 0), u32::try_from(info.size()))
        {
            query.add_allocation_pool(Some(&pool), size, 0, 0);
        }
        gst::PadProbeReturn::Handled
    });
}

/// Sends flushes on to the `appsrc`, and notices when a stream starts afresh.
pub fn forward_flushes(appsink: &AppSink, appsrc: &AppSrc, shared: &Arc<Shared>) {
    let (shared, appsrc) = (shared.clone(), appsrc.downgrade());
    let events = gst::PadProbeType::EVENT_FLUSH | gst::PadProbeType::EVENT_DOWNSTREAM;
    sink_pad(appsink).add_probe(events, move |pad, info| {
        let Some(event) = info.event() else { return gst::PadProbeReturn::Ok };
        match event.view() {
            gst::EventView::FlushStart(_) => {
                let gate = shared.gate();
                shared.restart(true);
                drop(gate);
                appsrc.upgrade().map(|appsrc| appsrc.send_event(event.clone()));
            }
            gst::EventView::FlushStop(_) => {
                appsrc.upgrade().map(|appsrc| appsrc.send_event(event.clone()));
            }
            // The appsink has thrown away what it held by the time of the next segment.
            gst::EventView::Segment(_) => {
                let mut state = shared.lock();
                let flushed = std::mem::take(&mut state.flushing);
                drop(state);
                if flushed {
                    shared.signal();
                }
            }
            // Pads lose their sticky events when they stop, so this is a start and not the next of two streams.
            gst::EventView::StreamStart(_) if pad.sticky_event::<gst::event::StreamStart>(0).is_none() => {
                let gate = shared.gate();
                shared.restart(false);
                drop(gate);
            }
            _ => {}
        }
        gst::PadProbeReturn::Ok
    });
}

/// Sends upstream what comes from downstream and may matter there: lateness, keys and clicks, wishes for key frames.
pub fn forward_upstream(appsrc: &AppSrc, appsink: &AppSink) {
    let sink = sink_pad(appsink).downgrade();
    let source = appsrc.static_pad("src").expect("an appsrc has a source pad");
    source.add_probe(gst::PadProbeType::EVENT_UPSTREAM, move |_, info| {
        if let (Some(sink), Some(event)) = (sink.upgrade(), info.event())
            && matches!(
                event.type_(),
                gst::EventType::Qos | gst::EventType::Navigation | gst::EventType::CustomUpstream
            )
        {
            // Through the pad: the element's own way takes its state lock, which a stopping pipeline holds.
            sink.push_event(event.clone());
        }
        gst::PadProbeReturn::Ok
    });
}
