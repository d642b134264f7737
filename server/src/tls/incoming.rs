//! Connections that come to a port of nodes or administration: so many at once, and one more is closed. Handshakes
//! go on side by side, so that who is slow holds up nobody, and has a place of its own meanwhile.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{Stream as Sequence, unfold};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::stream::{Acceptor, Stream};
use super::told::Told;

/// After an accept that failed: most likely the process has no descriptor left.
const REST: Duration = Duration::from_millis(100);
/// Of those that are through.
const READY_MAX: usize = 16;
/// One connection, and its place among all.
pub struct Accepted {
    stream: Stream,
    _place: OwnedSemaphorePermit,
}

impl Accepted {
    pub fn tcp(&self) -> &TcpStream {
        self.stream.tcp()
    }
}

/// Connections that are through, until it is dropped. `places` are those of all listeners of the port, which is called
/// `port` where something is said of it.
pub fn incoming(
    listener: TcpListener,
    acceptor: Acceptor,
    places: Arc<Semaphore>,
    port: &'static str,
) -> impl Sequence<Item = io::Result<Accepted>> {
    let (through, ready) = mpsc::channel(READY_MAX);
    let door = Arc::new(Door {
        acceptor,
        port,
        told: Told::default(),
    });
    tokio::spawn(async move {
        tokio::select! {
            () = through.closed() => {}
            () = accept(&listener, &door, &places, &through) => {}
        }
    });
    unfold(ready, |mut ready| async move {
        Some((Ok(ready.recv().await?), ready))
    })
}

struct Door {
    acceptor: Acceptor,
    port: &'static str,
    told: Told,
}

impl Door {
    fn refuse(&self, from: SocketAddr, why: &str) {
        if let Some(others) = self.told.may_tell() {
            tracing::warn!(%from, port = self.port, why, others, "a connection is refused");
        }
    }
}

async fn accept(
    listener: &TcpListener,
    door: &Arc<Door>,
    places: &Arc<Semaphore>,
    through: &mpsc::Sender<Accepted>,
) {
    loop {
        let (socket, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, port = door.port, "cannot accept a connection");
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(places).try_acquire_owned() else {
            door.refuse(from, "too many connections");
            continue;
        };
        // Without it small answers are only slower.
        let _ = socket.set_nodelay(true);
        let (door, through) = (Arc::clone(door), through.clone());
        tokio::spawn(async move {
            match door.acceptor.accept(socket).await {
                Ok(stream) => {
                    // Nobody takes it where the port serves no longer.
                    let _ = through
                        .send(Accepted {
                            stream,
                            _place: place,
                        })
                        .await;
                }
                Err(why) => door.refuse(from, &why.to_string()),
            }
        });
    }
}

impl AsyncRead for Accepted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
