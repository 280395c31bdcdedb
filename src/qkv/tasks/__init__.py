"""Seeded data that chapters train on. One task a file; every draw comes from the generator that the caller gives."""
