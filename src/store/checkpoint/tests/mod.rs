//! Tests of checkpoints, by subject.
