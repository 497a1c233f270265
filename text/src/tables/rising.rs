//! Numbers in rows, as bytes that sort like the numbers.
//!
//! # Layer
//! Layer 0, inside `tables`.
#![expect(
    clippy::big_endian_bytes,
    reason = "rows are compared as bytes, so the highest byte of a number must be the first"
)]

/// Returns bytes that sort like the number.
pub fn rising_u32(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// Returns the number of [`rising_u32`].
pub fn u32_of_rising(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes)
}

/// Returns bytes that sort like the number.
pub fn rising_u64(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Returns bytes that sort like the number, which may be negative.
pub fn rising_i64(number: i64) -> [u8; 8] {
    (number.cast_unsigned() ^ 1 << 63).to_be_bytes()
}

/// Returns the number of [`rising_i64`].
pub fn i64_of_rising(bytes: [u8; 8]) -> i64 {
    (u64::from_be_bytes(bytes) ^ 1 << 63).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_sort_like_their_numbers() {
        let numbers = [i64::MIN, -256, -1, 0, 1, 255, 256, i64::MAX];
        assert!(numbers.map(rising_i64).is_sorted());
        assert_eq!(numbers.map(rising_i64).map(i64_of_rising), numbers);
        let numbers = [0, 1, 255, 256, u32::MAX];
        assert!(numbers.map(rising_u32).is_sorted());
        assert!(numbers.map(u64::from).map(rising_u64).is_sorted());
        assert_eq!(numbers.map(rising_u32).map(u32_of_rising), numbers);
    }
}
