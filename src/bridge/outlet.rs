//! The way out of a bridge: pushing in order, with back-pressure, and nothing stale.

use std::sync::Arc;

use gst::prelude::*;
use gst_app::AppSrc;

use super::{QUEUED, Shared, State};
use crate::backend::BackendError;
use crate::frame::FrameError;

/// Why the worker drops what it has in its hands.
pub enum Interrupt {
    /// The bridge is being dropped.
    Stopped,
    /// A flush or a fresh start came in between.
    Stale,
    /// Downstream takes no more.
    Refused(gst::FlowError),
    /// The frame cannot be levelled.
    Failed(BackendError),
}

impl From<FrameError> for Interrupt {
    fn from(error: FrameError) -> Interrupt {
        Interrupt::Failed(error.into())
    }
}

/// Pushes into the `appsrc`.
pub struct Outlet {
    appsrc: AppSrc,
    shared: Arc<Shared>,
    live: bool,
    /// Flushes and starts that this side knows of.
    pub epoch: u64,
    /// Caps and segment that the `appsrc` had last.
    sent: Option<(gst::Caps, gst::Segment)>,
    /// Events that came before the first frame.
    held_events: Vec<gst::Event>,
    /// How often the `appsrc` had asked for data when it last refused some.
    refused: u64,
}

impl Outlet {
    pub fn new(appsrc: &AppSrc, shared: Arc<Shared>, live: bool) -> Outlet {
        let appsrc = appsrc.clone();
        Outlet { appsrc, shared, live, epoch: 0, sent: None, held_events: Vec::new(), refused: 0 }
    }

    /// Pushes as soon as there is room.
    pub fn push(&mut self, buffer: gst::Buffer, caps: &gst::Caps, segment: gst::Segment) -> Result<(), Interrupt> {
        if self.sent.as_ref().is_none_or(|sent| sent.0 != *caps || sent.1 != segment) {
            return self.push_first(buffer, caps.clone(), segment);
        }
        let Some(asked) = self.wait_for_room()? else { return Ok(()) };
        let gate = self.shared.gate();
        self.check_epoch()?;
        // The buffer is downstream's alone then, and so may be written to.
        let flow = self.appsrc.push_buffer(buffer);
        drop(gate);
        match flow {
            Ok(_) => Ok(()),
            // The output was stopped. It will ask for data when it runs again.
            Err(gst::FlowError::Flushing) => {
                self.refused = asked;
                self.sent = None;
                Ok(())
            }
            Err(flow) => Err(Interrupt::Refused(flow)),
        }
    }

    /// Pushes a frame that brings new caps or a new segment. It is not lost if the output is only about to start,
    /// which may wait for it.
    fn push_first(&mut self, buffer: gst::Buffer, caps: gst::Caps, segment: gst::Segment) -> Result<(), Interrupt> {
        let sample = gst::Sample::builder().buffer(&buffer).caps(&caps).segment(&segment).build();
        drop(buffer);
        while let Some(asked) = self.wait_for_room()? {
            let gate = self.shared.gate();
            self.check_epoch()?;
            if self.sent.is_none() {
                // Tags must follow the caps.
                self.appsrc.set_caps(Some(&caps));
                for event in &self.held_events {
                    self.appsrc.send_event(event.clone());
                }
            }
            let flow = self.appsrc.push_sample(&sample);
            drop(gate);
            match flow {
                Ok(_) => {
                    self.held_events.clear();
                    self.sent = Some((caps, segment));
                    break;
                }
                Err(gst::FlowError::Flushing) => self.refused = asked,
                Err(flow) => return Err(Interrupt::Refused(flow)),
            }
        }
        Ok(())
    }

    /// Waits until the output runs and has room; returns how often it has asked for data. When live there is no
    /// waiting, and nothing is returned if it does not run.
    fn wait_for_room(&self) -> Result<Option<u64>, Interrupt> {
        loop {
            let asked = self.shared.lock().asked;
            let runs = asked != self.refused;
            if self.live || (runs && self.appsrc.current_level_buffers() < u64::from(QUEUED)) {
                return Ok(runs.then_some(asked));
            }
            // It asks whenever half of its room is free. Other signals are left for the main loop.
            let full = |state: &mut State| state.asked == asked && self.check(state).is_ok();
            self.check(&self.shared.wait_while(self.shared.lock(), full))?;
        }
    }

    pub fn check_epoch(&self) -> Result<(), Interrupt> {
        self.check(&self.shared.lock())
    }

    fn check(&self, state: &State) -> Result<(), Interrupt> {
        if state.stop {
            Err(Interrupt::Stopped)
        } else if state.epoch != self.epoch || state.flushing {
            Err(Interrupt::Stale)
        } else {
            Ok(())
        }
    }

    /// Sends an event behind the frames; one that comes before the first frame waits for it.
    pub fn event(&mut self, event: gst::Event) -> Result<(), Interrupt> {
        if self.sent.is_none() {
            self.held_events.push(event);
            return Ok(());
        }
        let gate = self.shared.gate();
        self.check_epoch()?;
        // Refused only by an appsrc that is not running, where it would be lost anyway.
        self.appsrc.send_event(event);
        drop(gate);
        Ok(())
    }

    /// Ends the stream behind the frames.
    pub fn end(&self) -> Result<(), Interrupt> {
        let gate = self.shared.gate();
        self.check_epoch()?;
        // Refused only by an appsrc that is stopped, and so at its end already.
        let _ = self.appsrc.end_of_stream();
        drop(gate);
        Ok(())
    }

    /// Begins a new epoch with nothing sent.
    pub fn restart(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.sent = None;
        self.held_events.clear();
    }
}
