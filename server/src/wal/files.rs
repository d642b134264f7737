//! The files of segments: how one is made and named, and how a write is a whole one.

use std::io::{ErrorKind, IoSlice};
use std::sync::Arc;

use super::batch::END;
use super::disk::{Disk, File};
use super::failure::Fatal;
use super::segment::{self, Header, Segment};

/// A segment has this name until its header is durable.
pub(super) const PREPARING: &str = "next";
/// Names of purged segments that wait to be used again begin so.
pub(super) const SPARE: &str = "spare";
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The very first segment.
pub(super) fn make_first(disk: &dyn Disk, header: &Header) -> Result<Segment, Fatal> {
    let file = disk.create(PREPARING).map_err(Fatal::io("create", PREPARING))?;
    name_segment(disk, file, header)
}

/// Makes a segment of a file, which becomes visible as one when its header is durable. What a recycled
/// file holds begins behind an end mark.
pub(super) fn name_segment(disk: &dyn Disk, file: Arc<dyn File>, header: &Header) -> Result<Segment, Fatal> {
    let name = segment::name(header.sequence);
    let head = header.encode();
    write_whole(&*file, PREPARING, &[IoSlice::new(&head), IoSlice::new(&END)], 0)?;
    file.sync_all().map_err(Fatal::io("sync", PREPARING))?;
    disk.rename(PREPARING, &name)
        .map_err(Fatal::io("rename", &name))?;
    disk.sync_names()
        .map_err(Fatal::io("sync the folder of", &name))?;
    Ok(Segment::new(header, file))
}

/// Names of ours that are no segments: what a crash may leave of making one.
pub(super) fn is_leftover(name: &str) -> bool {
    name == PREPARING || name.strip_prefix(SPARE).is_some_and(|rest| rest.starts_with('-'))
}

pub(super) fn write_zeros(file: &dyn File, name: &str, from: u64, to: u64) -> Result<(), Fatal> {
    const SLICES: usize = 64;
    let mut at = from;
    while at < to {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut count = 0;
        let mut end = at;
        while count < SLICES && end < to {
            let len = (to - end).min(ZEROS.len() as u64);
            slices[count] = IoSlice::new(&ZEROS[..len as usize]);
            end += len;
            count += 1;
        }
        write_whole(file, name, &slices[..count], at)?;
        at = end;
    }
    Ok(())
}

/// One write that has to take everything.
pub(super) fn write_whole(
    file: &dyn File,
    name: &str,
    slices: &[IoSlice<'_>],
    offset: u64,
) -> Result<(), Fatal> {
    let wanted = slices.iter().map(|slice| slice.len()).sum();
    let took = file.write_at(slices, offset).map_err(Fatal::io("write", name))?;
    if took == wanted {
        Ok(())
    } else {
        Err(Fatal::Short {
            file: name.to_owned(),
            wanted,
            took,
        })
    }
}

pub(super) fn remove_if_there(disk: &dyn Disk, name: &str) -> Result<(), Fatal> {
    match disk.remove(name) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Fatal::io("remove", name)(error)),
        _ => Ok(()),
    }
}
