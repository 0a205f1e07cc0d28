//! A panic is a defect, wherever it is caught.

use parking_lot::Mutex;

static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// From now on panics are remembered, and shown as usual: one that nobody catches ends this process.
pub fn watch() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        FIRST.lock().get_or_insert_with(|| panic.to_string());
        usual(panic);
    }));
}

/// The first panic, once.
pub fn take() -> Option<String> {
    FIRST.lock().take()
}
