//! Logins on real sockets; the conversations of the plugins are tested in `authentication.rs`.

use crate::support::{Answer, CAPABILITIES, Client, TestServer, answer_of};
use mysql_wire::Capabilities;
use mysql_wire::auth::sha2;
use mysql_wire::handshake::{AuthSwitch, Greeting};

fn log_in(server: &TestServer, user: &str, password: &str, database: Option<&str>) -> (Client, Answer) {
    let mut client = Client::bare(server.addr());
    let answer = client.log_in(user, password, database, CAPABILITIES);
    (client, answer)
}

#[test]
fn the_greeting() {
    let server = TestServer::start();
    let packet = Client::bare(server.addr()).read_packet().unwrap();
    let greeting = Greeting::decode(&packet).unwrap();
    assert_eq!(greeting.server_version, b"8.0.36-LatsDB-0.1.0");
    assert_eq!(greeting.plugin, b"mysql_native_password");
    assert!(
        greeting
            .capabilities
            .contains(Capabilities::DEPRECATE_EOF | Capabilities::CONNECT_ATTRS | Capabilities::LOCAL_FILES)
    );
    assert!(greeting.capabilities.contains(Capabilities::COMPRESS));
    let other = Client::bare(server.addr()).read_packet().unwrap();
    let other = Greeting::decode(&other).unwrap();
    assert!(other.nonce != greeting.nonce && other.connection_id != greeting.connection_id);
}

#[test]
fn the_right_password_lets_in_and_a_database_may_be_named() {
    let server = TestServer::start();
    let (mut client, answer) = log_in(&server, "native", "secret", Some("test"));
    answer.ok();
    let expected = ["native", "localhost", "test", "45"].map(|text| Some(text.to_owned()));
    assert_eq!(client.query("whoami").rows(), [expected]);
}

#[test]
fn who_is_turned_away_is_told_why() {
    let server = TestServer::start();
    let cases = [
        (
            "native",
            "wrong",
            None,
            1045,
            "Access denied for user 'native'@'localhost' (using password: YES)",
        ),
        (
            "native",
            "",
            None,
            1045,
            "Access denied for user 'native'@'localhost' (using password: NO)",
        ),
        (
            "root",
            "some",
            None,
            1045,
            "Access denied for user 'root'@'localhost' (using password: YES)",
        ),
        ("root", "", Some("nowhere"), 1049, "Unknown database 'nowhere'"),
        (
            "locked",
            "",
            None,
            3118,
            "Access denied for user 'locked'@'localhost'. Account is locked.",
        ),
    ];
    for (user, password, database, code, message) in cases {
        let (mut client, answer) = log_in(&server, user, password, database);
        assert_eq!(answer.error(), (code, message.to_owned()));
        assert_eq!(client.read_packet(), None);
    }
    assert_eq!(server.registry.statistics().logins_denied, 5);
    server.connect().expect_alive();
}

#[test]
fn a_client_of_one_plugin_is_switched_to_the_accounts() {
    let server = TestServer::start();
    for (password, lets_in) in [("secret", true), ("secret", true), ("wrong", false)] {
        let mut client = Client::bare(server.addr());
        let packet = client.read_packet().unwrap();
        let nonce = Greeting::decode(&packet).unwrap().nonce;
        let login = mysql_wire::handshake::Login {
            capabilities: CAPABILITIES,
            packet_len_max: 1 << 24,
            collation: 45,
            user: b"sha2",
            auth_answer: &[1; 20],
            database: None,
            plugin: Some(b"mysql_native_password"),
            attributes: Default::default(),
            zstd_level: None,
        };
        let mut payload = Vec::new();
        login.encode(&mut payload);
        client.write_packet(&payload);
        let switch = client.read_packet().unwrap();
        assert_eq!(
            AuthSwitch::decode(&switch).unwrap(),
            AuthSwitch {
                plugin: b"caching_sha2_password",
                nonce
            }
        );
        client.write_packet(&sha2::answer(password.as_bytes(), &nonce));
        let mut packet = client.read_packet().unwrap();
        if packet == [1, sha2::FULL_AUTHENTICATION] {
            client.write_packet(format!("{password}\0").as_bytes());
            packet = client.read_packet().unwrap();
        } else {
            assert_eq!(packet, [1, sha2::FAST_AUTHENTICATION_DONE]);
            packet = client.read_packet().unwrap();
        }
        match answer_of(&packet) {
            Answer::Ok { .. } => assert!(lets_in),
            refused => assert_eq!((refused.error().0, lets_in), (1045, false)),
        }
    }
}

#[test]
fn connections_beyond_the_limit_get_1040_and_administrators_a_place() {
    let server = TestServer::with(|_, canned| canned.limits.connections_max = 2);
    let log_in = |user: &str, password: &str| log_in(&server, user, password, None);
    let (first, answer) = log_in("native", "secret");
    answer.ok();
    let (mut second, answer) = log_in("sbtest", "");
    answer.ok();
    let (_third, answer) = log_in("sbtest", "");
    assert_eq!(answer.error().0, 1040);
    server.connect().expect_alive();
    second.expect_alive();
    drop(first);
    crate::support::wait_until("a closed connection makes room", || {
        server.registry.statistics().connected == 1
    });
    log_in("sbtest", "").1.ok();
    assert_eq!(server.registry.statistics().connections_refused, 1);
}
