"""Rows and groups, checked once: what every solver and test works on."""
