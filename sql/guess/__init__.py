"""What messages look like: `stream` proposes a declaration, from the `types` that their values agree on."""
