//! What one user does with a model.
