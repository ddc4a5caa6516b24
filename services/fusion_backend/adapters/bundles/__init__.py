"""Bundles: fetched from where people say, kept in the store under their SHA-256, removed unused."""
