//! A panic is a defect, wherever it is caught.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

static HAS_PANICKED: AtomicBool = AtomicBool::new(false);
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// From now on panics are remembered.
pub fn watch() {
    std::panic::set_hook(Box::new(|panic| {
        FIRST.lock().get_or_insert_with(|| panic.to_string());
        HAS_PANICKED.store(true, Ordering::Release);
    }));
}

/// The first panic, once.
pub fn take() -> Option<String> {
    match HAS_PANICKED.load(Ordering::Acquire) {
        true => FIRST.lock().take(),
        false => None,
    }
}
