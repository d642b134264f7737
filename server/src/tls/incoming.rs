//! Connections that come to a port of nodes or administration: so many at once, and one more is closed. Handshakes
//! go on side by side, so that who is slow holds up nobody, and has a place of its own meanwhile.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{Stream as Sequence, unfold};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::stream::{Acceptor, Stream};

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
    tokio::spawn(async move {
        tokio::select! {
            () = through.closed() => {}
            () = accept(&listener, &acceptor, &places, port, &through) => {}
        }
    });
    unfold(ready, |mut ready| async move {
        Some((Ok(ready.recv().await?), ready))
    })
}

async fn accept(
    listener: &TcpListener,
    acceptor: &Acceptor,
    places: &Arc<Semaphore>,
    port: &'static str,
    through: &mpsc::Sender<Accepted>,
) {
    loop {
        let (socket, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, port, "cannot accept a connection");
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(places).try_acquire_owned() else {
            tracing::warn!(%from, port, "closed: too many connections");
            continue;
        };
        // Without it small answers are only slower.
        let _ = socket.set_nodelay(true);
        let (acceptor, through) = (acceptor.clone(), through.clone());
        tokio::spawn(async move {
            match acceptor.accept(socket).await {
                Ok(stream) => {
                    // Nobody takes it where the port serves no longer.
                    let _ = through
                        .send(Accepted {
                            stream,
                            _place: place,
                        })
                        .await;
                }
                Err(why) => tracing::info!(%from, port, %why, "a connection is refused"),
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
