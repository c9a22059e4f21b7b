//! Adapters that are none. Tests give them a name and a backend that fails when it is told to, which then goes the
//! whole way of a GPU: through the `adapter` setting, the element and the bridge.

use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{Backend, BackendError};
use crate::frame::FrameInfo;

/// Opens a backend for such frames, with so many slots.
type Open = dyn Fn(&FrameInfo, usize) -> Result<Box<dyn Backend>, BackendError> + Send + Sync;

static PRETENDED: Mutex<Vec<(String, Arc<Open>)>> = Mutex::new(Vec::new());

/// From now on the adapter of exactly this `name` is opened with `open`.
#[doc(hidden)]
pub fn pretend(
    name: &str,
    open: impl Fn(&FrameInfo, usize) -> Result<Box<dyn Backend>, BackendError> + Send + Sync + 'static,
) {
    PRETENDED.lock().unwrap_or_else(PoisonError::into_inner).push((name.into(), Arc::new(open)));
}

/// What opens the adapter called `name`, if it is a pretended one.
pub fn find(name: &str) -> Option<Arc<Open>> {
    let pretended = PRETENDED.lock().unwrap_or_else(PoisonError::into_inner);
    pretended.iter().find(|(pretended, _)| pretended == name).map(|(_, open)| open.clone())
}
