//! Tests of the disks.
