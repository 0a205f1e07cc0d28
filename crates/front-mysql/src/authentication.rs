//! Who is it? The conversation that proves a password, as a state machine: the client's packets in, steps out.
//!
//! ```text
//!   answer of the account's plugin ─────────────▶ native: granted or denied
//!   answer of another plugin, or none ──▶ switch ──▶ answer
//!   sha2 answer ──▶ digest cached ──────────────▶ granted or denied
//!               └─▶ ask for the password ──▶ (private) password ──────▶ slow check ──▶ granted or denied
//!                                       └──▶ public key ──▶ encrypted ──▶ slow check ──▶ …
//! ```
//!
//! A user who does not exist goes the same way as one with a wrong password.

use std::sync::{Arc, LazyLock};

use front::Channel;
use front::backend::{Account, Plugin};
use front::passwords::{self, PASSWORD_LEN_MAX, Passwords, Proved};
use mysql_wire::auth::{Nonce, native, sha2};
use mysql_wire::handshake::{AuthSwitch, encode_auth_more_data};

use crate::rsa::Key;

/// What the connection has to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this packet, and hand the client's answer to [`Authentication::answered`].
    Ask(Vec<u8>),
    /// Run [`Check::run`] where it disturbs nobody, and hand the outcome to [`Authentication::checked`].
    Check(Check),
    /// Let the client in, after sending this packet.
    Granted {
        last_words: Option<Vec<u8>>,
    },
    Denied,
}

/// A comparison that takes milliseconds by design, of what the client has sent of its password.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    /// One after the other: the password, and the one before that still counts.
    stored: Vec<String>,
    secret: Secret,
}

#[derive(Debug, PartialEq, Eq)]
enum Secret {
    Password(Vec<u8>),
    Encrypted {
        ciphertext: Vec<u8>,
        nonce: [u8; Nonce::LEN],
    },
    /// On loopback a client may send either, and the length does not tell.
    EncryptedOrPassword {
        bytes: Vec<u8>,
        nonce: [u8; Nonce::LEN],
    },
}

/// One client's attempt.
pub struct Authentication {
    passwords: Arc<Passwords>,
    key: Arc<LazyLock<Key>>,
    nonce: Nonce,
    /// None for an unknown user.
    account: Option<Account>,
    plugin: Plugin,
    channel: Channel,
    expected: Expected,
    /// What error messages say.
    pub using_password: bool,
}

/// What the client's next packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Answer,
    PasswordOrKeyRequest,
    EncryptedPassword,
}

/// The plugin in the protocol.
pub fn name_of(plugin: Plugin) -> &'static str {
    match plugin {
        Plugin::CachingSha2Password => sha2::NAME,
        Plugin::MysqlNativePassword => native::NAME,
    }
}

impl Check {
    /// The password, if it fits.
    pub fn run(self, key: &Key) -> Option<Proved> {
        let decrypt = |ciphertext: &[u8], nonce: [u8; Nonce::LEN]| {
            let text = key.decrypt(ciphertext)?;
            Some(sha2::obscure(&text, &Nonce(nonce)))
        };
        let mut password = match self.secret {
            Secret::Password(password) => password,
            Secret::Encrypted { ciphertext, nonce } => decrypt(&ciphertext, nonce)?,
            Secret::EncryptedOrPassword { bytes, nonce } => decrypt(&bytes, nonce).unwrap_or(bytes),
        };
        // It is ended by NUL.
        (password.pop()? == 0).then_some(())?;
        passwords::Check::new(self.stored, password).run()
    }
}

impl Authentication {
    /// `nobody` is the plugin that an unknown user is made to believe in.
    pub fn new(
        passwords: Arc<Passwords>,
        key: Arc<LazyLock<Key>>,
        nonce: Nonce,
        account: Option<Account>,
        nobody: Plugin,
        channel: Channel,
    ) -> Self {
        let plugin = account.as_ref().map_or(nobody, |account| account.plugin);
        Authentication {
            passwords,
            key,
            nonce,
            account,
            plugin,
            channel,
            expected: Expected::Answer,
            using_password: false,
        }
    }

    /// Whose login it is.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The account, once access is granted.
    pub fn into_account(self) -> Option<Account> {
        self.account
    }

    /// Begins with what the client sent along with its name: the answer of the plugin it believes in. A client that believes in
    /// another than `greeting_plugin` may have no answer yet, since it shows its plugin only a nonce meant for that.
    pub fn begin(&mut self, greeting_plugin: Plugin, client_plugin: Option<&[u8]>, answer: &[u8]) -> Step {
        self.using_password = !answer.is_empty();
        // Clients from before plugins know one.
        let client_plugin = client_plugin.unwrap_or(native::NAME.as_bytes());
        let is_answer = !answer.is_empty() || client_plugin == name_of(greeting_plugin).as_bytes();
        // No password looks the same under every plugin.
        let is_for_account =
            client_plugin == name_of(self.plugin).as_bytes() || (answer.is_empty() && self.has_no_password());
        if is_answer && is_for_account {
            return self.check_answer(answer);
        }
        let mut packet = Vec::new();
        AuthSwitch {
            plugin: name_of(self.plugin).as_bytes(),
            nonce: self.nonce,
        }
        .encode(&mut packet);
        Step::Ask(packet)
    }

    /// Goes on with the client's answer to the last [`Step::Ask`].
    pub fn answered(&mut self, packet: &[u8]) -> Step {
        match self.expected {
            Expected::Answer => {
                self.using_password = !packet.is_empty() && packet != [0];
                self.check_answer(packet)
            }
            Expected::PasswordOrKeyRequest if packet == [sha2::REQUEST_PUBLIC_KEY] => {
                self.expected = Expected::EncryptedPassword;
                let mut reply = Vec::new();
                encode_auth_more_data(&mut reply, self.key.public_pem().as_bytes());
                Step::Ask(reply)
            }
            // Refused before it is hashed; the byte more is the NUL that ends it.
            _ if packet.len() > PASSWORD_LEN_MAX + 1 => Step::Denied,
            Expected::PasswordOrKeyRequest if self.channel == Channel::Private => {
                self.check_slowly(Secret::Password(packet.to_vec()))
            }
            Expected::PasswordOrKeyRequest if self.channel == Channel::Loopback => {
                self.check_slowly(match packet.len() {
                    Key::CIPHERTEXT_LEN => Secret::EncryptedOrPassword {
                        bytes: packet.to_vec(),
                        nonce: self.nonce.0,
                    },
                    _ => Secret::Password(packet.to_vec()),
                })
            }
            // A client that knows the key from a file does not ask for it.
            Expected::PasswordOrKeyRequest | Expected::EncryptedPassword => self.check_slowly(Secret::Encrypted {
                ciphertext: packet.to_vec(),
                nonce: self.nonce.0,
            }),
        }
    }

    /// Goes on with the outcome of the last [`Step::Check`].
    pub fn checked(&mut self, outcome: Option<Proved>) -> Step {
        let (Some(proved), Some(_)) = (outcome, &self.account) else {
            return Step::Denied;
        };
        self.passwords.remember(proved);
        Step::Granted { last_words: None }
    }

    fn has_no_password(&self) -> bool {
        self.account.as_ref().is_some_and(Account::has_no_password)
    }

    /// A password for an account that has none goes the long way of a wrong one.
    fn check_answer(&mut self, answer: &[u8]) -> Step {
        // MySQL's own library says so that there is no password.
        let answer = match (self.plugin, answer) {
            (Plugin::CachingSha2Password, [0]) => &[],
            (_, answer) => answer,
        };
        if answer.is_empty() {
            return match self.has_no_password() {
                true => Step::Granted { last_words: None },
                false => Step::Denied,
            };
        }
        let stored = self.stored();
        match self.plugin {
            Plugin::MysqlNativePassword => {
                let fits = |stored: &String| native::verify(stored.as_bytes(), &self.nonce, answer);
                match stored.iter().any(fits) && self.account.is_some() {
                    true => Step::Granted { last_words: None },
                    false => Step::Denied,
                }
            }
            Plugin::CachingSha2Password => {
                let proves = |digest: &sha2::Digest| digest.verify(&self.nonce, answer);
                if self.passwords.is_known(&stored, proves) {
                    return Step::Granted {
                        last_words: Some(more_data(sha2::FAST_AUTHENTICATION_DONE)),
                    };
                }
                self.expected = Expected::PasswordOrKeyRequest;
                Step::Ask(more_data(sha2::FULL_AUTHENTICATION))
            }
        }
    }

    fn stored(&self) -> Vec<String> {
        self.passwords.stored_of(self.account.as_ref(), self.plugin)
    }

    fn check_slowly(&self, secret: Secret) -> Step {
        Step::Check(Check {
            stored: self.stored(),
            secret,
        })
    }
}

fn more_data(message: u8) -> Vec<u8> {
    let mut packet = Vec::new();
    encode_auth_more_data(&mut packet, &[message]);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_wire::handshake::decode_auth_more_data;

    const NONCE: Nonce = Nonce(*b"01234567890123456789");
    const GREETED: Plugin = Plugin::MysqlNativePassword;
    const GRANTED: Step = Step::Granted { last_words: None };

    fn passwords() -> Arc<Passwords> {
        static SHARED: LazyLock<Arc<Passwords>> = LazyLock::new(|| Passwords::new([7; 32]));
        SHARED.clone()
    }

    fn key() -> Arc<LazyLock<Key>> {
        static SHARED: LazyLock<Arc<LazyLock<Key>>> = LazyLock::new(|| Arc::new(LazyLock::new(Key::generate)));
        SHARED.clone()
    }

    fn account(plugin: Plugin, password: &str) -> Account {
        let authentication_string = match plugin {
            Plugin::CachingSha2Password => sha2::authentication_string(password.as_bytes(), [7; 20]),
            Plugin::MysqlNativePassword => native::authentication_string(password.as_bytes()),
        };
        Account {
            user: "u".into(),
            host: "%".into(),
            plugin,
            authentication_string,
            second_authentication_string: String::new(),
            is_owners_alone: false,
        }
    }

    fn attempt(account: Option<Account>, channel: Channel) -> Authentication {
        Authentication::new(passwords(), key(), NONCE, account, Plugin::CachingSha2Password, channel)
    }

    fn native_attempt(password: &str) -> Authentication {
        attempt(Some(account(Plugin::MysqlNativePassword, password)), Channel::Open)
    }

    #[test]
    fn native_password() {
        let answer = native::answer(b"secret", &NONCE);
        assert_eq!(
            native_attempt("secret").begin(GREETED, Some(b"mysql_native_password"), &answer),
            GRANTED
        );
        assert_eq!(
            native_attempt("other").begin(GREETED, Some(b"mysql_native_password"), &answer),
            Step::Denied
        );
        assert_eq!(native_attempt("secret").begin(GREETED, None, &answer), GRANTED);
        let mut without = native_attempt("secret");
        assert_eq!(
            without.begin(GREETED, Some(b"mysql_native_password"), b""),
            Step::Denied
        );
        assert!(!without.using_password);
    }

    #[test]
    fn another_plugin_is_switched_from() {
        let mut attempt = native_attempt("secret");
        let Step::Ask(packet) = attempt.begin(GREETED, Some(b"dialog"), b"whatever") else {
            panic!("a switch")
        };
        assert_eq!(AuthSwitch::decode(&packet).unwrap().plugin, b"mysql_native_password");
        assert_eq!(attempt.answered(&native::answer(b"secret", &NONCE)), GRANTED);
        assert!(attempt.using_password);
    }

    #[test]
    fn an_account_without_password_takes_no_answer_only() {
        for plugin in [Plugin::CachingSha2Password, Plugin::MysqlNativePassword] {
            let begin = |client: &[u8], answer: &[u8]| {
                attempt(Some(account(plugin, "")), Channel::Open).begin(GREETED, Some(client), answer)
            };
            assert_eq!(begin(b"mysql_native_password", b""), GRANTED);
            // As with a wrong password: what tells the two apart would tell an attacker.
            match plugin {
                Plugin::MysqlNativePassword => assert_eq!(begin(name_of(plugin).as_bytes(), &[1; 20]), Step::Denied),
                Plugin::CachingSha2Password => {
                    assert!(matches!(begin(name_of(plugin).as_bytes(), &[1; 32]), Step::Ask(_)))
                }
            }
        }
    }

    #[test]
    fn a_client_that_was_greeted_for_another_plugin_is_asked_before_it_is_judged() {
        for (password, answer) in [("", vec![0]), ("secret", sha2::answer(b"secret", &NONCE).to_vec())] {
            let mut attempt = attempt(Some(account(Plugin::CachingSha2Password, password)), Channel::Open);
            let Step::Ask(packet) = attempt.begin(GREETED, Some(b"caching_sha2_password"), b"") else {
                panic!("a switch")
            };
            assert_eq!(AuthSwitch::decode(&packet).unwrap().plugin, b"caching_sha2_password");
            match attempt.answered(&answer) {
                Step::Granted { .. } => assert_eq!(password, ""),
                Step::Ask(packet) => assert_eq!(packet, more_data(sha2::FULL_AUTHENTICATION)),
                step => panic!("{step:?}"),
            }
        }
    }

    #[test]
    fn the_full_way_in_private_then_the_fast_way() {
        let account = Account {
            user: "tls".into(),
            ..account(Plugin::CachingSha2Password, "private")
        };
        let mut first = attempt(Some(account.clone()), Channel::Private);
        let answer = sha2::answer(b"private", &NONCE);
        let Step::Ask(packet) = first.begin(GREETED, Some(b"caching_sha2_password"), &answer) else {
            panic!("full way")
        };
        assert_eq!(decode_auth_more_data(&packet), Ok(&[sha2::FULL_AUTHENTICATION][..]));
        let Step::Check(check) = first.answered(b"private\0") else {
            panic!("a check")
        };
        assert_eq!(first.checked(check.run(&key())), GRANTED);

        let fast =
            attempt(Some(account.clone()), Channel::Open).begin(GREETED, Some(b"caching_sha2_password"), &answer);
        assert_eq!(
            fast,
            Step::Granted {
                last_words: Some(vec![1, sha2::FAST_AUTHENTICATION_DONE])
            }
        );

        let changed = Account {
            authentication_string: sha2::authentication_string(b"new", [8; 20]),
            ..account
        };
        let slow = attempt(Some(changed), Channel::Open).begin(GREETED, Some(b"caching_sha2_password"), &answer);
        assert!(
            matches!(slow, Step::Ask(_)),
            "the cache does not outlive a changed password"
        );
    }

    #[test]
    fn the_full_way_with_the_public_key() {
        for (password, granted) in [(&b"secret\0"[..], true), (b"wrong\0", false), (b"secret", false)] {
            let account = Account {
                user: "rsa".into(),
                ..account(Plugin::CachingSha2Password, "secret")
            };
            let mut attempt = attempt(Some(account), Channel::Open);
            attempt.begin(GREETED, Some(b"caching_sha2_password"), &[1; 32]);
            let Step::Ask(packet) = attempt.answered(&[sha2::REQUEST_PUBLIC_KEY]) else {
                panic!("the key")
            };
            let pem = decode_auth_more_data(&packet).unwrap();
            let ciphertext = crate::rsa::encrypt_for_test(pem, &sha2::obscure(password, &NONCE));
            let Step::Check(check) = attempt.answered(&ciphertext) else {
                panic!("a check")
            };
            assert_eq!(attempt.checked(check.run(&key())) == GRANTED, granted);
        }
    }

    #[test]
    fn a_user_who_does_not_exist_goes_the_same_way() {
        let mut unknown = attempt(None, Channel::Private);
        assert!(matches!(
            unknown.begin(GREETED, Some(b"caching_sha2_password"), &[1; 32]),
            Step::Ask(_)
        ));
        let Step::Check(check) = unknown.answered(b"nobody's password\0") else {
            panic!("a check")
        };
        assert_eq!(unknown.checked(check.run(&key())), Step::Denied);
        let mut unknown = attempt(None, Channel::Open);
        assert!(matches!(
            unknown.begin(GREETED, Some(b"mysql_native_password"), b""),
            Step::Ask(_)
        ));
        assert_eq!(unknown.answered(b""), Step::Denied);
    }

    #[test]
    fn garbage_in_place_of_an_encrypted_password_is_denied() {
        let mut attempt = attempt(Some(account(Plugin::CachingSha2Password, "secret")), Channel::Open);
        attempt.begin(GREETED, Some(b"caching_sha2_password"), &[1; 32]);
        let Step::Check(check) = attempt.answered(b"secret\0") else {
            panic!("a check")
        };
        assert_eq!(attempt.checked(check.run(&key())), Step::Denied);
    }

    #[test]
    fn a_password_beyond_mysqls_limit_is_denied_before_it_is_hashed() {
        for (len, is_checked) in [(256, true), (257, false), (60_000, false)] {
            let mut attempt = attempt(Some(account(Plugin::CachingSha2Password, "secret")), Channel::Private);
            attempt.begin(GREETED, Some(b"caching_sha2_password"), &[1; 32]);
            let mut password = vec![b'x'; len];
            password.push(0);
            let step = attempt.answered(&password);
            assert_eq!(matches!(step, Step::Check(_)), is_checked, "{len}");
            assert_eq!(step == Step::Denied, !is_checked, "{len}");
        }
    }

    #[test]
    fn a_password_as_long_as_a_ciphertext_is_a_password() {
        let long = "p".repeat(Key::CIPHERTEXT_LEN - 1);
        for channel in [Channel::Private, Channel::Loopback] {
            let mut attempt = attempt(Some(account(Plugin::CachingSha2Password, &long)), channel);
            attempt.begin(GREETED, Some(b"caching_sha2_password"), &[1; 32]);
            let Step::Check(check) = attempt.answered(format!("{long}\0").as_bytes()) else {
                panic!("a check")
            };
            assert_eq!(attempt.checked(check.run(&key())), GRANTED);
        }
    }

    #[test]
    fn the_password_before_still_opens_the_account() {
        let plugin = Plugin::MysqlNativePassword;
        let both = Account {
            second_authentication_string: account(plugin, "old").authentication_string,
            ..account(plugin, "new")
        };
        let answer = native::answer(b"old", &NONCE);
        let mut attempt = attempt(Some(both), Channel::Open);
        assert_eq!(attempt.begin(GREETED, Some(b"mysql_native_password"), &answer), GRANTED);
    }
}
