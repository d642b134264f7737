//! Files that are no good, and what is said of each.

use super::*;
use crate::tls::Fault;

fn fault(settings: Settings) -> String {
    Tls::new(settings).err().expect("they are no good").to_string()
}

#[test]
fn each_fault_of_a_file_has_its_sentence() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let good = folder.settings(&authority.sign(&["a.example"]), &authority);
    assert!(Tls::new(good.clone()).is_ok());
    let with = |change: &dyn Fn(&mut Settings)| {
        let mut settings = good.clone();
        change(&mut settings);
        fault(settings)
    };
    let says = |said: String, wanted: &[&str]| {
        for part in wanted {
            assert!(said.contains(part), "{said}");
        }
    };
    says(with(&|s| s.cert_file.clear()), &["tls-cert-file is not set"]);
    says(
        with(&|s| s.key_file = folder.path("none")),
        &["tls-key-file: cannot read", "No such file"],
    );
    let empty = folder.write("empty", "nothing\n");
    says(
        with(&|s| s.cert_file = empty.clone()),
        &["tls-cert-file: no certificate is in", "BEGIN CERTIFICATE"],
    );
    says(
        with(&|s| s.key_file = empty.clone()),
        &["tls-key-file: no private key is in"],
    );
    says(
        with(&|s| s.ca_cert_file = empty.clone()),
        &["tls-ca-cert-file: no certificate is in"],
    );
    let torn = folder.write("torn", &authority.pem()[..200]);
    says(with(&|s| s.cert_file = torn.clone()), &["torn is no PEM"]);
    let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let locked = folder.write("locked", locked);
    says(
        with(&|s| s.key_file = locked.clone()),
        &["locked with a password", "without one"],
    );
    let other = folder.write("other", &authority.sign(&["a.example"]).key);
    says(
        with(&|s| s.key_file = other.clone()),
        &["is not that of the first certificate in"],
    );
    let expired = authority.sign_expired(&["a.example"]);
    let (cert, key) = (
        folder.write("old", &expired.cert),
        folder.write("old-key", &expired.key),
    );
    let is_old = |s: &mut Settings| (s.cert_file, s.key_file) = (cert.clone(), key.clone());
    says(
        with(&is_old),
        &[
            "old has expired at 2021-06-30 00:00:00 UTC",
            "put a newer one there",
        ],
    );
    let early = authority.sign_as(&["a.example"], |params| {
        params.not_before = date_time_ymd(2200, 3, 1)
    });
    let cert = folder.write("early", &early.cert);
    says(
        with(&|s| s.cert_file = cert.clone()),
        &["is not valid before 2200-03-01 00:00:00 UTC"],
    );
    let strange = folder.write(
        "strange",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    says(
        with(&|s| s.cert_file = strange.clone()),
        &["a certificate in", "makes no sense"],
    );
    says(
        with(&|s| s.ca_cert_file = strange.clone()),
        &["a certificate in", "makes no sense"],
    );
}

#[test]
fn who_is_to_be_checked_needs_somebody_to_check_by() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let none = Settings {
        ca_cert_file: String::new(),
        among_nodes: false,
        ..folder.settings(&authority.sign(&["a.example"]), &authority)
    };
    assert!(fault(none.clone()).starts_with("tls-auth-clients yes needs certificates to check"));
    let either = Settings {
        clients: Clients::Either,
        ..none.clone()
    };
    assert!(fault(either).starts_with("tls-auth-clients optional needs"));
    let any = Settings {
        clients: Clients::Any,
        ..none
    };
    assert!(Tls::new(any.clone()).is_ok());
    let among = Settings {
        among_nodes: true,
        ..any
    };
    let wanted = Fault::NoAuthority {
        wants: "tls-cluster yes",
        or: "",
    };
    assert_eq!(Tls::new(among.clone()).err(), Some(wanted));
    // A folder does as well, with names of all kinds.
    let inside = folder.path("authorities");
    std::fs::create_dir(&inside).expect("a folder");
    let by_folder = Settings {
        ca_cert_dir: inside,
        ..among
    };
    assert!(fault(by_folder.clone()).starts_with("tls-ca-cert-dir: no certificate is in"));
    folder.write("authorities/any-name", &authority.pem());
    assert!(Tls::new(by_folder).is_ok());
}
