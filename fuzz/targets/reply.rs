//! Replies: any bytes are a value, not yet one, or an error; a value is written as it was read; and
//! the end that `Frames` finds is where the value ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ruvio_core::resp::Value;
use ruvio_core::resp::frame::Frames;

fuzz_target!(|data: &[u8]| {
    let mut frames = Frames::default();
    let framed = frames.next(data);
    let Ok(Some((value, len))) = Value::parse(data) else {
        return;
    };
    assert!(len > 0 && len <= data.len());
    assert!(
        matches!(framed, Ok(Some(end)) if end == len),
        "{framed:?} instead of {len}"
    );
    let mut written = Vec::new();
    value.write(&mut written);
    let (again, end) = Value::parse(&written)
        .expect("what we write is a reply")
        .expect("and whole");
    assert_eq!(end, written.len());
    // Compared as text, for a NaN is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{value:?}"));
});
