//! Files that change while connections go on.

use std::os::unix::fs::symlink;

use super::*;

/// The certificate that the server shows, by whether a client that trusts this authority alone believes it.
fn is_believed(server: &Tls, authority: &Authority) -> bool {
    let (client, _files) = node(&["client.example"], authority);
    let mut client = client.dial("server.example").expect("a name");
    match greet(&mut client, &mut server.serve().expect("a session")) {
        Ok(_) => true,
        // The server may know neither of the client's, which is heard when its own was believed.
        Err((said, _)) => said.is_none_or(|said| said.contains("refuses ours")),
    }
}

#[test]
fn new_files_are_taken_in_and_those_that_are_no_good_are_not() {
    let (before, after) = (Authority::new(), Authority::new());
    let folder = Folder::new();
    let server = Tls::new(folder.settings(&before.sign(&["server.example"]), &before)).expect("all is good");
    server.look();
    assert!(is_believed(&server, &before) && !is_believed(&server, &after));
    // A certificate without its key, as half of a change.
    let next = after.sign(&["server.example"]);
    folder.write("cert.pem", &next.cert);
    server.look();
    server.look();
    server.look();
    assert!(is_believed(&server, &before), "what was in force stays");
    folder.write("key.pem", &next.key);
    server.look();
    assert!(is_believed(&server, &after) && !is_believed(&server, &before));
    // No file at all.
    std::fs::remove_file(folder.path("ca.pem")).expect("it was there");
    server.look();
    server.look();
    assert!(is_believed(&server, &after));
}

/// As Kubernetes does: the files are links into a folder that is itself a link, which is turned.
#[test]
fn a_link_that_is_turned_is_a_change() {
    let (before, after) = (Authority::new(), Authority::new());
    let folder = Folder::new();
    for (name, authority) in [("1", &before), ("2", &after)] {
        std::fs::create_dir(folder.path(name)).expect("a folder");
        let pair = authority.sign(&["server.example"]);
        folder.write(&format!("{name}/cert"), &pair.cert);
        folder.write(&format!("{name}/key"), &pair.key);
    }
    symlink("1", folder.path("data")).expect("a link");
    symlink("data/cert", folder.path("tls.crt")).expect("a link");
    symlink("data/key", folder.path("tls.key")).expect("a link");
    let settings = Settings {
        cert_file: folder.path("tls.crt"),
        key_file: folder.path("tls.key"),
        ..folder.settings(&before.sign(&["x"]), &before)
    };
    let server = Tls::new(settings).expect("all is good");
    server.look();
    assert!(is_believed(&server, &before));
    symlink("2", folder.path("next")).expect("a link");
    std::fs::rename(folder.path("next"), folder.path("data")).expect("it is turned");
    server.look();
    assert!(is_believed(&server, &after));
}

#[test]
fn a_connection_outlives_the_certificate_that_it_began_with() {
    let authority = Authority::new();
    let (server, folder) = node(&["server.example"], &authority);
    let (client, _files) = node(&["client.example"], &authority);
    let (mut near, mut far) = (
        client.dial("server.example").expect("a name"),
        server.serve().expect("a session"),
    );
    let line = greet(&mut near, &mut far).expect("they know each other");
    folder.settings(&authority.sign(&["other.example"]), &authority);
    server.look();
    let mut room = [0; 16];
    assert_eq!(near.send(&line.near, b"PING").expect("it is sent"), 4);
    let got = far.receive(&line.far, &mut room).expect("it comes");
    assert_eq!(&room[..got.bytes], b"PING");
    let mut next = client.dial("server.example").expect("a name");
    let (said, _) = greet(&mut next, &mut server.serve().expect("a session"))
        .err()
        .expect("another name");
    assert!(said.is_some_and(|said| said.contains("not for")));
}

#[test]
fn settings_are_changed_all_or_not() {
    let authority = Authority::new();
    let (server, folder) = node(&["server.example"], &authority);
    let settings = folder.settings(&authority.sign(&["server.example"]), &authority);
    let bad = Settings {
        key_file: folder.path("none"),
        ..settings.clone()
    };
    assert!(server.apply(bad).is_err());
    assert!(is_believed(&server, &authority));
    server.apply(settings.clone()).expect("they are good");
    server.apply(settings).expect("a second time");
    assert!(is_believed(&server, &authority));
}
