//! A wire between two nodes that a test can cut, or make carry wrong bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use parking_lot::Mutex;

const WHOLE: u8 = 0;
const CUT: u8 = 1;
const TORN: u8 = 2;
const FLIPS_A_BIT: u8 = 3;

pub struct Wire {
    pub addr: String,
    far: Arc<Mutex<String>>,
    passing: Arc<Mutex<Vec<Arc<AtomicU8>>>>,
}

impl Wire {
    pub fn to(far: String) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Wire {
            addr: listener.local_addr().unwrap().to_string(),
            far: Arc::new(Mutex::new(far)),
            passing: Arc::default(),
        };
        let (passing, far) = (wire.passing.clone(), wire.far.clone());
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let far = far.lock().clone();
                let (near, Ok(far)) = (near.unwrap(), TcpStream::connect(far)) else {
                    continue;
                };
                let state = Arc::new(AtomicU8::new(WHOLE));
                passing.lock().push(state.clone());
                let ends = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
                for (from, to) in ends {
                    let state = state.clone();
                    std::thread::spawn(move || pass(from, to, &state));
                }
            }
        });
        wire
    }

    pub fn leads_to(&self, far: String) {
        *self.far.lock() = far;
    }

    /// The connections that pass through it carry nothing more and stay open; the next ones are whole.
    pub fn cut(&self) {
        self.passing.lock().drain(..).for_each(|state| state.store(CUT, SeqCst));
    }

    /// The connections that pass through it end with their next byte.
    pub fn tear(&self) {
        self.passing
            .lock()
            .drain(..)
            .for_each(|state| state.store(TORN, SeqCst));
    }

    /// One bit is wrong on each of the connections that pass through it.
    pub fn flip_a_bit(&self) {
        let passing = self.passing.lock();
        passing.iter().for_each(|state| state.store(FLIPS_A_BIT, SeqCst));
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, state: &AtomicU8) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        match state.load(SeqCst) {
            CUT => continue,
            TORN => break,
            FLIPS_A_BIT if state.compare_exchange(FLIPS_A_BIT, WHOLE, SeqCst, SeqCst).is_ok() => {
                buffer[read / 2] ^= 1 << (read % 8);
            }
            _ => {}
        }
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    if state.load(SeqCst) != CUT {
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}
