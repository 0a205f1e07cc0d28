//! Threads whose work nobody waits for at once.

use rustix::process::setpriority_process;

/// Has the calling thread, and those that it starts, stand back where processors are busy: the higher the `niceness`, up to 19, the further. Linux
/// means the thread alone. Where it is not allowed, the thread goes on as the others do.
pub fn stand_back(niceness: i32) {
    let _ = setpriority_process(None, niceness);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }

    #[test]
    fn a_thread_stands_back_with_those_that_it_starts_and_no_other() {
        let ours = niceness();
        let further = (ours + 3).min(19);
        let theirs = std::thread::spawn(move || {
            stand_back(further);
            (niceness(), std::thread::spawn(niceness).join().unwrap())
        });
        assert_eq!(theirs.join().unwrap(), (further, further));
        assert_eq!(niceness(), ours);
    }
}
