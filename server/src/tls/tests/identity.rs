//! Who is let in, and who is believed to be the one that was meant.

use super::*;

/// What the client and the server say of a handshake.
fn said(client: &Tls, host: &str, server: &Tls) -> (Option<String>, Option<String>) {
    let mut client = client.dial(host).expect("a name");
    match greet(&mut client, &mut server.serve().expect("a session")) {
        Ok(_) => (None, None),
        Err(said) => said,
    }
}

/// A server that looks at clients like this.
fn server(authority: &Authority, clients: Clients) -> (Tls, Folder) {
    let folder = Folder::new();
    let settings = Settings {
        clients,
        ..folder.settings(&authority.sign(&["server.example", "10.1.2.3"]), authority)
    };
    (Tls::new(settings).expect("all is good"), folder)
}

#[test]
fn a_node_is_the_one_that_its_certificate_names() {
    let authority = Authority::new();
    let (server, _folder) = server(&authority, Clients::Certified);
    let (client, _files) = node(&["client.example"], &authority);
    for host in ["server.example", "SERVER.example", "10.1.2.3"] {
        assert_eq!(said(&client, host, &server), (None, None), "{host}");
    }
    for host in ["other.example", "10.1.2.4", "::1"] {
        let (said, _) = said(&client, host, &server);
        let said = said.expect("it is another");
        assert!(said.contains("certificate is not for"), "{host}: {said}");
    }
    assert!(client.dial("no name").is_err() && client.dial("").is_err());
}

#[test]
fn a_certificate_of_others_opens_nothing() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (server, _folder) = server(&authority, Clients::Certified);
    // It believes the server, and shows a certificate that others signed.
    let folder = Folder::new();
    let settings = folder.settings(&stranger.sign(&["client.example"]), &authority);
    let (_, refused) = said(
        &Tls::new(settings).expect("all is good"),
        "server.example",
        &server,
    );
    assert_eq!(
        refused.as_deref(),
        Some("its certificate is signed by none of those in tls-ca-cert-file")
    );
    // A server that others have signed for is not believed.
    let (client, _files) = node(&["client.example"], &stranger);
    let (refused, _) = said(&client, "server.example", &server);
    assert!(refused.is_some_and(|said| said.contains("signed by none")));
}

#[test]
fn a_certificate_that_has_expired_since_opens_nothing() {
    let authority = Authority::new();
    let (server, _folder) = server(&authority, Clients::Certified);
    let expired = authority.sign_expired(&["client.example"]);
    let refused = meet_with(&authority, Some(&expired), &server);
    assert_eq!(refused.as_deref(), Some("its certificate has expired"));
}

#[test]
fn whether_clients_show_a_certificate_is_an_option() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (good, bad) = (authority.sign(&["c"]), stranger.sign(&["c"]));
    for (clients, takes) in [
        (Clients::Certified, [false, true, false]),
        (Clients::Either, [true, true, false]),
        (Clients::Any, [true, true, true]),
    ] {
        let (server, _folder) = server(&authority, clients);
        let shown = [None, Some(&good), Some(&bad)];
        let taken = shown.map(|shown| meet_with(&authority, shown, &server).is_none());
        assert_eq!(taken, takes, "{clients:?}");
    }
}

/// What the server says of a client that shows this certificate, whatever it is.
fn meet_with(authority: &Authority, shown: Option<&Pair>, server: &Tls) -> Option<String> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.0.der().clone()).expect("a root");
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let config = match shown {
        None => builder.with_no_client_auth(),
        Some(pair) => {
            let chain = vec![CertificateDer::from_pem_slice(pair.cert.as_bytes()).expect("a certificate")];
            let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).expect("a key");
            builder.with_client_auth_cert(chain, key).expect("they fit")
        }
    };
    let name = "server.example".try_into().expect("a name");
    let client = rustls::ClientConnection::new(config.into(), name).expect("a client");
    match greet(
        &mut Session::new(client.into()),
        &mut server.serve().expect("a session"),
    ) {
        Ok(_) => None,
        Err((_, said)) => said.or(Some(String::new())),
    }
}

#[test]
fn versions_can_be_left_out() {
    use crate::tls::settings::Version;
    let authority = Authority::new();
    let only = |version: Version| {
        let folder = Folder::new();
        let settings = Settings {
            versions: vec![version],
            ..folder.settings(&authority.sign(&["a.example"]), &authority)
        };
        (Tls::new(settings).expect("all is good"), folder)
    };
    let (old, new) = (only(Version::Tls12), only(Version::Tls13));
    assert_eq!(said(&old.0, "a.example", &old.0), (None, None));
    assert_eq!(said(&new.0, "a.example", &new.0), (None, None));
    assert_ne!(said(&old.0, "a.example", &new.0), (None, None));
    let (both, _files) = node(&["a.example"], &authority);
    assert_eq!(said(&old.0, "a.example", &both), (None, None));
    assert_eq!(said(&both, "a.example", &new.0), (None, None));
}
