"""Chapter source -> student edition and solved edition: `qkv build`."""
