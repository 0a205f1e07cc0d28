//! Sessions that no front serves: those of tests and of the simulation.

use sql_api::host::Host;
use sql_api::session::SessionAccount;

use super::Surroundings;

/// Who logs in is this account; none: nobody does.
pub struct Alone(pub Option<SessionAccount>);

impl Surroundings for Alone {
    fn log_in(&self, _user: Option<&str>, _password: &[u8], _host: &dyn Host) -> Result<SessionAccount, String> {
        self.0.clone().ok_or_else(|| "nobody logs in here".to_owned())
    }

    fn needs_no_password(&self) -> bool {
        true
    }

    fn address(&self) -> String {
        "127.0.0.1:1".to_owned()
    }

    fn local_address(&self) -> String {
        "127.0.0.1:6379".to_owned()
    }

    fn kill(&self, _id: u64) -> bool {
        false
    }
}
