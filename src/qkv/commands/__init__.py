"""The `qkv` command: `cli` has the words of every command, the other modules what each of them does."""
