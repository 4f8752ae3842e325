//! Enums whose variants have names in settings and rows.

/// Implements for an enum without data `ALL`, its variants in the order given; `NAMES`, their names; `name`; and `parse`,
/// whose error calls the enum by the text before the colon.
///
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Attention {
///     Linear,
///     Softmax,
/// }
/// attnlab_core::named!(Attention, "attention": Linear = "linear", Softmax = "softmax");
/// assert_eq!(Attention::ALL.map(Attention::name), Attention::NAMES);
/// assert_eq!(Attention::parse("softmax")?, Attention::Softmax);
/// let unknown = Attention::parse("softmx").unwrap_err();
/// assert_eq!(unknown.to_string(), "unknown attention 'softmx'; did you mean softmax?");
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[macro_export]
macro_rules! named {
    ($kind:ident, $what:literal: $($variant:ident = $name:literal),+) => {
        impl $kind {
            /// All variants.
            pub const ALL: [$kind; [$($name),+].len()] = [$($kind::$variant),+];
            /// Names of the variants, in the order of `ALL`.
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// Returns the name in settings and rows.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name),+
                }
            }

            /// Returns the variant with this name.
            ///
            /// # Errors
            /// [`Error::Unknown`](attnlab_core::Error::Unknown) for an unknown name.
            pub fn parse(name: &str) -> $crate::Result<Self> {
                let place = Self::NAMES.iter().position(|known| *known == name);
                place.map(|i| Self::ALL[i]).ok_or_else(|| $crate::Error::unknown($what, name, Self::NAMES))
            }
        }
    };
}
