//! Macros for enums whose variants have names, and for types that are strings in JSON.
//!
//! # Layer
//! Layer 0. Imports nothing of this crate. The packages above use the macros too.

/// Declares an enum of plain variants. Each variant has a name, which JSON, attributes and the command line use.
///
/// `Display` and JSON write the name. JSON needs the feature `serde` of the calling crate; a crate without this feature
/// gives another condition in brackets first.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $($rest:tt)*) => {
        $crate::named! { [feature = "serde"] $(#[$meta])* $vis enum $($rest)* }
    };
    ([$json:meta] $(#[$meta:meta])* $vis:vis enum $type:ident {
        $($(#[$doc:meta])* $variant:ident $(= $tag:literal)? => $name:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr($json, derive(serde::Serialize, schemars::JsonSchema))]
        $vis enum $type {
            $($(#[$doc])* #[cfg_attr($json, serde(rename = $name))] $variant $(= $tag)?,)+
        }

        #[expect(clippy::allow_attributes, reason = "each enum uses only some of these functions")]
        #[allow(dead_code, unreachable_pub, reason = "each enum uses only some of these functions")]
        impl $type {
            /// All variants, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the variant with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

/// Serialises a type to JSON as its `Display` text, and declares its JSON schema.
#[macro_export]
macro_rules! text_in_json {
    ($type:ident, $schema:tt) => {
        #[cfg(feature = "serde")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}
