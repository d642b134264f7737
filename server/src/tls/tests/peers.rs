//! Connections of nodes to each other: who is taken, and that who dawdles holds up nobody.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::*;
use crate::tls::{Acceptor, Connector, incoming};

/// A port that answers each connection by a byte, and its address.
async fn port(tls: &Arc<Tls>, places: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("it listens");
    let address = listener.local_addr().expect("it has an address").to_string();
    let acceptor = Acceptor::new(Some(Arc::clone(tls)));
    assert!(acceptor.is_tls() && !Acceptor::default().is_tls());
    let places = Arc::new(Semaphore::new(places));
    tokio::spawn(async move {
        let mut incoming = std::pin::pin!(incoming(listener, acceptor, places, "a port"));
        let mut kept = Vec::new();
        while let Some(Ok(mut accepted)) = incoming.next().await {
            accepted.write_all(b"!").await.expect("it is sent");
            accepted.flush().await.expect("it is sent");
            kept.push(accepted);
        }
    });
    address
}

async fn reach(by: &Connector, address: &str) -> Result<u8, String> {
    let mut stream = by.connect(address).await.map_err(|error| error.to_string())?;
    stream.read_u8().await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn both_sides_show_who_they_are() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (server, _folder) = shared(&authority, &["127.0.0.1"]);
    let address = port(&server, 16).await;
    let (client, _files) = shared(&authority, &["client"]);
    assert_eq!(reach(&Connector::new(Some(client)), &address).await, Ok(b'!'));
    // One that others signed, and one that shows nothing at all.
    let folder = Folder::new();
    let settings = folder.settings(&stranger.sign(&["client"]), &authority);
    let other = Connector::new(Some(Arc::new(Tls::new(settings).expect("all is good"))));
    assert!(reach(&other, &address).await.is_err());
    let (deceived, _files) = shared(&stranger, &["client"]);
    let said = reach(&Connector::new(Some(deceived)), &address).await;
    let wanted = format!("{address}: its certificate is signed by none of those in tls-ca-cert-file");
    assert_eq!(said, Err(wanted));
    // An alert, and no more.
    let mut plain = TcpStream::connect(&address).await.expect("it listens");
    plain
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .expect("it is sent");
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(answer.len() <= 7, "{answer:?}");
}

#[tokio::test]
async fn a_certificate_is_for_the_host_that_was_dialled() {
    let authority = Authority::new();
    let (server, _folder) = shared(&authority, &["127.0.0.2", "node.example"]);
    let address = port(&server, 16).await;
    let (client, _files) = shared(&authority, &["client"]);
    let said = reach(&Connector::new(Some(client)), &address).await;
    assert!(said.is_err_and(|said| said.contains("certificate is not for")));
}

#[tokio::test]
async fn who_dawdles_holds_up_nobody_and_places_are_bounded() {
    let authority = Authority::new();
    let (server, _folder) = shared(&authority, &["127.0.0.1"]);
    let address = port(&server, 4).await;
    let (client, _files) = shared(&authority, &["client"]);
    let by = Connector::new(Some(client));
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.push(TcpStream::connect(&address).await.expect("it listens"));
    }
    let start = Instant::now();
    assert_eq!(reach(&by, &address).await, Ok(b'!'));
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    // The last place is taken for good: one more is closed.
    assert!(reach(&by, &address).await.is_err());
    for mut stream in silent {
        let ended = tokio::time::timeout(Duration::from_secs(8), stream.read_u8()).await;
        assert!(ended.is_ok_and(|read| read.is_err()), "it is let go");
    }
    assert_eq!(reach(&by, &address).await, Ok(b'!'));
}
