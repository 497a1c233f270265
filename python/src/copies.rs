//! What `copy` and `copy.deepcopy` return for the classes whose objects never change.

/// Makes an object of this class its own copy, as Python does with a `str`.
macro_rules! copies_itself {
    ($class:ty) => {
        #[pyo3::pymethods]
        impl $class {
            fn __copy__(slf: pyo3::PyRef<'_, Self>) -> pyo3::PyRef<'_, Self> {
                slf
            }

            #[pyo3(signature = (memo, /))]
            fn __deepcopy__<'py>(
                slf: pyo3::PyRef<'py, Self>,
                memo: &pyo3::Bound<'py, pyo3::PyAny>,
            ) -> pyo3::PyRef<'py, Self> {
                let _ = memo;
                slf
            }
        }
    };
}
pub(crate) use copies_itself;
