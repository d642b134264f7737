//! TLS: clients that others wrote over it, faults of certificates and of those who come, a cluster that speaks nothing
//! else, and certificates that change under load.

mod alone;
mod cluster;

use std::path::PathBuf;
use std::process::Command;

use ruvio_e2e::certificates::{Authority, Folder};
use ruvio_e2e::server::repository;

fn python() -> PathBuf {
    match std::env::var_os("RUVIO_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => repository().join(".cache/venv/bin/python"),
    }
}

/// What a command says, both ways, and whether it ended well.
fn said(command: &mut Command) -> (bool, String) {
    let output = command.env("PYTHONDONTWRITEBYTECODE", "1").output();
    let output = output.unwrap_or_else(|e| panic!("{command:?}: {e} (make setup)"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    (output.status.success(), told)
}

/// Runs a script of `e2e/suites`: whether it ended well, and what it said.
fn try_script(name: &str, args: &[&str]) -> (bool, String) {
    let script = repository().join("e2e/suites").join(name);
    let (is_well, told) = said(Command::new(python()).arg(script).args(args));
    (is_well && told.contains(" passed, 0 failed"), told)
}

fn run_script(name: &str, args: &[&str]) -> String {
    let (is_well, told) = try_script(name, args);
    assert!(is_well, "{name}:\n{told}");
    told
}

/// What the script of the rotation is given: the certificates of now and those that take their place, which
/// somebody else has signed, for servers at these hosts and for clients.
fn put_generations(folder: &Folder, first: &Authority, second: &Authority, hosts: &[String]) {
    let client = ["client".to_owned()];
    for (number, authority) in [("1", first), ("2", second)] {
        let put = |name: &str, text: &str| folder.put(name, text).expect("is written");
        put(&format!("ca{number}.crt"), &authority.pem());
        for (name, hosts) in [("node", hosts), ("client", &client[..])] {
            let pair = authority
                .sign(&format!("{name} {number}"), hosts)
                .expect("is signed");
            folder
                .put_pair(&format!("{name}{number}"), &pair)
                .expect("is written");
        }
    }
}
